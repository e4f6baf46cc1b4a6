"""Files: steps that read and write them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runtrue.planner.built_in import snippets
from runtrue.planner.built_in.clauses import Roles, said
from runtrue.planner.built_in.draft import CannotPlan, DataForm, Draft, Topic
from runtrue.planner.built_in.wants import Want, read_wants
from runtrue.planner.task import TaskToken
from runtrue.planner.words import FILLERS, GENERIC, name_of, singular, word_set

_FORMS = {"csv": DataForm.TABLE, "tsv": DataForm.TABLE, "json": DataForm.DATA}
#: Files whose text has no structure.
_PROSE = (".txt", ".md", ".rst", ".log", ".html", ".htm", ".py", ".sh", ".yaml", ".yml", ".toml")
#: Files that hold something else than text.
_BINARY = word_set("png jpg jpeg gif ico webp pdf zip gz tgz bz2 xz tar mp3 mp4 wav bin")
_NOT_WRITTEN = word_set("xlsx xls doc docx parquet sqlite db")


def read(token: TaskToken, draft: Draft) -> None:
    """Read a file, which becomes the topic."""
    name = str(token.value)
    extension = name.rpartition(".")[2].lower()
    if extension in _BINARY | _NOT_WRITTEN:
        raise CannotPlan(f"{token.text!r}: a .{extension} file is not text")
    node = draft.node("read", "read-file", {"file_path": draft.input("file", name)})
    nouns = frozenset({"file", *name_of([name], " ").split()})
    reference = f"${{{node['id']}.content}}"
    form = _FORMS.get(extension, DataForm.TEXT)
    draft.set_topic("content", reference, form, nouns=nouns, own=nouns, origin=name)


def write_text(text: str, roles: Roles, draft: Draft) -> None:
    """Write text of the task itself."""
    written = _write(draft, roles, draft.value(f"{text}\n" if roles.append else text))
    _give_file(written, draft)


def save(roles: Roles, draft: Draft, names: list[str]) -> None:
    """Write these results to the file that the clause names."""
    _destination(roles)
    if not names:
        raise CannotPlan(f"{str(roles.clause)!r}: there is nothing to write")
    content = _content({name: draft.results[name] for name in names}, roles, draft)
    written = _write(draft, roles, content)
    draft.written |= set(names)
    if draft.topic is not None and draft.topic.form is not DataForm.VALUE:
        # The whole of it need not be shown as well.
        draft.drop(names)
        _give_file(written, draft)


def _destination(roles: Roles) -> TaskToken:
    if roles.destination is None:
        raise CannotPlan(f"{str(roles.clause)!r} does not say which file to write")
    return roles.destination


def _extension(file: TaskToken) -> str:
    return str(file.value).rpartition(".")[2].lower()


def _give_file(reference: str, draft: Draft) -> None:
    name = draft.give("file", reference)
    draft.files.add(name)
    draft.written.add(name)


def chosen(roles: Roles, draft: Draft) -> list[str] | None:
    """Return the results that a clause names, or all that are not in a file yet.

    None when it names something else.
    """
    if not draft.results:
        raise CannotPlan(f"{str(roles.clause)!r}: there is nothing to write yet")
    nouns = draft.topic.nouns if draft.topic else frozenset()
    words = [token for token in roles.what if token.word not in FILLERS]
    if all(token.word in GENERIC or (singular(token.word) or "-") in nouns for token in words):
        spoken = {token.word for token in words}
        skipped = draft.files if spoken & {"all", "both", "everything"} else draft.written
        return [name for name in draft.results if name not in skipped] or list(draft.results)
    try:
        names = [want.name for want in read_wants(roles.what, nouns, collection=False)]
    except CannotPlan:
        return None
    return names if all(name in draft.results for name in names) else None


def _content(contents: dict[str, str], roles: Roles, draft: Draft) -> Any:
    extension = _extension(_destination(roles))
    topic = draft.topic
    form = topic.form if topic else None
    if roles.verb == "copy" and _is_file(draft):
        extension = ""
    whole: Any = next(iter(contents.values())) if len(contents) == 1 else dict(contents)
    extracted = _all_extracted(contents, draft)
    if extracted and (len(contents) > 1 or extension in ("json", "csv")):
        whole = extracted
    elif len(contents) == 1 and extension in ("json", "csv") and form is DataForm.VALUE:
        whole = dict(contents)
    if extension == "json" and form is DataForm.TABLE and _is_file(draft):
        return draft.python("convert", snippets.ROWS, {"data": whole})
    if extension == "csv" and form is not DataForm.TEXT:
        if form is DataForm.TABLE and _is_file(draft):
            return whole
        code = snippets.RESPONSE_CSV if _response_of(whole, draft) else snippets.CSV
        return draft.python("convert", code, {"data": whole})
    return whole


def _is_file(draft: Draft) -> bool:
    return bool(draft.nodes) and draft.nodes[-1]["type"] == "read-file"


def _all_extracted(contents: dict[str, str], draft: Draft) -> str | None:
    """Return one reference to all that an http node extracted, if just that is written."""
    for node in draft.nodes:
        extract = node["params"].get("extract") if node["type"] == "http" else None
        references = {f"${{{node['id']}.extracted.{name}}}" for name in extract or ()}
        if references and references == set(contents.values()):
            return f"${{{node['id']}.extracted}}"
    return None


def _response_of(content: Any, draft: Draft) -> str | None:
    """Return the node whose whole response a content is, as it is or as CSV."""
    for node in draft.nodes:
        if node["params"].get("code") == snippets.RESPONSE_CSV:
            made = f"${{{node['id']}.result}}"
            content = node["params"]["inputs"]["data"] if content == made else content
    requests = [node["id"] for node in draft.nodes if node["type"] == "http"]
    return next((name for name in requests if content == f"${{{name}.response}}"), None)


def _write(draft: Draft, roles: Roles, content: Any) -> str:
    """Add the node that writes, and return a reference to the path of the file."""
    file = _destination(roles)
    extension = _extension(file)
    path = draft.value(str(file.value))
    if extension in _NOT_WRITTEN:
        raise CannotPlan(f"{file.text!r}: a .{extension} file cannot be written")
    if path in {".", ".."} or path.endswith("/"):
        raise CannotPlan(f"{file.text!r} is a directory; name a file to write")
    response = _response_of(content, draft)
    if extension in _BINARY and response is None:
        raise CannotPlan(f"{file.text!r}: only a download can be saved as one")
    params: dict[str, Any] = {"file_path": path, "content": content}
    if response is not None:
        # Only the server knows whether it sends text, whatever the file is called.
        params["base64"] = f"${{{response}.response_is_binary}}"
    if roles.append:
        params["append"] = True
    node = draft.node("save", "write-file", params)
    return f"${{{node['id']}.file_path}}"


def take(tokens: list[TaskToken], draft: Draft) -> None:
    """Take what is wanted out of JSON text, which references can go into."""
    topic = draft.topic
    if topic is None or topic.form is DataForm.TABLE:
        raise CannotPlan("there is no data to take it from")
    wants = read_wants(tokens, topic.nouns, collection=False)
    if not wants:
        return
    if topic.origin.lower().endswith(_PROSE):
        raise CannotPlan(f"{said(tokens)!r}: {topic.origin} is text without fields")
    draft.drop(topic.results)
    names = tuple(_take_one(want, topic, draft) for want in wants)
    draft.topic = replace(topic, form=DataForm.VALUE, results=names)


def _take_one(want: Want, topic: Topic, draft: Draft) -> str:
    root = topic.reference.removesuffix("}")
    reference = f"{root}{want.path.removeprefix('$')}}}"
    if want.each:
        inputs = {"data": topic.reference, "name": want.path}
        reference = draft.python("collect", snippets.EACH, inputs)
    elif want.count:
        reference = draft.python("count", snippets.LENGTH, {"data": reference})
    return draft.give_known(want.name, reference)

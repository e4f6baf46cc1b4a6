"""Steps that read and write files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runtrue.planner.built_in import snippets
from runtrue.planner.built_in.clauses import Roles, said
from runtrue.planner.built_in.draft import CannotPlan, Draft, Form, Subject
from runtrue.planner.built_in.wants import Want, read_wants
from runtrue.planner.built_in.words import FILLERS, GENERIC, name_of, singular
from runtrue.planner.tokens import Token
from runtrue.planner.verbs import listed

_TABLES = (".csv", ".tsv")
#: Files whose text has no structure that could be gone into.
_PROSE = (".txt", ".md", ".rst", ".log", ".html", ".htm", ".py", ".sh", ".yaml", ".yml", ".toml")
#: Files that hold something else than text.
_BINARY = listed("png jpg jpeg gif ico webp pdf zip gz tgz bz2 xz tar mp3 mp4 wav bin")
_NOT_WRITTEN = listed("xlsx xls doc docx parquet sqlite db")


def read(token: Token, draft: Draft) -> None:
    """Read a file; it is what the task talks about from here on."""
    name = str(token.value)
    extension = name.rpartition(".")[2].lower()
    if extension in _BINARY | _NOT_WRITTEN:
        raise CannotPlan(f"{token.text!r}: a .{extension} file holds no text that could be read")
    node = draft.node("read", "read-file", {"file_path": draft.input("file", name)})
    reference = f"${{{node['id']}.content}}"
    nouns = frozenset({"file", *name_of([name], " ").split()})
    draft.subject = Subject(
        reference=reference,
        form=form_of(name),
        results=(draft.give("content", reference),),
        nouns=nouns,
        own=nouns,
        origin=name,
    )


def form_of(name: str) -> Form:
    """What a file of that name should hold."""
    lower = name.lower()
    if lower.endswith(_TABLES):
        return Form.TABLE
    return Form.DATA if lower.endswith(".json") else Form.TEXT


def write_text(text: str, roles: Roles, draft: Draft) -> None:
    """Write text that stands in the task itself."""
    if roles.destination is None:
        raise CannotPlan(f"{str(roles.clause)!r} does not say which file to write")
    written = _write(draft, roles, draft.value(f"{text}\n" if roles.append else text))
    _give_file(written, draft)


def save(roles: Roles, draft: Draft, names: list[str]) -> None:
    """Write these results to the file that the clause names."""
    if roles.destination is None:
        raise CannotPlan(f"{str(roles.clause)!r} does not say which file to write")
    if not names:
        raise CannotPlan(f"{str(roles.clause)!r}: there is nothing to write")
    content = _content({name: draft.results[name] for name in names}, roles, draft)
    written = _write(draft, roles, content)
    draft.saved |= set(names)
    if draft.subject is not None and draft.subject.form is not Form.VALUE:
        # The whole of it need not be shown as well.
        draft.replace(names)
        _give_file(written, draft)


def _give_file(reference: str, draft: Draft) -> None:
    name = draft.give("file", reference)
    draft.files.add(name)
    draft.saved.add(name)


def chosen(roles: Roles, draft: Draft) -> list[str] | None:
    """The results that a clause means: those it names, or all that are not in a file yet.

    None when it names something else.
    """
    if not draft.results:
        raise CannotPlan(f"{str(roles.clause)!r}: there is nothing yet to write")
    nouns = draft.subject.nouns if draft.subject else frozenset()
    words = [token for token in roles.what if token.word not in FILLERS]
    if all(token.word in GENERIC or (singular(token.word) or "-") in nouns for token in words):
        spoken = {token.word for token in words}
        skipped = draft.files if spoken & {"all", "both", "everything"} else draft.saved
        return [name for name in draft.results if name not in skipped] or list(draft.results)
    try:
        names = [want.name for want in read_wants(roles.what, nouns, collection=False)]
    except CannotPlan:
        return None
    return names if all(name in draft.results for name in names) else None


def _content(contents: dict[str, str], roles: Roles, draft: Draft) -> Any:
    extension = _extension(roles)
    subject = draft.subject
    form = subject.form if subject else None
    if roles.verb == "copy" and _is_file(draft):
        extension = ""
    whole: Any = next(iter(contents.values())) if len(contents) == 1 else dict(contents)
    extracted = _all_extracted(contents, draft)
    if extracted and (len(contents) > 1 or extension in ("json", "csv")):
        whole = extracted
    elif len(contents) == 1 and extension in ("json", "csv") and form is Form.VALUE:
        whole = dict(contents)
    if extension == "json" and form is Form.TABLE and _is_file(draft):
        return _made("convert", snippets.ROWS, {"data": whole}, draft)
    if extension == "csv" and form is not Form.TEXT:
        if form is Form.TABLE and _is_file(draft):
            return whole
        code = snippets.RESPONSE_CSV if _response_of(whole, draft) else snippets.CSV
        return _made("convert", code, {"data": whole}, draft)
    return whole


def _is_file(draft: Draft) -> bool:
    """Whether the subject is the text of a file, as it was read."""
    return bool(draft.nodes) and draft.nodes[-1]["type"] == "read-file"


def _all_extracted(contents: dict[str, str], draft: Draft) -> str | None:
    """The one reference to all that an http node extracted, when just that is written."""
    for node in draft.nodes:
        extract = node["params"].get("extract") if node["type"] == "http" else None
        if extract and {f"${{{node['id']}.extracted.{n}}}" for n in extract} == {
            *contents.values()
        }:
            return f"${{{node['id']}.extracted}}"
    return None


def _response_of(content: Any, draft: Draft) -> str | None:
    """The node that a content is the whole response of, as it is or as CSV."""
    for node in draft.nodes:
        if node["params"].get("code") == snippets.RESPONSE_CSV:
            made = f"${{{node['id']}.result}}"
            content = node["params"]["inputs"]["data"] if content == made else content
    requests = [node["id"] for node in draft.nodes if node["type"] == "http"]
    return next((name for name in requests if content == f"${{{name}.response}}"), None)


def _made(name: str, code: str, inputs: dict[str, Any], draft: Draft) -> str:
    node = draft.node(name, "python", {"code": code, "inputs": inputs})
    return f"${{{node['id']}.result}}"


def _extension(roles: Roles) -> str:
    assert roles.destination is not None  # noqa: S101 - the callers have looked
    return str(roles.destination.value).rpartition(".")[2].lower()


def _write(draft: Draft, roles: Roles, content: Any) -> str:
    """Add the node that writes; the result refers to the path of the file."""
    extension = _extension(roles)
    assert roles.destination is not None  # noqa: S101 - the callers have looked
    path = draft.value(str(roles.destination.value))
    if extension in _NOT_WRITTEN:
        raise CannotPlan(f"{roles.destination.text!r}: a .{extension} file cannot be written")
    if path in {".", ".."} or path.endswith("/"):
        raise CannotPlan(f"{roles.destination.text!r} is a directory; name a file to write")
    response = _response_of(content, draft)
    if extension in _BINARY and response is None:
        raise CannotPlan(f"{roles.destination.text!r}: only a download can become one")
    params: dict[str, Any] = {"file_path": path, "content": content}
    if response is not None:
        # Only the server knows whether it sends text, whatever the file is called.
        params["base64"] = f"${{{response}.response_is_binary}}"
    if roles.append:
        params["append"] = True
    node = draft.node("save", "write-file", params)
    return f"${{{node['id']}.file_path}}"


def take(tokens: list[Token], draft: Draft) -> None:
    """Take what is wanted out of JSON text, which references can go into."""
    subject = draft.subject
    if subject is None or subject.form is Form.TABLE:
        raise CannotPlan("there is no data to take that from")
    wants = read_wants(tokens, subject.nouns, collection=False)
    if not wants:
        return
    if subject.origin.lower().endswith(_PROSE):
        raise CannotPlan(f"{said(tokens)!r}: {subject.origin} is text, and has no fields")
    draft.replace(subject.results)
    names = tuple(_take_one(want, subject, draft) for want in wants)
    draft.subject = replace(subject, form=Form.VALUE, results=names)


def _take_one(want: Want, subject: Subject, draft: Draft) -> str:
    root = subject.reference.removesuffix("}")
    reference = f"{root}{want.path.removeprefix('$')}}}"
    if want.each:
        inputs = {"data": subject.reference, "name": want.path}
        reference = _made("collect", snippets.EACH, inputs, draft)
    elif want.count:
        reference = _made("count", snippets.LENGTH, {"data": reference}, draft)
    draft.known[want.name] = reference
    return draft.give(want.name, reference)

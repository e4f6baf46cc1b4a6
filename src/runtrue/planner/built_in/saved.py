"""Saved workflows: the one that a task is about, its values, and what a new one is called."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from runtrue.planner.built_in.arguments import PREPOSITIONS, Argument, Wording
from runtrue.planner.built_in.arguments import fill as fill_arguments
from runtrue.planner.built_in.clauses import HEADER_TEXT
from runtrue.planner.built_in.draft import CannotPlan, DataForm, Draft
from runtrue.planner.built_in.urls import is_secret, read_url
from runtrue.planner.seams import Metadata, SavedWorkflow, WorkflowChoice
from runtrue.planner.task import Clause, Task, TaskToken, TokenType, read_task
from runtrue.planner.words import FILLERS, name_of, singular, singulars, split_name, word_set

_PLAIN = FILLERS | PREPOSITIONS | word_set("run execute start use using workflow saved call again")
_RUN_VERBS = frozenset({"run", "execute", "call", "use"})
#: How much of a description, or of a name, must have been said.
_ENOUGH = 0.6


def choose(task: Task, saved: tuple[SavedWorkflow, ...]) -> WorkflowChoice:
    """Choose the workflow that accounts for every word of the task, if it is the only one."""
    named = [one for one in saved if _is_run(task, one)]
    if len(named) == 1:
        return WorkflowChoice(workflow=named[0].name, reason="the task calls it by its name")
    described = [one for one in saved if _is_described(task, one)]
    if len(described) == 1:
        return WorkflowChoice(workflow=described[0].name, reason="the task is what it was made for")
    scored = sorted(((_share(task, one), one.name) for one in saved), reverse=True)
    enough = [name for share, name in scored if share >= _ENOUGH]
    if len(enough) == 1:
        return WorkflowChoice(workflow=enough[0], reason="its words are those of the task")
    reason = f"it could be any of: {', '.join(enough)}" if enough else ""
    return WorkflowChoice(workflow=None, reason=reason)


def fill(task: Task, inputs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the values that the task gives for inputs."""
    return _fill(task.tokens, inputs)[0]


def call(clause: Clause, saved: tuple[SavedWorkflow, ...], draft: Draft) -> bool:
    """Run a saved workflow as a step, if the clause says to by its name."""
    words = {token.text.lower() for token in clause.tokens if token.type is TokenType.WORD}
    named = [one for one in saved if one.name in words]
    if clause.verb not in _RUN_VERBS or len(named) != 1:
        return False
    (workflow,) = named
    values, unused = _fill(clause.tokens, workflow.inputs)
    rest = [t for t in unused if t.word not in _PLAIN and t.text.lower() != workflow.name]
    if rest:
        words_left = " ".join(token.text for token in rest)
        raise CannotPlan(f"{words_left!r} is not an input of the workflow {workflow.name!r} takes")
    mapping: dict[str, Any] = {
        name: draft.input(name, value, secret=is_secret(name)) for name, value in values.items()
    }
    for name, spec in workflow.inputs.items():
        if name not in mapping and spec.get("required", True) and "default" not in spec:
            mapping[name] = draft.missing(name, str(spec.get("description", "")))
    params = {"workflow_name": workflow.name, "param_mapping": mapping}
    node = draft.node("run", "workflow", params)
    draft.set_topic("result", f"${{{node['id']}}}", DataForm.DATA)
    return True


def _is_run(task: Task, workflow: SavedWorkflow) -> bool:
    """True for `run NAME`, with values for it and nothing else."""
    first = task.clauses[0] if len(task.clauses) == 1 else None
    if first is None or first.verb not in _RUN_VERBS:
        return False
    if workflow.name not in {token.text.lower() for token in first.tokens}:
        return False
    _, unused = _fill(first.tokens, workflow.inputs)
    return all(t.word in _PLAIN or t.text.lower() == workflow.name for t in unused)


def _is_described(task: Task, workflow: SavedWorkflow) -> bool:
    described, text = _trimmed(workflow.description), _trimmed(task.text)
    return bool(described) and _is_like(text, described, workflow)


def _has_urls(task: Task, workflow: SavedWorkflow) -> bool:
    described = read_task(workflow.description).values(TokenType.URL)
    return all(
        any(_is_like(url, template, workflow) for template in described)
        for url in task.values(TokenType.URL)
    )


def _is_like(text: str, template: str, workflow: SavedWorkflow) -> bool:
    """True if a text is a template with values for its `{name}`s."""
    pieces = re.split(r"\{([A-Za-z_][\w-]*)\}", template)
    pieces[::2] = map(re.escape, pieces[::2])
    pieces[1::2] = [
        r"[^\s/?&=]+" if name in workflow.inputs else re.escape(f"{{{name}}}")
        for name in pieces[1::2]
    ]
    return re.fullmatch("".join(pieces), text, re.IGNORECASE) is not None


def _share(task: Task, workflow: SavedWorkflow) -> float:
    """Return the share of a workflow's words that the task says; 0 if it says anything else."""
    if not _has_urls(task, workflow):
        return 0.0
    _, unused = _fill(task.tokens, workflow.inputs)
    inputs = set[str]().union(*map(singulars, workflow.inputs))
    named = singulars(workflow.name) - _PLAIN
    described = singulars(workflow.description) - _PLAIN - inputs
    spoken: set[str] = set()
    for token in unused:
        if token.word in _PLAIN or token.type is TokenType.MARK:
            continue
        parts = singulars(token.word)
        if not parts or not parts <= named | described | inputs:
            return 0.0
        spoken |= parts
    of_name = len(spoken & named) / len(named) if named else 0.0
    of_description = len(spoken & described) / len(described) if described else 0.0
    return max(of_name if len(spoken & named) > 1 else 0.0, of_description)


def _fill(
    tokens: tuple[TaskToken, ...], inputs: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Any], list[TaskToken]]:
    """Return the values for inputs, and the tokens that gave none."""
    arguments = [
        Argument(name=name, schema=dict(spec), required=bool(spec.get("required", True)))
        for name, spec in inputs.items()
    ]
    wording = Wording(tokens)
    values = fill_arguments(arguments, wording)
    for at, token in wording.of_type(TokenType.URL):
        draft = Draft()
        read_url(token.value, draft)
        if draft.params and draft.params.keys() <= inputs.keys():
            values = draft.params | values
            wording.take(at)
    return values, [token for _, token in wording.free()]


# -- names and descriptions ------------------------------------------------------------------------

_LONGEST = 60
_MOST_WORDS = 5
#: Shorter ones are parts of many words.
_SHORTEST_SECRET = 4


def describe(task: Task, workflow: dict[str, Any]) -> Metadata:
    """Name a workflow by what it does, and describe it by the task with values as `{name}`."""
    return Metadata(name=_name(task, workflow), description=_description(task, workflow))


def _name(task: Task, workflow: dict[str, Any]) -> str:
    words: list[str] = []
    for node in workflow.get("nodes", []):
        type_, params = node.get("type", ""), node.get("params", {})
        if type_ == "http":
            words += _of_request(params)
        elif type_.startswith("mcp-"):
            words += split_name(str(node.get("id", "")))
        elif type_ == "shell" and node.get("id", "").startswith("run"):
            words += ["run", *split_name(str(params.get("command", "")))[:1]]
        elif type_ == "read-file":
            verb = task.clauses[0].verb
            words += [verb if verb in {"copy", "convert"} else "read", *_stem(task)]
        elif type_ == "python" and words and node["id"] not in {"collect", "convert"}:
            words[0] = str(node["id"]).rstrip("0123456789_")
        elif type_ == "calculate" and words:
            words[0] = str(params.get("operation", words[0]))
        elif type_ == "workflow":
            words += split_name(str(params.get("workflow_name", "")))
    if not words:
        words = ["write", *_stem(task)]
    unique = [*dict.fromkeys(words)][:_MOST_WORDS]
    name = re.sub(r"[^a-z0-9]+", "-", "-".join(unique).lower())[:_LONGEST].strip("-")
    return name if name and re.search("[a-z]", name) else "workflow"


def _of_request(params: dict[str, Any]) -> list[str]:
    method = str(params.get("method", "GET"))
    verb = {"GET": "fetch", "POST": "post", "DELETE": "delete"}.get(method, method.lower())
    url = str(params.get("url", ""))
    literal = re.sub(r"\$\{[^}]*\}", "{}", url)
    segments = [s for s in literal.partition("://")[2].partition("#")[0].split("/")[1:] if s]
    noun = ""
    for at, segment in enumerate(segments):
        if segment == "{}":
            noun = singular(segments[at - 1].lower()) if at else noun
        else:
            noun = segment.lower()
    noun = singular(noun) if method == "POST" else noun
    words = name_of([noun.partition(".")[0]], " ").split()
    return [verb, *(words or _host(url))]


def _host(url: str) -> list[str]:
    try:
        parts = (urlsplit(url).hostname or "").split(".")
    except ValueError:
        return []
    return [part for part in parts if part.isalpha() and part not in {"www", "api"}][:1]


def _stem(task: Task) -> list[str]:
    for token in sorted(task.tokens, key=lambda token: token.type is not TokenType.FILE):
        if token.is_file:
            return list(split_name(str(token.value).rpartition("/")[2].rpartition(".")[0]))[:2]
    return []


def _description(task: Task, workflow: dict[str, Any]) -> str:
    text = _trimmed(_without_secrets(task))
    for name, spec in workflow.get("inputs", {}).items():
        value = spec.get("default")
        if isinstance(value, str | int | float) and str(value) and not isinstance(value, bool):
            # A number elsewhere than in a URL or a pair may be any number.
            before = r"(?:(?<=[/=:])|(?<=: ))" if str(value).isdigit() else r"(?<![\w{])"
            found = rf"{before}{re.escape(str(value))}(?![\w}}])"
            text = re.sub(found, f"{{{name}}}", text)
    return text[:1].upper() + text[1:]


def _trimmed(text: str) -> str:
    """Return a text on one line, without the end of its sentence; "of ." ends in a directory."""
    return re.sub(r"(?<=\S)(?<!\.)\.$", "", " ".join(text.split()))


def _without_secrets(task: Task) -> str:
    """Return the task with the names of secrets for their values, which are never stored."""
    text = task.text
    for token in task.tokens:
        if token.type is TokenType.URL:
            written = re.sub(r"(?<=://)[^/\s?#]*@", "", token.text)
            written = re.sub(r"(?<=[?&])([^=&#]+)=([^&#]+)", _without_secret, written)
            text = text.replace(token.text, written)
        for name, value in _secrets_of(token):
            for spelled in {value, json.dumps(value)[1:-1]}:
                redacted = f"{{{_input_name(name)}}}".join(token.text.rsplit(spelled, 1))
                text = text.replace(token.text, redacted)
                if len(spelled) >= _SHORTEST_SECRET:
                    # Also where it is repeated.
                    text = text.replace(spelled, f"{{{_input_name(name)}}}")
    return re.sub(r"(?<![\w{])([\w.-]+)=([^\s&]+)", _without_secret, text)


def _secrets_of(token: TaskToken) -> Iterator[tuple[str, str]]:
    if token.type is TokenType.PAIR:
        yield from _secrets_in({token.key: token.value})
    elif token.type is TokenType.JSON:
        yield from _secrets_in(token.value)
    elif token.type is TokenType.QUOTED and (header := HEADER_TEXT.fullmatch(token.value)):
        yield from _secrets_in({header[1]: header[2]})


def _secrets_in(value: Any) -> Iterator[tuple[str, str]]:
    for inner in value if isinstance(value, list) else ():
        yield from _secrets_in(inner)
    for name, inner in value.items() if isinstance(value, dict) else ():
        if is_secret(name) and isinstance(inner, str | int) and str(inner):
            yield name, str(inner)
        else:
            yield from _secrets_in(inner)


def _input_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def _without_secret(pair: re.Match[str]) -> str:
    if not is_secret(pair[1]) or re.match(r"[{$]", pair[2]):
        return pair[0]
    return f"{pair[1]}={{{_input_name(pair[1])}}}"

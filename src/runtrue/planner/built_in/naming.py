"""Naming: what a workflow is called, and what it is for, out of the task that it was made for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from runtrue.planner.built_in.clauses import HEADER_TEXT
from runtrue.planner.built_in.urls import is_secret
from runtrue.planner.built_in.words import name_of, singular, split_name
from runtrue.planner.seams import Metadata
from runtrue.planner.task import Task
from runtrue.planner.tokens import Kind, Token

_LONGEST = 60
_MOST_WORDS = 5
#: Shorter ones are parts of many words.
_SHORTEST_SECRET = 4


def describe(task: Task, workflow: dict[str, Any]) -> Metadata:
    """A name out of what the workflow does, and the task with its values as `{name}`."""
    return Metadata(name=_name(task, workflow), description=_description(task, workflow))


def _name(task: Task, workflow: dict[str, Any]) -> str:
    nodes = workflow.get("nodes", [])
    words: list[str] = []
    for node in nodes:
        kind, params = node.get("type", ""), node.get("params", {})
        if kind == "http":
            words += _of_request(params)
        elif kind.startswith("mcp-"):
            words += split_name(str(node.get("id", "")))
        elif kind == "shell" and node.get("id", "").startswith("run"):
            words += ["run", *split_name(str(params.get("command", "")))[:1]]
        elif kind == "read-file":
            verb = task.clauses[0].verb
            words += [verb if verb in {"copy", "convert"} else "read", *_stem(task)]
        elif kind == "python" and words and node["id"] not in {"collect", "convert"}:
            words[0] = str(node["id"]).rstrip("0123456789_")
        elif kind == "workflow":
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
        host = urlsplit(url).hostname or ""
    except ValueError:
        return []
    parts = [part for part in host.split(".") if part.isalpha() and part not in {"www", "api"}]
    return parts[:1]


def _stem(task: Task) -> list[str]:
    for token in sorted(task.tokens, key=lambda token: token.kind is not Kind.FILE):
        if token.is_file:
            return list(split_name(str(token.value).rpartition("/")[2].rpartition(".")[0]))[:2]
    return []


def _description(task: Task, workflow: dict[str, Any]) -> str:
    """The task as it was said, with the values of inputs replaced by their names."""
    text = trimmed(_without_secrets(task))
    for name, spec in workflow.get("inputs", {}).items():
        value = spec.get("default")
        if isinstance(value, str | int | float) and str(value) and not isinstance(value, bool):
            # A number elsewhere than in a URL or a pair may be any number.
            before = r"(?:(?<=[/=:])|(?<=: ))" if str(value).isdigit() else r"(?<![\w{])"
            found = rf"{before}{re.escape(str(value))}(?![\w}}])"
            text = re.sub(found, f"{{{name}}}", text)
    return text[:1].upper() + text[1:]


def trimmed(text: str) -> str:
    """A text on one line, without the end of its sentence; "of ." ends in a directory."""
    return re.sub(r"(?<=\S)(?<!\.)\.$", "", " ".join(text.split()))


def _without_secrets(task: Task) -> str:
    """The task with the names of secrets for their values: these are never kept."""
    text = task.text
    for token in task.tokens:
        if token.kind is Kind.URL:
            written = re.sub(r"(?<=://)[^/\s?#]*@", "", token.text)
            written = re.sub(r"(?<=[?&])([^=&#]+)=([^&#]+)", _without_secret, written)
            text = text.replace(token.text, written)
        for name, value in _secrets_of(token):
            for spelled in {value, json.dumps(value)[1:-1]}:
                hidden = f"{{{_input_name(name)}}}".join(token.text.rsplit(spelled, 1))
                text = text.replace(token.text, hidden)
                if len(spelled) >= _SHORTEST_SECRET:
                    # Also where it is said once more.
                    text = text.replace(spelled, f"{{{_input_name(name)}}}")
    return re.sub(r"(?<![\w{])([\w.-]+)=([^\s&]+)", _without_secret, text)


def _secrets_of(token: Token) -> Iterator[tuple[str, str]]:
    """The secrets that a token gives, with their names."""
    if token.kind is Kind.PAIR:
        yield from _secrets_in({token.key: token.value})
    elif token.kind is Kind.JSON:
        yield from _secrets_in(token.value)
    elif token.kind is Kind.QUOTED and (header := HEADER_TEXT.fullmatch(token.value)):
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

"""A stand-in for a model that knows some words and, of everything else, only what it reads.

Each function answers one kind of prompt out of its text. What the prompt does not hold cannot be
in the answer: then it says that it cannot.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.models.openai_server import Call, Request

#: What a reader of English knows.
MEANINGS = {
    "username": {"login", "handle"},
    "biography": {"bio", "about"},
    "tz": {"timezone"},
    "title": {"name"},
}


def fences(prompt: str) -> list[str]:
    """What stands in fences."""
    return [text for is_fenced, text in _parts(prompt) if is_fenced]


def outside(prompt: str) -> str:
    """What does not."""
    return "\n".join(text for is_fenced, text in _parts(prompt) if not is_fenced)


def _parts(prompt: str) -> Iterator[tuple[bool, str]]:
    lines: list[str] = []
    closing: str | None = None
    for line in prompt.splitlines():
        opening = re.fullmatch(r"(`{3,})text", line)
        if closing is None and opening:
            yield False, "\n".join(lines)
            lines, closing = [], opening[1]
        elif line == closing:
            yield True, "\n".join(lines)
            lines, closing = [], None
        else:
            lines.append(line)
    assert closing is None, "a fence was never closed"
    yield False, "\n".join(lines)


def task_of(prompt: str) -> str:
    return "\n".join(line[2:] for line in prompt.splitlines() if line.startswith("> "))


def after(prompt: str, heading: str) -> str:
    """The first fence below a line that begins so."""
    _, found, rest = prompt.partition(f"\n{heading}")
    assert found, f"the prompt has nothing called {heading!r}"
    return fences(rest)[0]


# -- answers ------------------------------------------------------------------------------------


def plan_request(request: Request) -> Call:
    """Plan to fetch what the task names, if there is a node type for it."""
    prompt = request.prompt
    listed = re.search(r"^- http: .*?^  outputs: (.*?)$", prompt, re.MULTILINE | re.DOTALL)
    if listed is None or "extract (" not in listed[0] or "extracted (" not in listed[1]:
        return Call({"cannot": "there is no node type that can fetch anything"})
    task = task_of(prompt)
    url, user = re.findall(r"(https?://\S+/)(\w+)", task)[0]
    wanted = re.findall(r"\w+", task.partition("extract ")[2].replace(" and ", " "))
    node = {
        "id": "fetch_user",
        "type": "http",
        "params": {"url": url + "${user}", "extract": {name: f"$.{name}" for name in wanted}},
    }
    outputs = {name: {"source": f"${{fetch_user.extracted.{name}}}"} for name in wanted}
    workflow = {"inputs": {"user": {"type": "string"}}, "nodes": [node], "outputs": outputs}
    return Call({"workflow": workflow, "params": {"user": user}})


def fix_extract(request: Request) -> Call:
    """Fix each path that is said to be missing by one that is said to be there."""
    prompt = request.prompt
    paths = re.findall(r"^(\$\S*) \(", after(prompt, "The response that `"), re.MULTILINE)
    edits = []
    for name, path in re.findall(r"^wanted (\S+) at (\S+);", prompt, re.MULTILINE):
        meant = [one for one in paths if one.rpartition(".")[2] in MEANINGS.get(name, ())]
        place = rf"^- (nodes\.\S+\.extract\.{name}) = {re.escape(json.dumps(path))}$"
        label = re.search(place, prompt, re.MULTILINE)
        if not meant or label is None:
            return Call({"cannot": f"there is nothing that means {name}"})
        edits.append({"at": label[1], "value": meant[0]})
    return Call({"edits": edits})


def fix_reference(request: Request) -> Call:
    """Fix each reference that is said to lead nowhere."""
    prompt = request.prompt
    paths = re.findall(r"^(\w\S*) \(", after(prompt, "The outputs of `"), re.MULTILINE)
    edits = []
    for reference in re.findall(r"^- (\$\{\S+\})$", prompt, re.MULTILINE):
        last = reference[2:-1].rpartition(".")[2]
        meant = [one for one in paths if one.rpartition(".")[2] in MEANINGS[last]]
        edits += [{"at": reference, "value": f"${{{one}}}"} for one in meant[:1]]
    return Call({"edits": edits})


def fix_arguments(request: Request) -> Call:
    """Rename arguments to what the tool's schema has."""
    prompt = request.prompt
    schema = json.loads(after(prompt, "What it takes:"))
    edits = []
    for label, name in re.findall(r"^- (nodes\.\w+\.params\.(\w+)) = ", prompt, re.MULTILINE):
        meant = MEANINGS.get(name, set()) & schema["properties"].keys()
        edits += [{"at": label, "name": one} for one in meant]
    return Call({"edits": edits})


def fill_inputs(request: Request) -> Call:
    """Take the word that follows the name of an input in the task."""
    inputs = json.loads(after(request.prompt, "The inputs:"))
    task = task_of(request.prompt)
    found = {name: re.search(rf"{name} (\S+)", task) for name in inputs}
    return Call({"values": {name: one[1] if one else None for name, one in found.items()}})


def choose_by_words(request: Request) -> Call:
    """Choose the workflow whose description is the task."""
    listed = re.findall(r"^- (\S+): (.*?)(?: \(|$)", fences(request.prompt)[0], re.MULTILINE)
    task = task_of(request.prompt)
    chosen = [name for name, about in listed if about.casefold() in task.casefold()]
    return Call({"workflow": chosen[0] if chosen else None, "reason": "its words"})


def describe_nodes(request: Request) -> Call:
    """Name a workflow after its nodes."""
    workflow: dict[str, Any] = json.loads(after(request.prompt, "The workflow:"))
    name = " ".join(node["id"].replace("_", " ") for node in workflow["nodes"])
    return Call({"name": name, "description": f"Do this:  {task_of(request.prompt)}"})

"""Paths: what an extraction or a reference that found nothing was meant to find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from runtrue.fields import SURE, Ranked, rank_paths
from runtrue.loop import Finding
from runtrue.planner.findings import Object, as_object, batch_result, references_in
from runtrue.planner.fix.draft import Correction, FixDraft, Intents, params_of, suggestions
from runtrue.planner.fix.references import redirect
from runtrue.planner.lessons import in_answer, url_of
from runtrue.planner.seams import Doubt
from runtrue.workflow import (
    Every,
    Missing,
    Path,
    PathStep,
    PathSyntaxError,
    TemplateSyntaxError,
    Unresolved,
    compile_template,
    opened,
    parse_path,
)

#: How many missed paths are ranked at once: nobody reads more suggestions.
_MOST_RANKED = 50


def fix_extraction(finding: Finding, draft: FixDraft) -> Correction | None:
    """Fix the paths of `extract` that led nowhere; None where there is nothing to go by."""
    node = draft.node(finding.location.symbol)
    missing = finding.data.get("missing")
    if node is None or not isinstance(missing, list):
        return None
    outputs, item = _answer(node, draft.request.store, finding)
    extract = params_of(node).get("extract")
    if "response" not in outputs or not isinstance(extract, dict):
        return None
    body = _opened(outputs["response"])
    scope = draft.scope(node, item)
    url = url_of(node, draft.request.store, item=item) or ""
    guesses = {str(one["name"]): str(one["path"]) for one in missing}
    found = {
        name: path
        for name, guess in guesses.items()
        if (path := draft.recall(scope, guess)) is not None and _leads(path, body)
    }
    fixers = {"memory"} if found else set()
    fields = {name: draft.field(node["id"], name) for name in guesses}
    set_paths = {name: path for name in guesses if (path := draft.path_of(fields[name]))}
    for name, path in set_paths.items():
        if _leads(path, body):
            found[name] = str(parse_path(path))
            fixers.add("human")
    intents = Intents(draft.request.task, extract)
    ranked: dict[str, list[Ranked]] = {name: [] for name in guesses if name not in found}
    for name in list(ranked)[:_MOST_RANKED]:
        # A path that came out of memory, and is gone, was no guess of the name.
        remembered = draft.recall(scope, name) == guesses[name]
        guess = f"$.{name}" if remembered else guesses[name]
        ranked[name] = _ranked(guess, intents.of(name), url, body)
    taken = {name: path for name, path in extract.items() if name not in guesses}
    open_ones = {name: options for name, options in ranked.items() if name not in set_paths}
    if assigned := assign(guesses, open_ones, [*taken.values(), *found.values()]):
        fixers.add("fields")
    found |= assigned
    extract.update(found)
    if not node.get("batch"):
        sure = {name: path for name, path in extract.items() if name in found or name in taken}
        draft.extracted[node["id"]] = {
            name: parse_path(path).find(body) for name, path in sure.items() if _leads(path, body)
        }
    doubts = tuple(
        Doubt(
            node_id=node["id"],
            attempted=guesses[name],
            candidates=suggestions(options),
            field=fields[name],
            problem=_leads_nowhere(set_paths.get(name)),
        )
        for name, options in ranked.items()
        if name not in assigned
    )
    fixed = tuple(f"{guesses[name]} → {path}" for name, path in found.items())
    return Correction(fixed, doubts, frozenset(fixers))


def assign(
    guesses: Mapping[str, str], ranked: Mapping[str, list[Ranked]], taken: Iterable[str] = ()
) -> dict[str, str]:
    """Return a path for each name with a sure answer, the most confident name first.

    Two names get one path only where the same was guessed for both.
    """
    assigned: dict[str, str] = {}
    gone = set(taken)
    sure = {n: [r for r in options if r.confidence >= SURE] for n, options in ranked.items()}
    names = [name for name, options in sure.items() if options]
    for name in sorted(names, key=lambda one: -sure[one][0].confidence):
        path = next((one.path for one in sure[name] if one.path not in gone), None)
        if path is not None and name not in assigned:
            gone.add(path)
            assigned |= {one: path for one in ranked if guesses[one] == guesses[name]}
    return assigned


def _answer(node: Object, store: Object, finding: Finding) -> tuple[Object, Any]:
    """Return the outputs that a finding is about and, in a batch, the item that they are of."""
    outputs = as_object(store.get(node["id"]))
    if not node.get("batch"):
        return outputs, None
    result = batch_result(outputs, finding.data.get("index", 0))
    return result, result.get("item")


def fix_reference(finding: Finding, draft: FixDraft) -> Correction | None:
    """Fix a `${node.field…}` that led nowhere, wherever it occurs."""
    reference = next(iter(references_in(next(iter(finding.attempted), ""))), None)
    # Without a path, one of its steps is a reference itself.
    if reference is None or reference.path is None:
        return None
    whole = _referred(reference.root, finding, draft)
    if not isinstance(whole, Mapping):
        return None
    # The item of a batch is another one in another node; all else is fixed wherever it occurs.
    only = None if reference.root in draft.request.store else finding.location.symbol
    if not draft.first_sight(reference.text, only):
        return Correction()
    producer = draft.node(reference.root)
    base, body, guess = _base(reference.path.steps, whole, producer)
    scope = url = None
    if producer is not None:
        url = url_of(producer, draft.request.store)
        if in_answer(reference, producer) == guess:
            scope = draft.scope(producer)
    prefix = f"{reference.root}{base}"
    name = next((s for s in reversed(reference.path.steps) if isinstance(s, str)), reference.text)
    field = draft.field(finding.location.symbol or "", name)
    set_path = draft.path_of(field)
    path, fixer = draft.recall(scope, guess), "memory"
    if set_path is not None:
        if set_path.startswith(prefix):
            set_path = f"${set_path.removeprefix(prefix)}"
        path, fixer = set_path, "human"
    if path is None or not _leads(path, body):
        ranked = _ranked(guess, draft.request.task, url or "", body)
        if set_path is not None or not ranked or ranked[0].confidence < SURE:
            doubt = Doubt(
                node_id=finding.location.symbol or "",
                attempted=str(reference),
                candidates=suggestions(ranked, prefix),
                field=field,
                problem=_leads_nowhere(set_path),
            )
            return Correction(doubts=(doubt,))
        path, fixer = ranked[0].path, "fields"
    found = f"{prefix}{str(parse_path(path))[1:]}"
    if not redirect(draft.workflow, reference.text, found, only=only):
        return None
    return Correction((f"{reference} → ${{{found}}}",), fixers=frozenset({fixer}))


def fix_list_field(finding: Finding, draft: FixDraft) -> Correction | None:
    """Fix the field of a list node that no entry has."""
    node = draft.node(finding.location.symbol)
    param, guess = finding.data.get("param"), finding.data.get("path")
    if node is None or node.get("batch") or not (isinstance(param, str) and isinstance(guess, str)):
        return None
    params = params_of(node)
    holder, _, name = param.rpartition(".")
    fields = params.get(holder) if holder else params
    if not isinstance(fields, dict) or fields.get(name) != guess:
        return None
    try:
        items = _opened(compile_template(params.get("items")).render(draft.request.store))
    except (TemplateSyntaxError, Unresolved):
        return None
    field = draft.field(node["id"], guess.rpartition(".")[2])
    set_path = draft.path_of(field)
    entries = items if isinstance(items, list) else ()
    if set_path is not None and any(_leads(set_path, entry) for entry in entries):
        fields[name] = str(parse_path(set_path))
        return Correction((f"{guess} → {fields[name]}",), fixers=frozenset({"human"}))
    every = f"$[*]{str(parse_path(guess))[1:]}"
    ranked = [
        replace(one, path=f"${one.path.removeprefix('$[*]')}")
        for one in _ranked(every, draft.request.task, "", items)
        if one.path.startswith("$[*]")
    ]
    if set_path is not None or not ranked or ranked[0].confidence < SURE:
        doubt = Doubt(
            node_id=node["id"],
            attempted=guess,
            candidates=suggestions(ranked),
            field=field,
            problem=_leads_nowhere(set_path),
        )
        return Correction(doubts=(doubt,))
    fields[name] = ranked[0].path
    return Correction((f"{guess} → {ranked[0].path}",), fixers=frozenset({"fields"}))


def _referred(root: str, finding: Finding, draft: FixDraft) -> Any:
    """Return the value that a reference goes into: a node's outputs, or an item of a batch."""
    store = draft.request.store
    if root in store:
        return _opened(store[root])
    batch = (draft.node(finding.location.symbol) or {}).get("batch")
    if not isinstance(batch, dict) or batch.get("as", "item") != root:
        return None
    try:
        items = _opened(compile_template(batch.get("items")).render(store))
    except (TemplateSyntaxError, Unresolved):
        return None
    index = finding.data.get("index", 0)
    return _opened(items[index]) if isinstance(items, list) and index < len(items) else None


def _base(
    steps: tuple[PathStep, ...], whole: Object, producer: Object | None
) -> tuple[str, Any, str]:
    """Look within the output that was meant, or else among all of them.

    Return its path after the root, its value, and the guess within it.
    """
    first = steps[0] if steps else None
    if producer is not None and len(steps) > 1 and isinstance(first, str) and first in whole:
        return str(Path((first,)))[1:], _opened(whole[first]), str(Path(steps[1:]))
    body = {name: _opened(value) for name, value in whole.items() if name != "error"}
    if producer is not None and isinstance(body.get("result"), dict):
        # The fields of a tool's result are outputs, too: each would be there twice.
        del body["result"]
    return "", body, str(Path(steps))


def _ranked(guess: str, intent: str, url: str, body: Any) -> list[Ranked]:
    """Rank what a guess may have meant; one for every entry of a list is answered by such paths."""
    path = parse_path(guess)
    if not path.is_plural:
        return rank_paths(guess, intent, url, body)
    in_first = Path(tuple(0 if isinstance(step, Every) else step for step in path.steps))
    found: dict[str, Ranked] = {}
    for one in rank_paths(str(in_first), intent, url, body):
        steps = parse_path(one.path).steps
        every = Path(tuple(Every.ENTRY if isinstance(step, int) else step for step in steps))
        value = every.find(body)
        if every.is_plural and not isinstance(value, Missing):
            found.setdefault(str(every), Ranked(str(every), one.confidence, value))
    return list(found.values())


def _leads(path: str, body: Any) -> bool:
    """True if there is something at a path; `null` is something."""
    try:
        return not isinstance(parse_path(path).find(body), Missing)
    except PathSyntaxError:
        return False


def _leads_nowhere(path: str | None) -> str:
    return f"{path} is not in the response" if path else ""


def _opened(value: Any) -> Any:
    return opened(value) if isinstance(value, str) else value

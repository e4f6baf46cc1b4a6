"""Extraction: picking values out of a response by their paths. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.loop import Fault
from runtrue.workflow.node import failure
from runtrue.workflow.paths import Missing, Path, PathSyntaxError, opened, parse_path, sentences
from runtrue.workflow.secrets import sample_text

_MOST_AVAILABLE = 200


def extract(wanted: Mapping[str, str], outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values at the wanted paths of `outputs["response"]`, by name. `null` is a value.

    Raises RuntimeValidationError that lists all paths with nothing there, and NodeFailed if the
    response is not JSON at all. Text that holds a JSON object or list is read as one.
    """
    response = outputs["response"]
    if isinstance(response, str):
        response = None if outputs["response_is_binary"] else opened(response)
        if not isinstance(response, dict | list):
            raise _not_json(wanted, outputs)
    paths = {name: _path(name, text, outputs) for name, text in wanted.items()}
    found = {name: path.find(response) for name, path in paths.items()}
    missing = {name: value for name, value in found.items() if isinstance(value, Missing)}
    if missing:
        raise _missing(missing, wanted, response, outputs)
    return found


def path_problems(wanted: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield names whose paths, as written, are invalid; references are not looked into."""
    for name, path in wanted.items():
        if isinstance(path, str) and "${" not in path:
            try:
                parse_path(path)
            except PathSyntaxError as error:
                yield name, str(error)


def top_level(response: Any) -> Iterator[str]:
    """Yield the names at the top of a response; for a list, those of its first entry: `[0].id`."""
    if isinstance(response, dict):
        yield from response
    elif isinstance(response, list) and response:
        first = response[0]
        yield from (f"[0].{name}" for name in first) if isinstance(first, dict) else ("[0]",)


def _path(name: str, text: str, outputs: Mapping[str, Any]) -> Path:
    try:
        return parse_path(text)
    except PathSyntaxError as error:
        raise failure(
            f"the path for {name!r} cannot be read: {error}",
            "bad_path",
            outputs,
            error_type=RuntimeValidationError,
            attempted=(text,),
        ) from error


def _missing(
    missing: Mapping[str, Missing],
    wanted: Mapping[str, str],
    response: Any,
    outputs: Mapping[str, Any],
) -> NodeFailed:
    paths = ", ".join(repr(wanted[name]) for name in missing)
    reasons = dict.fromkeys(sentences(missing.values()))
    return failure(
        f"the response has nothing at {paths}: {'; '.join(reasons)}",
        "missing_extract_path",
        outputs,
        error_type=RuntimeValidationError,
        attempted=[wanted[name] for name in missing],
        available=list(top_level(response))[:_MOST_AVAILABLE],
        sample=sample_text(response),
        data={
            "missing": [
                {
                    "name": name,
                    "path": wanted[name],
                    "found": str(one.found),
                    "available": list(one.available),
                }
                for name, one in missing.items()
            ]
        },
    )


def _not_json(wanted: Mapping[str, str], outputs: Mapping[str, Any]) -> NodeFailed:
    declared = outputs["response_headers"].get("content-type", "")
    content_type = declared.partition(";")[0] or "of no declared type"
    what = f"is {content_type} and not JSON" if outputs["response"] else "is empty"
    return failure(
        f"the response {what}, so nothing can be extracted from it",
        "not_json",
        outputs,
        # Nothing in the workflow is known to be wrong: the server did not answer with data.
        fault=Fault.ENVIRONMENT,
        attempted=wanted.values(),
        sample=None if outputs["response_is_binary"] else sample_text(outputs["response"]),
        data={"content_type": declared},
    )

"""Cobertura: the XML that many tools of many languages can write."""

from __future__ import annotations

from runtrue.checks.coverage.files import Collected
from runtrue.checks.coverage.xml import Element


def read_cobertura(found: list[Element], collected: Collected) -> None:
    """Collect what a report says: classes name their files as seen from one of the sources."""
    sources = [element.text.strip() for element in found if element.name == "source"]
    name: str | None = None
    for element in found:
        if element.name == "class":
            file = element.attributes["filename"]
            name = collected.own(*(f"{source}/{file}" for source in sources if source), file)
            collected.add(name, ())
        elif element.name == "line":
            number, hits = (int(element.attributes[key]) for key in ("number", "hits"))
            collected.add(name, [(number, hits)])

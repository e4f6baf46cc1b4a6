"""JaCoCo: its XML report, which counts the instructions of each line."""

from __future__ import annotations

from runtrue.checks.coverage.files import Collected
from runtrue.checks.coverage.xml import Element
from runtrue.checks.java_sources import Sources


def read_jacoco(found: list[Element], collected: Collected) -> None:
    """Collect what a report says: files are named by their package and bare name."""
    sources = Sources(collected.workplace)
    package = ""
    name: str | None = None
    for element in found:
        if element.name == "package":
            package = element.attributes["name"]
        elif element.name == "sourcefile":
            name = sources.of_file(package, element.attributes["name"])
            collected.add(name, ())
        elif element.name == "line":
            number, ran = (int(element.attributes[key]) for key in ("nr", "ci"))
            collected.add(name, [(number, ran)])

"""XML reports, which a candidate may have written: read without any entity being expanded."""

from __future__ import annotations

from dataclasses import dataclass
from xml.parsers import expat


@dataclass(slots=True)
class Element:
    """The start of an element, and the text up to the next."""

    name: str
    attributes: dict[str, str]
    text: str = ""


def elements(data: bytes) -> list[Element]:
    """Return all elements in the order in which they begin. Raises ValueError for what is no XML.

    A document may name a DTD, as those of JaCoCo and Cobertura do: expat fetches none by itself.
    One that declares entities is refused. Newer versions of expat stop their expansion before it
    gets out of hand, but which one Python was built with is not ours to choose.
    """
    found: list[Element] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        found.append(Element(name, attributes))

    def text(data: str) -> None:
        if found:
            found[-1].text += data

    def declared(name: str, *_: object) -> None:
        raise ValueError(f"it declares the entity {name!r}")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = declared
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ValueError(str(error)) from error
    return found

"""Shapes: what a value looks like, and whether that is the type that a query asks for."""

from __future__ import annotations

import re
from enum import Enum

__all__ = ["Shape", "ValueType", "fit", "shape_of"]


#: The look of one value. YEAR is a whole number that would be a year of these centuries, EPOCH a
#: number that would be a time of these decades, DIGITS a number written as text, and CODE letters
#: and digits that only machines read.
Shape = Enum(
    "Shape",
    "NULL FLAG WHOLE YEAR REAL DATE EPOCH URL EMAIL PHONE COLOR DIGITS CODE WORD TEXT EMPTY LIST "
    "OBJECT",
)
#: The type of value that a query asks for.
ValueType = Enum("ValueType", "COUNT NUMBER DATE FLAG URL EMAIL PHONE PERSON ID TEXT")

#: Only the beginning of a text is looked at.
_LOOKED_AT = 300
_DATE = re.compile(
    r"\d{4}-\d\d?(-\d\d?)?([T ].*)?$|\d{4}/\d\d?/\d\d?|\d\d?[./]\d\d?[./]\d{4}|\d\d?:\d\d(:\d\d)?"
    r"|(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +\d|(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"[a-z]* +\d|\d\d? +(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://|www\.|//[a-z]|git@|mailto:", re.IGNORECASE)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[a-z]{2,}$", re.IGNORECASE)
_PHONE = re.compile(r"\+\d[\d ().-]{6,}$|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}$")
_COLOR = re.compile(r"#([0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$", re.IGNORECASE)
_DIGITS = re.compile(r"[-+]?\d+([.,]\d+)*$")
#: A number with its unit: `1.3 %`, `€5`, `170 min`, and the durations of ISO 8601.
_MEASURE = re.compile(
    r"[-+]?[$€£¥]?\d+([.,]\d+)*( ?%|°| [A-Za-z]{1,4})?$|P(\d+[YMWD])*(T(\d+[HMS])+)?$"
)
_CODE = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[\w:=+/.-]{6,}$")


def shape_of(value: object) -> Shape:
    """Return the look of a value."""
    if value is None:
        return Shape.NULL
    if isinstance(value, bool):
        return Shape.FLAG
    if isinstance(value, int):
        if 1800 <= value <= 2200:
            return Shape.YEAR
        return Shape.EPOCH if _is_epoch(value) else Shape.WHOLE
    if isinstance(value, float):
        return Shape.EPOCH if _is_epoch(value) else Shape.REAL
    if isinstance(value, dict):
        return Shape.OBJECT
    if isinstance(value, list):
        return Shape.LIST
    return _shape_of_text(value) if isinstance(value, str) else Shape.TEXT


def _shape_of_text(value: str) -> Shape:
    text = value[:_LOOKED_AT].strip()
    if not text:
        return Shape.EMPTY
    if _DIGITS.match(text):
        whole = text.partition(".")[0]
        return Shape.EPOCH if whole.isdecimal() and _is_epoch(int(whole)) else Shape.DIGITS
    for pattern, shape in (
        (_MEASURE, Shape.DIGITS),
        (_URL, Shape.URL),
        (_EMAIL, Shape.EMAIL),
        (_DATE, Shape.DATE),
        (_PHONE, Shape.PHONE),
        (_COLOR, Shape.COLOR),
        (_CODE, Shape.CODE),
    ):
        if pattern.match(text):
            return shape
    return Shape.TEXT if " " in text else Shape.WORD


def _is_epoch(number: float) -> bool:
    return 9.0e8 <= number <= 2.5e9 or 9.0e11 <= number <= 2.5e12


def _shapes(table: dict[str, str]) -> dict[ValueType, set[Shape]]:
    return {ValueType[name]: {Shape[s] for s in shapes.split()} for name, shapes in table.items()}


_GOOD = _shapes(
    {
        "COUNT": "WHOLE YEAR",
        "NUMBER": "WHOLE YEAR REAL DIGITS",
        "DATE": "DATE EPOCH YEAR",
        "FLAG": "FLAG",
        "URL": "URL",
        "EMAIL": "EMAIL",
        "PHONE": "PHONE DIGITS",
        "PERSON": "WORD TEXT",
        "ID": "WHOLE YEAR DIGITS CODE EPOCH",
        "TEXT": "WORD TEXT EMPTY",
    }
)
_FAIR = _shapes(
    {
        "COUNT": "DIGITS EPOCH",
        "NUMBER": "EPOCH",
        "DATE": "DIGITS",
        "FLAG": "WORD TEXT",
        "URL": "TEXT WORD CODE EMPTY",
        "EMAIL": "EMPTY",
        "PHONE": "WHOLE TEXT EMPTY",
        "PERSON": "CODE EMAIL WHOLE DIGITS EMPTY",
        "ID": "WORD TEXT",
        "TEXT": "CODE DIGITS WHOLE YEAR DATE COLOR REAL URL",
    }
)


def fit(wanted: frozenset[ValueType], shape: Shape) -> float:
    """Return 1 for a value of the type that is asked for, -1 for one of another type."""
    if not wanted or shape in (Shape.NULL, Shape.LIST, Shape.OBJECT):
        return 0.0
    if any(shape in _GOOD[one] for one in wanted):
        return 1.0
    return 0.0 if any(shape in _FAIR[one] for one in wanted) else -1.0

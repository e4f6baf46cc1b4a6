"""Bodies and headers as data."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from runtrue.workflow.nodes.http_response import read_body, read_headers


@pytest.mark.parametrize(
    ("body", "content_type", "value"),
    [
        (b'{"a": [1, null]}', "application/json", {"a": [1, None]}),
        (b"[]", "application/problem+json; charset=utf-8", []),
        (b'{"a":1}', "TEXT/JSON", {"a": 1}),
        (b"null", "application/json", None),
        (b'"text"', "application/json", "text"),
        (b'\xef\xbb\xbf{"a": "\xc3\xa4"}', "application/json", {"a": "ä"}),
        ('{"a": "ä"}'.encode("latin-1"), "application/json; charset=iso-8859-1", {"a": "ä"}),
        ('{"a": "ä"}'.encode("utf-16"), "application/json; charset=utf-16", {"a": "ä"}),
        (b"12345678901234567890123", "application/json", 12345678901234567890123),
        # Said to be JSON, and none: it is text.
        (b"{broken", "application/json", "{broken"),
        (b'{"a": NaN}', "application/json", '{"a": NaN}'),
        (b'{"a": 1e999}', "application/json", '{"a": 1e999}'),
        (b'"\\ud800"', "application/json", '"\\ud800"'),
        (b"", "application/json", ""),
        # Not said to be JSON: it is text.
        (b'{"a": 1}', "text/plain", '{"a": 1}'),
        (b'{"a": 1}', "", '{"a": 1}'),
        (b"<p>\xc3\xa4</p>", "text/html", "<p>ä</p>"),
        (b"<p>\xe4</p>", "text/html", "<p>ä</p>"),
        (b"\xe4\x80", "text/plain; charset=windows-1252", "ä€"),
        (b"\xc3\xa4", "text/plain; charset=no-such-thing", "ä"),
        (b"\xc3\xa4", "text/plain; charset=ascii", "ä"),
        (b"\xc3\xa4", 'text/plain; charset="utf-8"', "ä"),
        (b"aGk=", "text/plain; charset=base64", "aGk="),
        (b"xn--a", "text/plain; charset=idna", "xn--a"),
        (b"<svg/>", "image/svg+xml", "<svg/>"),
        (b"a,b", "application/csv", "a,b"),
        (b"", "image/png", ""),
    ],
)
def test_a_body_is_what_its_content_type_says(body: bytes, content_type: str, value: Any) -> None:
    assert read_body(body, content_type) == (value, False)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"PNG", "image/png"),
        (b"text all the same", "application/octet-stream"),
        (b"%PDF", "application/pdf"),
        (b"PK", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (b"\xff\xfe\x00", "application/x-unheard-of"),
        (b"\xff\x00", "text/plain"),
        (b"\xff\xff", ""),
        (b"\xff\xff", "application/json"),
    ],
)
def test_what_is_no_text_comes_in_base64(body: bytes, content_type: str) -> None:
    value, is_binary = read_body(body, content_type)
    assert is_binary is True
    assert base64.b64decode(value, validate=True) == body


@pytest.mark.parametrize(("depth", "kind"), [(100, list), (101, str), (5_000, str), (200_000, str)])
def test_json_that_is_nested_too_deeply_stays_text(depth: int, kind: type) -> None:
    value, _ = read_body(b"[" * depth + b"]" * depth, "application/json")
    assert type(value) is kind


def test_wide_json_is_not_deep() -> None:
    assert read_body(b"[" + b"[]," * 1000 + b'"[["]', "application/json")[0][-1] == "[["
    assert read_body(b'"' + b"[" * 1000 + b'"', "application/json") == ("[" * 1000, False)


def test_headers_have_lower_case_names_and_repeated_ones_are_joined() -> None:
    pairs = [
        ("Vary", "Accept"),
        ("vary", "Cookie"),
        ("Set-Cookie", "id=abc=; Path=/"),
        ("Set-Cookie", "flag"),
        ("Set-Cookie", "other=; Secure"),
    ]
    assert read_headers(pairs) == {
        "vary": "Accept, Cookie",
        "set-cookie": "id=[redacted]; Path=/, [redacted], other=[redacted]; Secure",
    }

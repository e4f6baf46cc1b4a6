"""Source files are read and written in the encoding that they name."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.encoding import decoded, encoded

DECLARED = {
    "latin-1": b"# -*- coding: latin-1 -*-\n# Gr\xfc\xdfe\n",
    "cp1252": b"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\nprice = '\x80'\n",
    "shift_jis": b"\r\n# coding=shift_jis\r\nname = '\x93\xfa\x96{'\r\n",
}


@pytest.mark.parametrize("encoding", DECLARED)
def test_a_file_is_read_as_python_reads_it_and_written_as_it_was(encoding: str) -> None:
    content = DECLARED[encoding]
    assert decoded(content) == content.decode(encoding)
    assert encoded(decoded(content)) == content


@pytest.mark.parametrize(
    "content",
    [
        b"x = 1\n# coding: latin-1\n\xc3\xa9\n",
        b"\n\n# coding: latin-1\n\xc3\xa9\n",
        b"# coding: no-such-thing\n\xc3\xa9\n",
        b"# coding: zlib\n\xc3\xa9\n",
        b"# coding: utf-8\n\xc3\xa9\n",
        b"\xef\xbb\xbf# coding: utf-8-sig\n\xc3\xa9\n",
        b"# coding: utf-16\n\xc3\xa9\n",
        b"\xc3\xa9\n",
        b"",
    ],
)
def test_all_else_is_utf_8(content: bytes) -> None:
    assert decoded(content) == content.decode()
    assert encoded(decoded(content)) == content


def test_what_an_encoding_does_not_have_is_escaped() -> None:
    written = encoded("# coding: latin-1\nprice = '3 €'\n")
    assert ast.literal_eval(written.decode("latin-1").rpartition("= ")[2].strip()) == "3 €"
    assert encoded("x = '\ud800'") == b"x = '\\ud800'"


def test_what_is_no_text_is_an_error() -> None:
    with pytest.raises(UnicodeDecodeError):
        decoded(b"\xff")


@given(st.binary(), st.sampled_from([b"", b"# coding: latin-1\n", b"#\n# coding: cp037\n"]))
def test_whatever_can_be_read_is_written_as_it_was(content: bytes, first: bytes) -> None:
    try:
        text = decoded(first + content)
    except UnicodeDecodeError:
        return
    assert encoded(text) == first + content

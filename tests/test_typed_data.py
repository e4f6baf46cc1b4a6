"""Typed data is read by one module, which several threads may use at once."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.docs.pages import ROOT

#: Four threads read a new type at the same moment, a hundred times.
RACE = """
import sys, threading, types
from runtrue.typed_data import convert, decode_json, json_decoder

sys.setswitchinterval(1e-6)
FIELDS = "    x: dict[str, Any] = {}\\n    y: list[%s] = []\\n    z: str | None = None\\n"
HEAD = "from __future__ import annotations\\nimport msgspec\\nfrom typing import Any\\n"
READ = {
    "convert": lambda form: convert({"y": [{"y": []}]}, form),
    "decode_json": lambda form: decode_json('{"y": [{"y": []}]}', form),
    "json_decoder": lambda form: json_decoder(form)('{"y": [{"y": []}]}'),
}[sys.argv[1]]
for number in range(100):
    module = types.ModuleType(f"m{number}")
    sys.modules[module.__name__] = module
    source = HEAD
    for depth in range(12):
        below = f"A{depth - 1}" if depth else "int"
        source += f"class A{depth}(msgspec.Struct):\\n" + FIELDS % below
    exec(source, module.__dict__)
    barrier = threading.Barrier(4)

    def read():
        barrier.wait()
        READ(module.A11)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""
ELSEWHERE = re.compile(r"msgspec\.(?:convert|json\.Decoder)\b|json\.decode\([^\n]*\btype=")


@pytest.mark.parametrize("function", ["convert", "decode_json", "json_decoder"])
def test_threads_may_read_a_type_for_the_first_time_at_once(function: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RACE, function], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_no_other_module_reads_types_by_msgspec_itself() -> None:
    source = ROOT / "src" / "runtrue"
    found = {
        str(file.relative_to(source))
        for file in source.rglob("*.py")
        if ELSEWHERE.search(file.read_text())
    }
    assert found == {"typed_data.py"}

"""The python node: a function body in a process of its own, with JSON going in and out."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.process import MARK
from runtrue.workflow.node import Pointer
from runtrue.workflow.nodes import _python_runner
from runtrue.workflow.nodes.python import PythonNode
from tests.workflow.nodes import support

NODE = PythonNode()
HERE = Path("/")


def run(code: str, store: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
    params = {"code": dedent(code), **params}
    return support.run(NODE, params, support.make_context(HERE), store)


def fail(code: str, store: dict[str, Any] | None = None, **params: Any) -> NodeFailed:
    params = {"code": dedent(code), **params}
    return support.fail(NODE, params, support.make_context(HERE), store)


def problems(**params: Any) -> list[tuple[Pointer, str]]:
    return list(NODE.check(params))


def test_what_it_takes_and_gives() -> None:
    interface = NODE.interface
    assert interface.type == "python"
    assert interface.required == ("code",)
    assert list(interface.params) == ["code", "inputs", "timeout"]
    assert interface.params["timeout"]["default"] == 30
    assert {name: output.type for name, output in interface.outputs.items()} == {
        **{"result": "any", "stdout": "string", "error": "string"}
    }
    assert all(schema.get("description") for schema in interface.params.values())
    assert not NODE.has_side_effect({"code": "return 1"})


# -- what goes in and out -----------------------------------------------------------------------


def test_inputs_are_variables_and_what_is_returned_is_the_result() -> None:
    code = """
        total = sum(item["price"] for item in items)  # a comprehension sees them, too
        print("so far:", total, "€")
        return {"total": total, "names": tuple(i["name"] for i in items), "first": city[0]}
    """
    store = {"fetch": {"items": [{"name": "é", "price": 1.5}, {"name": "b", "price": 2}]}}
    outputs = run(code, store, inputs={"items": "${fetch.items}", "city": "Rome"})
    assert outputs == {
        "result": {"total": 3.5, "names": ["é", "b"], "first": "R"},
        "stdout": "so far: 3.5 €\n",
    }


@pytest.mark.parametrize("code", ["", "# nothing", "pass", "return", "x = 1", "return None"])
def test_nothing_is_null(code: str) -> None:
    assert run(code) == {"result": None, "stdout": ""}


@pytest.mark.parametrize(
    "value", [None, True, 0, -1, 2**64, 1.5, "", "a\nb\u2028é🎉", [], [[]], {}, {"a b": [None]}]
)
def test_json_data_comes_back_as_it_went_in(value: Any) -> None:
    result = run("return x", inputs={"x": value})["result"]
    assert (result, type(result)) == (value, type(value))


def test_what_is_close_to_json_data_becomes_it() -> None:
    code = """
        import collections, enum
        class Color(enum.StrEnum):
            RED = "red"
        point = collections.namedtuple("point", "x y")(1, 2)
        return {Color.RED: Color.RED, "p": point, "c": collections.Counter("aab"),
                "n": enum.IntEnum("N", "A").A}
    """
    assert run(code)["result"] == {"red": "red", "p": [1, 2], "c": {"a": 2, "b": 1}, "n": 1}


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ("{1}", "$ is a set; use sorted()"),
        ("{'items': [1, 2, {3}]}", "$.items[2] is a set; use sorted()"),
        ("{'a b': b'x'}", "$['a b'] is a bytes; use .decode()"),
        ("float('nan')", "$ is nan, which JSON cannot hold"),
        ("[float('inf')]", "$[0] is inf, which JSON cannot hold"),
        ("10 ** 5000", "$ is too large a number"),
        ("{'a': {1: 2}}", "$.a has the key 1, which is not text; use str()"),
        ("datetime.datetime.now()", "$ is a datetime; use .isoformat()"),
        ("datetime.date.today()", "$ is a date; use .isoformat()"),
        ("decimal.Decimal(1)", "$ is a Decimal; use float() or str()"),
        ("pathlib.Path('x')", "$ is a PosixPath; use str()"),
        ("(x for x in [])", "$ is a generator; use list()"),
        ("'\\ud800'", "$ contains half of a surrogate pair"),
        ("object()", "$ is an object"),
        ("[route('a')]", "$[0] is a Route"),
    ],
)
def test_anything_else_is_refused_with_its_place(returned: str, told: str) -> None:
    failed = fail(f"import datetime, decimal, pathlib\nprint('said')\nreturn {returned}")
    assert isinstance(failed, RuntimeValidationError)
    assert failed.category == "not_json"
    assert failed.message.startswith(f"the result is not JSON data: {told}")
    assert failed.outputs == {"stdout": "said\n", "error": failed.message}


def test_a_result_that_holds_itself_is_refused() -> None:
    failed = fail("x = []\nx.append(x)\nreturn x")
    assert failed.message.endswith("is nested more than 100 levels deep")


@pytest.mark.parametrize(
    ("returned", "action", "result"),
    [
        ("route('retry')", "retry", None),
        ("route('big', {'n': (1,)})", "big", {"n": [1]}),
        ("[1]", "default", [1]),
    ],
)
def test_route_decides_the_action(returned: str, action: str, result: Any) -> None:
    params = {"code": f"return {returned}"}
    done = asyncio.run(support.perform(NODE, params, support.make_context(HERE)))
    assert (done.action, done.outputs["result"]) == (action, result)


def test_an_action_is_text() -> None:
    assert fail("return route(3)").category == "TypeError"


# -- the process --------------------------------------------------------------------------------


def test_it_runs_in_an_empty_directory_with_hardly_any_environment(tmp_path: Path) -> None:
    environment = {"SECRET": "s", "TZ": "UTC", "PYTHONPATH": str(tmp_path), "HOME": "/x"}
    code = """
        import os, tempfile
        listing = os.listdir(".")
        open("made", "w").close()
        return {"env": dict(os.environ), "cwd": os.getcwd(), "listing": listing,
                "temp": tempfile.gettempdir()}
    """
    context = support.make_context(tmp_path, environment, run_id="r1")
    result = support.run(NODE, {"code": dedent(code)}, context)["result"]
    own = {"HOME": result["cwd"], "TMPDIR": result["cwd"], MARK: "r1", "TZ": "UTC"}
    ours = ("RUNTRUE_COMMAND", "GOCACHE", "PWD")
    given = {name: value for name, value in result["env"].items() if name not in ours}
    assert {**given, "LC_CTYPE": ""} == {**own, "PATH": os.environ["PATH"], "LC_CTYPE": ""}
    assert (result["listing"], result["temp"]) == ([], result["cwd"])
    assert not Path(result["cwd"]).exists()


def test_installed_packages_can_be_imported() -> None:
    assert importlib.util.find_spec("msgspec")
    assert run("import msgspec\nreturn msgspec.json.decode(b'[1]')")["result"] == [1]


def test_the_code_has_no_input_to_read_and_no_arguments() -> None:
    code = "import sys\nreturn [sys.stdin.read(), len(sys.argv)]"
    assert run(code)["result"] == ["", 1]


def test_classes_find_their_module() -> None:
    code = """
        import dataclasses
        @dataclasses.dataclass
        class Point:
            x: "typing.Any" = 1
        return dataclasses.asdict(Point())
    """
    assert run(code)["result"] == {"x": 1}


def test_threads_and_children_that_are_left_are_not_waited_for() -> None:
    code = """
        import subprocess, sys, threading
        threading.Thread(target=threading.Event().wait).start()
        subprocess.Popen(["sleep", "600"])
        print("printed", end="")
        return 1
    """
    assert run(code, timeout=60) == {"result": 1, "stdout": "printed"}


def test_of_what_is_printed_64_kb_are_kept() -> None:
    stdout = run("print('a' * 200_000)\nreturn 1")["stdout"]
    assert len(stdout) < 66_000
    assert "134465 bytes left out" in stdout


def test_printing_an_answer_is_not_answering() -> None:
    assert run("print('{\"result\": 2}')\nreturn 1")["result"] == 1


# -- failing ------------------------------------------------------------------------------------


def test_an_exception_tells_its_line() -> None:
    failed = fail(
        """\
        def pick(data):
            return data["x"]
        print("before")
        return pick({})
        """
    )
    assert (failed.category, failed.fault) == ("KeyError", "candidate")
    assert failed.message == "KeyError: 'x' (line 2 of the code)"
    assert failed.sample == 'return data["x"]'
    assert failed.data == {
        "line": 2,
        "traceback": ["line 4, in body: return pick({})", 'line 2, in pick: return data["x"]'],
    }
    assert failed.outputs == {"stdout": "before\n", "error": failed.message}


def test_only_the_frames_of_the_code_are_told() -> None:
    failed = fail("import json\n\nreturn json.loads('{')")
    assert failed.category == "JSONDecodeError"
    assert failed.message.endswith("(line 3 of the code)")
    assert failed.data["traceback"] == ["line 3, in body: return json.loads('{')"]


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        ("ValueError", "ValueError (line 1 of the code)"),
        ("ValueError('a\\n  b')", "ValueError: a b (line 1 of the code)"),
        ("KeyboardInterrupt", "KeyboardInterrupt (line 1 of the code)"),
        ("type('Odd', (Exception,), {'__str__': None})", "Odd (line 1 of the code)"),
    ],
)
def test_any_exception_is_told_in_one_line(raised: str, message: str) -> None:
    assert fail(f"raise {raised}").message == message


@pytest.mark.parametrize(
    ("raised", "fault"),
    [
        ("ConnectionRefusedError(111, 'refused')", "environment"),
        ("OSError(28, 'disk full')", "environment"),
        ("ValueError(28)", "candidate"),
    ],
)
def test_the_environments_faults_are_told_apart(raised: str, fault: str) -> None:
    assert fail(f"raise {raised}").fault == fault


def test_endless_recursion_is_an_exception_as_any() -> None:
    failed = fail("def f():\n    return f()\nreturn f()")
    assert failed.category == "RecursionError"
    assert len(failed.data["traceback"]) == 20


@pytest.mark.parametrize(
    ("code", "category", "fault", "told"),
    [
        ("sys.exit(3)", "exit", "candidate", "called sys.exit(3) instead of returning"),
        ("sys.exit()", "exit", "candidate", "called sys.exit() instead of returning"),
        ("os._exit(4)", "exit", "candidate", "exit code 4 instead of returning"),
        ("os._exit(0)", "exit", "candidate", "exit code 0 instead of returning"),
        ("os.kill(os.getpid(), 9)", "killed", "environment", "killed by SIGKILL"),
        ("os.kill(os.getpid(), 11)", "killed", "candidate", "killed by SIGSEGV"),
        ("os.kill(os.getpid(), 40)", "killed", "candidate", "killed by signal 40"),
    ],
)
def test_an_end_without_an_answer_is_told_apart(
    code: str, category: str, fault: str, told: str
) -> None:
    failed = fail(f"import os, sys\nprint('said', flush=True)\n{code}")
    assert (failed.category, failed.fault) == (category, fault)
    assert told in failed.message
    assert failed.outputs == {"stdout": "said\n", "error": failed.message}


def test_a_timeout_is_the_codes_fault() -> None:
    failed = fail("while True: pass", timeout=0.5)
    assert (failed.category, failed.fault) == ("timeout", "candidate")
    assert failed.message == "the code did not finish within 0.5 seconds"


def test_a_result_that_is_too_large_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtrue.workflow.nodes.python.LARGEST_ANSWER", 1024**2)
    failed = fail("return 'x' * 2_000_000")
    assert (failed.category, failed.message) == ("output_limit", "the result is larger than 1 MB")


@pytest.mark.parametrize("name", ["a b", "class", "1a", ""])
def test_an_input_must_be_able_to_be_a_variable(name: str) -> None:
    failed = fail("return 1", {"given": {name: 1}}, inputs="${given}")
    assert isinstance(failed, RuntimeValidationError)
    assert failed.attempted == (name,)
    assert problems(code="return 1", inputs={name: 1})[0][0] == ("inputs", name)


# -- what is wrong without running it -----------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("x = 1\nreturn (", "line 2 of the code: '(' was never closed"),
        ("return 1\n  x", "line 2 of the code: unexpected indent"),
        ("await x", "line 1 of the code: 'await' outside async function"),
        ("x = 1\nglobal x", "line 2 of the code: name 'x' is"),
        ("import json\nreturn '${fetch.body}' + '${b}'", "${fetch.body} is in the code"),
        ("(" * 300, "line 1 of the code: too many nested parentheses"),
    ],
)
def test_code_that_cannot_run_is_a_problem(code: str, told: str) -> None:
    ((pointer, message),) = problems(code=code, inputs={"x": 1})
    assert pointer == ("code",)
    assert message.startswith(told)


def test_code_with_a_nul_is_a_problem() -> None:
    ((pointer, message),) = problems(code="x = 1\0")
    assert pointer == ("code",)
    assert "null bytes" in message


@pytest.mark.parametrize(
    "code",
    [
        *("return x + 1", "", "def f():\n    return 1\nreturn f()", "return '\\d'"),
        *("text = '''\n  kept\nas it is'''\nreturn text", "return f'$${x}'", "return '${'"),
    ],
)
def test_code_that_can_run_is_none(code: str) -> None:
    assert problems(code=code, inputs={"x": "${y}"}, timeout=1) == []
    assert problems(code=code, inputs="${everything}") == []


def test_lines_within_text_stay_as_they_are() -> None:
    assert run("text = '''\n  kept\nas it is'''\nreturn text")["result"] == "\n  kept\nas it is"


def test_an_escaped_reference_is_python() -> None:
    assert run("return f'$${x}'", inputs={"x": 5})["result"] == "$5"


# -- the runner ---------------------------------------------------------------------------------


def test_the_runner_stands_alone(tmp_path: Path) -> None:
    """It needs nothing but an interpreter: neither runtrue nor anything else that is installed."""
    request = json.dumps({"code": "return x", "inputs": {"x": 1}})
    answer = tmp_path / "answer"
    argv = [sys.executable, "-I", "-S", _python_runner.__file__, str(answer)]
    subprocess.run(argv, input=request.encode(), check=True, env={}, cwd=tmp_path, timeout=60)
    assert json.loads(answer.read_text()) == {"result": 1, "action": "default"}

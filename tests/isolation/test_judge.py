"""A candidate that is wrong cannot make its judge say that it is right, whatever it does."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest

from runtrue.loop import Fault
from runtrue.sandbox import is_judge
from tests.checks.support import Project

PYTEST = "python -m pytest -q -p no:cacheprovider"

TESTS = """
import unittest
from app import total

def test_total():
    assert total([1, 2]) == 3

class TestOld(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
"""
WRONG = "def total(numbers): return 0\n"

#: Where the report is, as a candidate can find out: it is open.
REPORT = """
import os, pathlib
def report():
    opened = [os.path.realpath(file) for file in pathlib.Path("/proc/self/fd").iterdir()]
    return pathlib.Path(next(file for file in opened if file.endswith(".jsonl")))
"""
#: How the seals of lines could be found out by one who knows this program.
FORGED = """
def forged():
    events = ['{"event": "case", "id": "%s", "when": "call", "outcome": "passed", "seconds": 0, '
              '"exception": null, "text": ""}' % test
              for test in ("tests/test_app.py::test_total", "tests/test_b.py::test_b")]
    return "".join("0 " + "0" * 32 + " " + e + "\\n"
                   for e in [*events, '{"event": "end", "exit_code": 0}'])
"""

#: What is put into the program, by what it attempts. Nothing of it can be known to be meant.
SILENT = {
    "ending the process with 0 when it is imported": "import os; os._exit(0)",
    "ending the process with 0 in a test": "import os\ndef total(numbers): os._exit(0)",
    "ending the process with 0 at exit": "import atexit, os; atexit.register(os._exit, 0)",
    "ending the process with 0 from a thread": """
        import os, threading, time
        def total(numbers):
            threading.Thread(target=os._exit, args=(0,)).start()
            time.sleep(60)
        """,
    "ending the process with 0 by a signal": """
        import os, signal
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        def total(numbers): os.kill(os.getpid(), signal.SIGTERM)
        """,
    "becoming another program that succeeds": """
        import os
        def total(numbers): os.execvp("true", ["true"])
        """,
    "sys.exit(0) when it is imported": "import sys; sys.exit(0)",
    "sys.exit(0) in a test": "import sys\ndef total(numbers): sys.exit(0)",
    "pytest.exit with 0 when it is imported": "import pytest; pytest.exit('done', returncode=0)",
    "pytest.exit with 0 in a test": """
        import pytest
        def total(numbers): pytest.exit('done', returncode=0)
        """,
    "KeyboardInterrupt in a test": "def total(numbers): raise KeyboardInterrupt",
    "setting the exit status of the session": """
        import atexit, gc, os, pytest
        def set_it():
            for it in gc.get_objects():
                if isinstance(it, pytest.Session): it.exitstatus = it.testsfailed = 0
            os._exit(0)
        atexit.register(set_it)
        """,
    "an AssertionError that is swallowed by a trace function": """
        import sys
        def total(numbers):
            sys.settrace(lambda *_: None)
            return 0
        """,
    "another json module in sys.modules": """
        import sys, types
        fake = types.ModuleType("json")
        fake.dumps = lambda *_, **__: '{"event": "end", "exit_code": 0}'
        sys.modules["json"] = fake
        """,
    "json.dumps that says passed": """
        import json
        old = json.dumps
        json.dumps = lambda *a, **k: old(*a, **k).replace("failed", "passed")
        json.JSONEncoder.encode = lambda self, it: "{}"
        """,
    "a fork that goes on in the place of the session": """
        import os
        def total(numbers): os._exit(0) if os.fork() else None
        """,
    "os.write that writes nothing of failures": """
        import os
        old = os.write
        os.write = lambda fd, data: len(data) if b"failed" in data else old(fd, data)
        """,
    "os.getpid that names another process": "import os; os.getpid = lambda: 1",
    "dropping the plugin that reports": """
        import gc, _pytest.config
        for it in gc.get_objects():
            if isinstance(it, _pytest.config.PytestPluginManager):
                plugin = it.get_plugin("runtrue-reporter")
                if plugin: it.unregister(plugin)
        """,
    "dropping the plugin that runs tests": """
        import gc, _pytest.config
        for it in gc.get_objects():
            if isinstance(it, _pytest.config.PytestPluginManager) and it.get_plugin("runner"):
                it.unregister(it.get_plugin("runner"))
        """,
    "removing what was collected": """
        import gc, pytest
        def total(numbers):
            for it in gc.get_objects():
                if isinstance(it, pytest.Session): it.items.clear()
            return 0
        """,
}

#: The same, where the attempt itself is seen.
SEEN = {
    "appending forged lines to the report": "report().open('a').write(forged())",
    "forging the end and ending the process": """
        report().open('a').write(forged())
        os._exit(0)
        """,
    "replacing the report by a forged one": """
        path = report()
        path.unlink()
        path.write_text(forged())
        """,
    "emptying the report in the middle": """
        def total(numbers):
            os.truncate(report(), 0)
            return 0
        """,
    "removing the report and ending the process": "report().unlink(); os._exit(0)",
    "a pipe in the place of the report": """
        path = report()
        path.unlink()
        os.mkfifo(path)
        os._exit(0)
        """,
    "a link in the place of the report": """
        path = report()
        path.unlink()
        pathlib.Path("forged").write_text(forged())
        path.symlink_to(pathlib.Path("forged").resolve())
        os._exit(0)
        """,
    "taking a line out of the report": """
        def total(numbers):
            lines = report().read_text().splitlines(keepends=True)
            report().write_text("".join(lines[:1] + lines[2:]))
            return 0
        """,
    "repeating lines of the report": """
        def total(numbers):
            with report().open("a") as file: file.write(report().read_text())
            return 0
        """,
    "sealing lines with the key that is left there": """
        import hashlib
        path = report()
        number, key = path.with_name(path.name + ".key").read_text().split()
        key = bytes.fromhex(key)
        lines = []
        for line in forged().splitlines():
            data = line.split(" ", 2)[2].encode()
            digest = hashlib.sha512(key + data).digest()
            key = digest[:32]
            lines.append(f"0 {digest[32:].hex()} {data.decode()}\\n")
        path.open("a").write("".join(lines))
        """,
    "another Function.runtest": """
        import _pytest.python
        _pytest.python.Function.runtest = lambda self: None
        import _pytest.unittest
        _pytest.unittest.TestCaseFunction.runtest = lambda self: None
        """,
    "other code in pytest_pyfunc_call": """
        import _pytest.python, _pytest.unittest
        def nothing(pyfuncitem): return True
        _pytest.python.pytest_pyfunc_call.__code__ = nothing.__code__
        """,
    "reports that always passed": """
        import _pytest.reports
        old = _pytest.reports.TestReport.__init__
        def always(self, nodeid, location, keywords, outcome, longrepr, *args, **more):
            old(self, nodeid, location, keywords, "passed", None, *args, **more)
        _pytest.reports.TestReport.__init__ = always
        """,
    "a call of hooks that swallows errors": """
        import pluggy._callers, pluggy._manager
        old = pluggy._callers._multicall
        def swallow(name, *args):
            try: return old(name, *args)
            except Exception: return None
        pluggy._callers._multicall = swallow
        import gc, _pytest.config
        for it in gc.get_objects():
            if isinstance(it, _pytest.config.PytestPluginManager): it._inner_hookexec = swallow
        """,
    "CallInfo that sees no exception": """
        import _pytest.runner
        old = _pytest.runner.CallInfo.from_call.__func__
        def from_call(cls, *args, **more):
            call = old(cls, *args, **more)
            call.excinfo = None
            return call
        _pytest.runner.CallInfo.from_call = classmethod(from_call)
        """,
    "assertEqual that compares nothing": """
        import unittest
        unittest.TestCase.assertEqual = lambda *_: None
        """,
    "assertEqual that is a builtin": """
        import unittest
        unittest.TestCase.assertEqual = print
        """,
    "an AssertionError that is a skip": """
        import builtins, pytest
        builtins.AssertionError = lambda *_: pytest.skip.Exception("never mind")
        """,
    "a plugin that makes failures passes": """
        import gc, pytest, _pytest.config
        class Kind:
            @pytest.hookimpl(hookwrapper=True, trylast=True)
            def pytest_runtest_makereport(self, item, call):
                outcome = yield
                outcome.get_result().outcome = "passed"
        for it in gc.get_objects():
            if isinstance(it, _pytest.config.PytestPluginManager): it.register(Kind())
        """,
    "a function of a hook that is replaced": """
        import gc, pluggy
        for it in gc.get_objects():
            if isinstance(it, pluggy.HookImpl) and it.function.__name__ == "pytest_pyfunc_call":
                it.function = lambda pyfuncitem: True
        """,
    "a function that says it comes from pytest": """
        import _pytest.python
        text = "def runtest(self): pass"
        names = {"__file__": __file__}
        exec(compile(text, _pytest.python.__file__, "exec"), names)
        _pytest.python.Function.runtest = names["runtest"]
        """,
    "a function that comes from nowhere": """
        import _pytest.python
        names = {}
        exec("def runtest(self): pass", names)
        _pytest.python.Function.runtest = names["runtest"]
        """,
    "a reporter that tells of no failure": """
        import sys
        report = sys.modules["runtrue_report"]
        old = report._Reporter._case
        def case(self, report, when=None):
            report.outcome = "passed"
            old(self, report, when)
        report._Reporter._case = case
        """,
    "a plugin whose parts are replaced": """
        import sys
        report = sys.modules["runtrue_report"]
        report._write = report._tell = lambda *_, **__: None
        report._exception = lambda error: None
        class Blind:
            def glance(self): return []
            look = glance
        report._guard = Blind()
        """,
    "writing tests that pass before they are collected": """
        for name in ("test_app.py", "test_b.py"):
            path = pathlib.Path("tests", name)
            path.write_text("def test_b(): pass")
        """,
    "writing a conftest.py before it is looked for": """
        path = pathlib.Path("tests/z")
        path.joinpath("conftest.py").write_text("collect_ignore_glob = ['*']")
        """,
    "writing a test and putting it back": """
        import atexit
        path = pathlib.Path("tests/test_b.py")
        was, status = path.read_text(), path.stat()
        path.write_text("def test_b(): pass")
        def put_back():
            path.write_text(was)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        atexit.register(put_back)
        """,
}


def write_project(project: Project, attack: str) -> None:
    project.write("tests/test_app.py", TESTS)
    project.write(
        "tests/test_b.py", "from app import total\ndef test_b(): assert total([1]) == 1\n"
    )
    project.write(
        "tests/z/test_z.py", "from app import total\ndef test_z(): assert total([2]) == 2\n"
    )
    project.write("conftest.py", "")
    helpers = REPORT + FORGED
    project.write("app.py", f"{helpers}\n{WRONG}\n{textwrap.dedent(attack).strip()}\n")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.mark.parametrize("attack", SILENT.values(), ids=SILENT)
@pytest.mark.parametrize("command", [PYTEST, f"cd . && {PYTEST}"], ids=["pytest", "a shell"])
def test_a_wrong_candidate_does_not_pass_by(project: Project, attack: str, command: str) -> None:
    write_project(project, attack)
    verdict = project.check(command)
    assert not verdict.passed
    assert verdict.findings


@pytest.mark.parametrize("attack", SEEN.values(), ids=SEEN)
@pytest.mark.parametrize("command", [PYTEST, f"cd . && {PYTEST}"], ids=["pytest", "a shell"])
def test_a_wrong_candidate_is_caught(project: Project, attack: str, command: str) -> None:
    write_project(project, attack)
    verdict = project.check(command)
    assert not verdict.passed
    caught = [finding for finding in verdict.findings if finding.category == "tampered"]
    assert caught, [f.message for f in verdict.findings]
    assert all(finding.fault is Fault.CANDIDATE for finding in caught)


#: A module that says for pytest, with its key, that all is well.
INSTEAD = """
import os
path = os.environ.get("RUNTRUE_REPORT")
if path:
    import hashlib, json
    key = bytes.fromhex(open(path + ".key").read().partition(" ")[2])
    following = hashlib.sha512(key + b"session").hexdigest()[:64]
    open(path + ".key", "w").write("1 " + following)
    test = "tests/test_app.py::test_total"
    lines = [
        {"event": "start", "root": os.getcwd(), "pytest": "9"},
        {"event": "session"},
        {"event": "collected", "ids": [test]},
        {"event": "case", "id": test, "when": "call", "outcome": "passed", "seconds": 0.0,
         "exception": None, "text": ""},
        {"event": "end", "exit_code": 0},
    ]
    with open(path, "ab") as out:
        for line in lines:
            data = json.dumps(line).encode()
            digest = hashlib.sha512(key + data).digest()
            key = digest[:32]
            out.write(b"0 %s %s\\n" % (digest[32:].hex().encode(), data))
    os._exit(0)
"""


@pytest.mark.parametrize("command", [PYTEST, "pytest -q", f"cd . && {PYTEST}"])
@pytest.mark.parametrize("module", ["iniconfig.py", "shlex.py", "pluggy/__init__.py"])
def test_a_module_named_like_one_that_pytest_uses_is_not_run_in_its_place(
    project: Project, command: str, module: str
) -> None:
    write_project(project, "")
    project.write(module, INSTEAD)
    project.environment["PYTHONPATH"] = "."
    verdict = project.check(command)
    assert verdict.cases["tests/test_app.py::test_total"] == "failed"


def test_a_pytest_of_the_candidates_does_not_speak_for_the_one_that_judges(
    project: Project,
) -> None:
    attack = """
        import subprocess, sys
        pathlib.Path("other").mkdir()
        pathlib.Path("other/test_it.py").write_text("def test_it(): pass")
        subprocess.run([sys.executable, "-m", "pytest", "--noconftest"], cwd="other",
                       env={**os.environ, "RUNTRUE_REPORT": str(report())})
        os._exit(0)
        """
    write_project(project, attack)
    project.write("conftest.py", "import app\n")
    verdict = project.check(PYTEST)
    assert "test_it.py::test_it" in "".join(verdict.cases), "else nothing is tried"
    assert not verdict.passed


def test_what_python_loads_before_all_else_is_a_judge() -> None:
    assert is_judge("src/encodings/__init__.py")
    assert is_judge("encodings.py")
    assert not is_judge("src/encodings/cp1.json")
    assert not is_judge("my_encodings.py")


@pytest.mark.parametrize("command", [PYTEST, "python -c 'import first'"])
def test_a_sitecustomize_of_the_users_is_still_run(project: Project, command: str) -> None:
    project.write("lib/sitecustomize.py", "import sys\nsys.modules['first'] = sys\n")
    project.write("test_it.py", "def test_it():\n    import first\n")
    project.environment["PYTHONPATH"] = str(project.directory / "lib")
    verdict = project.check(f"{command} && {PYTEST}")
    assert verdict.passed, verdict.findings


#: What honest projects do to pytest, to unittest and to the builtins: files, and options.
HONEST = {
    "patches builtins in a test and puts them back": {
        "test_it.py": """
            import builtins, unittest
            from app import fake
            def test_it(monkeypatch):
                monkeypatch.setattr(builtins, "abs", fake)
                monkeypatch.setattr(unittest.TestCase, "assertEqual", lambda *_: None)
            def test_after(): assert abs(-1) == 1
            """,
        "app.py": "fake = lambda *_: True\n",
    },
    "patches pytest in conftest.py": {
        "conftest.py": """
            import _pytest.python, unittest
            old = _pytest.python.Function.runtest
            _pytest.python.Function.runtest = lambda self: old(self)
            unittest.TestCase.assertEqual = lambda self, one, other: None
            """,
        "test_it.py": "def test_it(): pass\n",
    },
    "is itself a plugin that patches pytest": {
        "conftest.py": "pytest_plugins = ['own.plugin']\n",
        "own/__init__.py": "",
        "own/plugin.py": """
            import _pytest.python
            old = _pytest.python.Function.runtest
            _pytest.python.Function.runtest = lambda self: old(self)
            def pytest_runtest_setup(item): pass
            """,
        "test_it.py": "def test_it(): pass\n",
    },
    "registers what helps its tests": {
        "conftest.py": """
            from own import Helper
            def pytest_configure(config): config.pluginmanager.register(Helper())
            """,
        "own.py": """
            class Helper:
                def pytest_runtest_setup(self, item): pass
            """,
        "test_it.py": "def test_it(): pass\n",
    },
    "has a conftest.py in a directory below": {
        "sub/conftest.py": "def pytest_runtest_setup(item): pass\n",
        "sub/test_it.py": "def test_it(): pass\n",
    },
    "runs a pytest of its own, with plugins of its own": {
        "test_it.py": """
            import pytest
            class Plugin:
                def pytest_runtest_makereport(self, item, call): pass
            def test_it(tmp_path):
                (tmp_path / "test_inner.py").write_text("def test_inner(): assert 0")
                assert pytest.main(["-q", str(tmp_path)], plugins=[Plugin()]) == 1
            """,
    },
    "writes expected values beside its tests": {
        "tests/test_it.py": """
            import pathlib
            def test_it(): pathlib.Path(__file__).with_name("expected.json").write_text("{}")
            """,
        "tests/expected.json": "[]",
    },
    "forks, mocks, and changes json": {
        "test_it.py": """
            import json, os, unittest.mock
            json.JSONEncoder.default = lambda self, it: str(it)
            def test_it():
                if os.fork() == 0: os._exit(0)
                os.wait()
                with unittest.mock.patch("builtins.open"): pass
            """,
    },
    "uses hypothesis": {
        "test_it.py": """
            from hypothesis import given, strategies
            @given(strategies.integers())
            def test_it(number): assert number == number
            """,
    },
}


@pytest.mark.parametrize("files", HONEST.values(), ids=HONEST)
@pytest.mark.parametrize(
    "options",
    ["", " -p xdist.plugin -n 2", " -p pytest_cov.plugin --cov=."],
    ids=["plain", "with workers", "with coverage"],
)
def test_an_honest_project_passes_that(
    project: Project, files: dict[str, str], options: str
) -> None:
    for name, text in files.items():
        project.write(name, text)
    verdict = project.check(PYTEST + options)
    assert verdict.passed, verdict.findings


@pytest.mark.parametrize("attack", ["another Function.runtest", "assertEqual that is a builtin"])
def test_a_worker_tells_what_was_tried(project: Project, attack: str) -> None:
    write_project(project, SEEN[attack])
    verdict = project.check(f"{PYTEST} -p xdist.plugin -n 2")
    assert not verdict.passed
    assert "tampered" in {finding.category for finding in verdict.findings}


def test_two_sessions_side_by_side_are_told_apart(project: Project) -> None:
    project.write("test_a.py", "def test_a(): pass\n")
    project.write("test_b.py", "def test_b(): pass\n")
    verdict = project.check(f"{PYTEST} test_a.py & {PYTEST} test_b.py; wait")
    assert verdict.passed, verdict.findings
    assert verdict.cases == {"test_a.py::test_a": "passed", "test_b.py::test_b": "passed"}


def test_byte_code_that_lies_beside_a_test_is_not_run(project: Project) -> None:
    write_project(project, "")
    test = project.directory / "tests" / "test_app.py"
    right = test.read_bytes()
    environment = {**project.environment, "PYTHONDONTWRITEBYTECODE": ""}
    test.write_bytes(b"def test_total(): pass".ljust(len(right), b"\n"))
    status = test.stat()
    project.environment = environment
    assert not project.check(f"{PYTEST} tests/test_b.py tests/test_app.py").passed
    assert [*test.parent.glob("__pycache__/test_app*.pyc")], "else nothing is tried"
    test.write_bytes(right)
    os.utime(test, ns=(status.st_atime_ns, status.st_mtime_ns))
    verdict = project.check(f"{PYTEST} tests/test_app.py")
    assert verdict.cases["tests/test_app.py::test_total"] == "failed"


def test_a_finding_says_what_was_tried_and_where(project: Project) -> None:
    write_project(project, SEEN["assertEqual that compares nothing"])
    verdict = project.check(PYTEST)
    (finding,) = [finding for finding in verdict.findings if finding.category == "tampered"]
    assert finding.message == (
        "unittest.case.TestCase.assertEqual was replaced while the tests ran: the code must not "
        "change how it is judged; leave that alone"
    )
    lines = (project.directory / "app.py").read_text().splitlines()
    assert finding.location.file == "app.py"
    assert finding.location.line is not None
    assert "lambda" in lines[finding.location.line - 1]


def test_the_key_is_of_no_use_to_later_runs(project: Project) -> None:
    write_project(project, "")
    project.check(PYTEST)
    assert not [*project.scratch.rglob("*.key")]

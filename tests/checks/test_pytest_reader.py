"""What happened in a run of pytest is read from a report of it, whatever the run did."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runtrue.loop import Fault, Outcome, Verdict
from tests.checks.support import Project, only

PYTEST = "python -m pytest -q"


#: A function for a test to hang in, which leaves a file that says so.
HANG = "import pathlib, time\ndef hang():\n    pathlib.Path('hangs').touch()\n    time.sleep(600)\n"


def check_until_it_hangs(project: Project, command: str) -> Verdict:
    """Run a check with a time-out that is long enough for it to get to where it hangs."""
    timeout = 1.5
    while True:
        verdict = project.check(command, timeout=timeout)
        if (project.directory / "hangs").exists():
            return verdict
        timeout *= 2


class TestVerdict:
    def test_passing_tests_pass(self, project: Project) -> None:
        project.write("test_it.py", "def test_one(): pass\ndef test_two(): pass\n")
        verdict = project.check(PYTEST)
        assert verdict.passed
        assert verdict.findings == ()
        assert verdict.exit_code == 0
        assert verdict.cases == {
            "test_it.py::test_one": Outcome.PASSED,
            "test_it.py::test_two": Outcome.PASSED,
        }

    def test_every_outcome_of_a_case_is_known(self, project: Project) -> None:
        project.write(
            "test_it.py",
            """
            import pytest, unittest

            def test_passes(): pass
            def test_fails(): assert False
            def test_skips(): pytest.skip("not today")
            @pytest.mark.skip
            def test_is_skipped(): pass
            @pytest.mark.xfail
            def test_is_expected_to_fail(): assert False
            @pytest.mark.xfail(strict=True)
            def test_fails_to_fail(): pass
            @pytest.mark.xfail(strict=False)
            def test_need_not_fail(): pass
            @pytest.fixture
            def broken(): raise KeyError("x")
            def test_has_no_fixture(broken): pass
            @pytest.fixture
            def untidy():
                yield
                raise KeyError("x")
            def test_leaves_a_mess(untidy): pass
            @pytest.mark.parametrize("n", [1, 2, "a b"])
            def test_many(n): assert n != 2

            class TestOld(unittest.TestCase):
                def test_passes(self): pass
                def test_fails(self): self.assertEqual(1, 2)
                @unittest.skip("no")
                def test_skips(self): pass
                @unittest.expectedFailure
                def test_expected(self): self.fail()
            """,
        )
        verdict = project.check(PYTEST)
        assert verdict.cases == {
            "test_it.py::test_passes": "passed",
            "test_it.py::test_fails": "failed",
            "test_it.py::test_skips": "skipped",
            "test_it.py::test_is_skipped": "skipped",
            "test_it.py::test_is_expected_to_fail": "skipped",
            "test_it.py::test_fails_to_fail": "failed",
            "test_it.py::test_need_not_fail": "passed",
            "test_it.py::test_has_no_fixture": "error",
            "test_it.py::test_leaves_a_mess": "error",
            "test_it.py::test_many[1]": "passed",
            "test_it.py::test_many[2]": "failed",
            "test_it.py::test_many[a b]": "passed",
            "test_it.py::TestOld::test_passes": "passed",
            "test_it.py::TestOld::test_fails": "failed",
            "test_it.py::TestOld::test_skips": "skipped",
            "test_it.py::TestOld::test_expected": "skipped",
        }
        assert {f.location.symbol for f in verdict.findings} == {
            case for case, outcome in verdict.cases.items() if outcome in ("failed", "error")
        }
        assert all(f.fault is Fault.CANDIDATE for f in verdict.findings)

    def test_both_sides_of_an_equality_are_told_and_those_of_nothing_else(
        self, project: Project
    ) -> None:
        project.write(
            "test_it.py",
            """
            class Odd:
                def __repr__(self): raise RuntimeError

            def test_equal(): assert 1 + 1 == 3
            def test_odd(): assert [Odd()] == "x" * 1000
            def test_less():
                try:
                    assert 4 == 5
                except AssertionError:
                    pass
                assert 3 < 2
            def test_raises():
                int("x")
            """,
        )
        told = {
            finding.location.symbol: (finding.data.get("actual"), finding.data.get("expected"))
            for finding in project.check(PYTEST).findings
        }
        assert told["test_it.py::test_equal"] == ("2", "3")
        actual, expected = told["test_it.py::test_odd"]
        assert "RuntimeError" in str(actual)
        assert 10 < len(str(expected)) <= 400
        assert told["test_it.py::test_less"] == (None, None)
        assert told["test_it.py::test_raises"] == (None, None)

    def test_only_skipped_tests_pass(self, project: Project) -> None:
        project.write("test_it.py", "import pytest\n@pytest.mark.skip\ndef test_it(): pass\n")
        assert project.check(PYTEST).passed

    def test_a_module_that_skips_itself_passes(self, project: Project) -> None:
        project.write("test_it.py", "import pytest\npytest.importorskip('no_such_module')\n")
        project.write("test_other.py", "def test_it(): pass\n")
        assert project.check(PYTEST).passed

    def test_a_report_of_failures_outweighs_an_exit_code_of_0(self, project: Project) -> None:
        project.write("conftest.py", "def pytest_sessionfinish(session): session.exitstatus = 0\n")
        project.write("test_it.py", "def test_it(): assert False\n")
        verdict = project.check(PYTEST)
        assert verdict.exit_code == 0
        assert only(verdict).location.symbol == "test_it.py::test_it"

    def test_an_exit_code_outweighs_a_report_without_failures(self, project: Project) -> None:
        project.write("conftest.py", "def pytest_sessionfinish(session): session.exitstatus = 1\n")
        project.write("test_it.py", "def test_it(): pass\n")
        finding = only(project.check(PYTEST))
        assert finding.category == "exit_code"
        assert finding.message == "exited with code 1"
        assert finding.fault is Fault.CANDIDATE

    def test_stopping_at_the_first_failure(self, project: Project) -> None:
        project.write("test_it.py", "def test_a(): assert 0\ndef test_b(): assert 0\n")
        verdict = project.check(f"{PYTEST} -x")
        assert only(verdict).location.symbol == "test_it.py::test_a"
        assert "test_it.py::test_b" not in verdict.cases

    def test_an_outcome_that_a_plugin_made_up_is_no_case(self, project: Project) -> None:
        project.write(
            "conftest.py",
            """
            import pytest
            @pytest.hookimpl(hookwrapper=True)
            def pytest_runtest_makereport(item, call):
                outcome = yield
                if call.when == "call":
                    outcome.get_result().outcome = "rerun"
            """,
        )
        project.write("test_it.py", "def test_it(): pass\n")
        verdict = project.check(PYTEST)
        assert verdict.passed
        assert verdict.cases == {}

    def test_an_old_report_is_not_read_again(self, project: Project) -> None:
        project.write("test_it.py", "def test_it(): pass\n")
        assert project.check(PYTEST).passed
        project.write("test_it.py", "import os; os._exit(0)\n")
        assert not project.check(PYTEST).passed


class TestPlace:
    def test_an_assertion_is_where_it_is_written(self, project: Project) -> None:
        project.write("test_it.py", "def test_it():\n    value = 2\n    assert value == 3\n")
        finding = only(project.check(PYTEST))
        assert finding.category == "AssertionError"
        assert finding.message == "assert 2 == 3"
        assert (finding.location.file, finding.location.line) == ("test_it.py", 3)
        assert finding.location.symbol == "test_it.py::test_it"
        assert ">       assert value == 3" in (finding.sample or "")
        assert finding.data["when"] == "call"

    def test_an_exception_is_in_the_innermost_line_of_the_project(self, project: Project) -> None:
        project.write(
            "app/prices.py",
            """
            import json

            def read(text):
                return json.loads(text)["price"]
            """,
        )
        project.write("app/__init__.py", "")
        project.write(
            "test_it.py",
            """
            from app import prices

            def test_it():
                assert prices.read("no json") == 1
            """,
        )
        finding = only(project.check(PYTEST))
        assert finding.category == "JSONDecodeError"
        assert (finding.location.file, finding.location.line) == ("app/prices.py", 4)
        assert finding.data["frames"] == [
            {"file": "test_it.py", "line": 4, "function": "test_it"},
            {"file": "app/prices.py", "line": 4, "function": "read"},
        ]

    def test_code_without_a_file_is_no_place(self, project: Project) -> None:
        project.write("test_it.py", 'def test_it():\n    exec("1 / 0")\n')
        finding = only(project.check(PYTEST))
        assert finding.category == "ZeroDivisionError"
        assert (finding.location.file, finding.location.line) == ("test_it.py", 2)

    def test_installed_code_is_no_place_although_it_lies_in_the_project(
        self, project: Project
    ) -> None:
        installed = ".venv/lib/site-packages"
        project.write(f"{installed}/library.py", "def divide(n):\n    return n / 0\n")
        project.write("test_it.py", "import library\ndef test_it():\n    library.divide(1)\n")
        project.environment["PYTHONPATH"] = str(project.directory / installed)
        finding = only(project.check(PYTEST))
        assert (finding.location.file, finding.location.line) == ("test_it.py", 3)

    def test_a_fixture_that_fails(self, project: Project) -> None:
        project.write(
            "conftest.py",
            """
            import pytest
            @pytest.fixture
            def broken():
                raise KeyError("name")
            """,
        )
        project.write("test_it.py", "def test_it(broken): pass\n")
        finding = only(project.check(PYTEST))
        assert finding.category == "KeyError"
        assert (finding.location.file, finding.location.line) == ("conftest.py", 4)
        assert finding.location.symbol == "test_it.py::test_it"
        assert finding.data["when"] == "setup"

    def test_a_fixture_that_does_not_exist(self, project: Project) -> None:
        project.write("test_it.py", "def test_it(no_such_fixture): pass\n")
        finding = only(project.check(PYTEST))
        assert finding.fault is Fault.CANDIDATE
        assert finding.location.file == "test_it.py"
        assert "fixture 'no_such_fixture' not found" in (finding.sample or "")

    @pytest.mark.parametrize("file", ["test_it.py", "app.py"])
    def test_a_syntax_error_is_in_its_own_line(self, project: Project, file: str) -> None:
        project.write("test_it.py", "import app\ndef test_it(): pass\n")
        project.write(file, "a = 1\nb = = 2\n")
        finding = only(project.check(PYTEST))
        assert finding.category == "SyntaxError"
        assert finding.fault is Fault.CANDIDATE
        assert (finding.location.file, finding.location.line) == (file, 2)
        assert finding.location.symbol == "test_it.py"
        assert finding.data["when"] == "collect"

    def test_an_error_while_a_test_module_is_imported(self, project: Project) -> None:
        project.write("app.py", "def f():\n    raise ValueError('late') from KeyError('early')\n")
        project.write("test_it.py", "import app\napp.f()\n")
        finding = only(project.check(PYTEST))
        assert finding.category == "ValueError"
        assert (finding.location.file, finding.location.line) == ("app.py", 2)

    def test_a_conftest_that_cannot_be_imported(self, project: Project) -> None:
        project.write("conftest.py", "import os\nos.no_such_function()\n")
        project.write("test_it.py", "def test_it(): pass\n")
        verdict = project.check(PYTEST)
        assert verdict.exit_code == 4
        finding = only(verdict)
        assert finding.category == "AttributeError"
        assert finding.fault is Fault.CANDIDATE
        assert (finding.location.file, finding.location.line) == ("conftest.py", 2)

    def test_a_conftest_with_a_syntax_error(self, project: Project) -> None:
        project.write("tests/conftest.py", "def f(:\n")
        project.write("tests/test_it.py", "def test_it(): pass\n")
        finding = only(project.check(f"{PYTEST} tests"))
        assert finding.category == "SyntaxError"
        assert (finding.location.file, finding.location.line) == ("tests/conftest.py", 1)

    def test_files_are_named_from_the_root_of_the_sandbox(self, tmp_path: Path) -> None:
        project = Project(tmp_path / "repository", inside="services/app")
        project.write("pytest.ini", "[pytest]\n")
        project.write("test_it.py", "import pytest\ndef test_it():\n    assert 0\n")
        assert only(project.check(PYTEST)).location.file == "services/app/test_it.py"

    def test_and_so_are_those_of_tests_without_a_line(self, tmp_path: Path) -> None:
        project = Project(tmp_path / "repository", inside="services")
        project.write("app/pytest.ini", "[pytest]\n")
        project.write(
            "app/test_it.py",
            "import pytest\n@pytest.mark.xfail(strict=True)\ndef test_it(): pass\n",
        )
        finding = only(project.check(f"cd app && {PYTEST}"))
        assert finding.location.symbol == "test_it.py::test_it"
        assert finding.location.file == "services/app/test_it.py"

    def test_a_doctest_is_in_its_module(self, project: Project) -> None:
        project.write("app.py", 'def f():\n    """\n    >>> 1 + 1\n    3\n    """\n')
        finding = only(project.check(f"{PYTEST} --doctest-modules"))
        assert finding.location.file == "app.py"
        assert finding.location.symbol == "app.py::app.f"
        assert "Expected:" in (finding.sample or "")

    @pytest.mark.skipif(not hasattr(pytest, "Subtests"), reason="pytest 9 brought subtests")
    def test_each_subtest_that_fails_is_a_finding(self, project: Project) -> None:
        project.write(
            "test_it.py",
            """
            def test_it(subtests):
                for n in range(3):
                    with subtests.test(n=n):
                        assert n == 0, f"n is {n}"
            """,
        )
        verdict = project.check(PYTEST)
        assert verdict.cases == {"test_it.py::test_it": "failed"}
        messages = {f.message.splitlines()[0] for f in verdict.findings}
        assert {"n is 1", "n is 2"} <= messages


class TestFault:
    def test_nothing_to_run(self, project: Project) -> None:
        finding = only(project.check(PYTEST))
        assert (finding.category, finding.fault) == ("nothing_collected", Fault.CHECK)

    def test_nothing_left_to_run(self, project: Project) -> None:
        project.write("test_it.py", "def test_it(): pass\n")
        finding = only(project.check(f"{PYTEST} -k nothing"))
        assert (finding.category, finding.fault) == ("nothing_collected", Fault.CHECK)

    @pytest.mark.parametrize(
        "arguments",
        [
            "--no-such-option",
            "no_such_file.py",
            "-p xdist -n none-such",
            "--confcutdir=no-such-directory",
        ],
    )
    def test_a_command_line_that_pytest_does_not_understand(
        self, project: Project, arguments: str
    ) -> None:
        project.write("test_it.py", "def test_it(): pass\n")
        finding = only(project.check(f"{PYTEST} {arguments}"))
        assert (finding.category, finding.fault) == ("usage", Fault.CHECK)
        assert finding.sample

    def test_a_plugin_that_breaks_pytest(self, project: Project) -> None:
        project.write("conftest.py", "def pytest_collection_modifyitems(): 1 / 0\n")
        project.write("test_it.py", "def test_it(): pass\n")
        finding = only(project.check(PYTEST))
        assert (finding.category, finding.fault) == ("internal_error", Fault.CHECK)

    def test_a_configuration_that_cannot_be_read(self, project: Project) -> None:
        project.write("pytest.ini", "[pytest\n")
        project.write("test_it.py", "def test_it(): pass\n")
        assert only(project.check(PYTEST)).fault is Fault.CHECK

    def test_pytest_is_not_installed(self, project: Project) -> None:
        bare = project.scratch / "bare"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
        project.write("test_it.py", "def test_it(): pass\n")
        finding = only(project.check(f"{bare}/bin/python -m pytest"))
        assert (finding.category, finding.fault) == ("not_runnable", Fault.CHECK)
        assert "No module named pytest" in (finding.sample or "")

    @pytest.mark.parametrize(
        ("file", "text"),
        [
            ("pyproject.toml", '[project]\ndependencies = ["No_Such-Module>=2; python_version>"]'),
            ("pyproject.toml", '[project.optional-dependencies]\ntest = ["no-such-module[x]"]'),
            ("pyproject.toml", '[dependency-groups]\ndev = ["no.such.module"]'),
            ("pyproject.toml", '[tool.poetry.dependencies]\nno-such-module = "^1"'),
            ("pyproject.toml", '[tool.poetry.group.dev.dependencies]\nno-such-module = "^1"'),
            ("requirements.txt", "# comment\n-r other.txt\nno_such_module==1.0\n"),
            ("requirements-dev.txt", "  no-such-module\n"),
        ],
    )
    def test_a_declared_package_that_is_missing_is_the_environments(
        self, project: Project, file: str, text: str
    ) -> None:
        project.write("test_it.py", "import no_such_module.part\n")
        project.write(file, text)
        finding = only(project.check(PYTEST))
        assert finding.category == "ModuleNotFoundError"
        assert finding.fault is Fault.ENVIRONMENT
        assert not finding.transient

    def test_a_list_of_packages_that_cannot_be_read_declares_none(self, project: Project) -> None:
        project.write("test_it.py", "import no_such_module\n")
        (project.directory / "requirements.txt").mkdir()
        assert only(project.check(PYTEST)).fault is Fault.CANDIDATE

    @pytest.mark.parametrize("text", ["", "project = 1\ntool = 2", "[project\n", "tool.poetry = 1"])
    def test_an_undeclared_one_is_the_candidates(self, project: Project, text: str) -> None:
        project.write("test_it.py", "def test_it():\n    import no_such_module\n")
        # Not the root of the tests for pytest, which reads its own configuration from there.
        project.write("tests/pytest.ini", "[pytest]\n")
        shutil.move(project.directory / "test_it.py", project.directory / "tests")
        project.write("pyproject.toml", text)
        finding = only(project.check(f"{PYTEST} -c tests/pytest.ini tests"))
        assert finding.category == "ModuleNotFoundError"
        assert finding.fault is Fault.CANDIDATE

    def test_a_refused_connection_is_the_environments_and_passes(self, project: Project) -> None:
        project.write(
            "test_it.py",
            """
            import socket
            def test_it():
                closed = socket.socket()
                closed.bind(("127.0.0.1", 0))
                socket.create_connection(closed.getsockname())
            """,
        )
        finding = only(project.check(PYTEST))
        assert finding.category == "ConnectionRefusedError"
        assert finding.fault is Fault.ENVIRONMENT
        assert finding.transient

    def test_a_full_disk_is_the_environments(self, project: Project) -> None:
        code = "def test_it():\n    with open('/dev/full', 'w') as f: f.write('x')\n"
        project.write("test_it.py", code)
        finding = only(project.check(PYTEST))
        assert (finding.category, finding.fault) == ("OSError", Fault.ENVIRONMENT)

    @pytest.mark.parametrize(
        ("status", "fault"),
        [
            (401, Fault.CREDENTIALS),
            (403, Fault.CREDENTIALS),
            (404, Fault.CANDIDATE),
            (429, Fault.ENVIRONMENT),
            (500, Fault.ENVIRONMENT),
            (503, Fault.ENVIRONMENT),
        ],
    )
    def test_a_response_tells_by_its_status_code(
        self, project: Project, status: int, fault: Fault
    ) -> None:
        project.write(
            "test_it.py",
            f"""
            class Response:
                status_code = {status}

            class HTTPStatusError(Exception):
                response = Response()

            def test_it():
                raise HTTPStatusError("the words 200 and 401 and timeout mean nothing")
            """,
        )
        finding = only(project.check(PYTEST))
        assert finding.fault is fault
        assert finding.transient is (fault is Fault.ENVIRONMENT)

    @pytest.mark.parametrize(
        ("status", "fault"), [(401, Fault.CREDENTIALS), (503, Fault.ENVIRONMENT)]
    )
    def test_and_so_does_an_answer_over_http(
        self, project: Project, status: int, fault: Fault
    ) -> None:
        project.write(
            "test_it.py",
            f"""
            import http.server, threading, urllib.request

            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self): self.send_error({status})

            def test_it():
                with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
                    threading.Thread(target=server.handle_request).start()
                    urllib.request.urlopen(f"http://127.0.0.1:{{server.server_port}}/")
            """,
        )
        finding = only(project.check(PYTEST))
        assert (finding.category, finding.fault) == ("HTTPError", fault)

    def test_a_status_that_the_program_itself_answers_with_is_its_own(
        self, project: Project
    ) -> None:
        project.write(
            "test_it.py",
            """
            class HTTPException(Exception):
                status_code, headers = 401, None

            def test_it(): raise HTTPException
            """,
        )
        assert only(project.check(PYTEST)).fault is Fault.CANDIDATE

    def test_words_in_a_message_mean_nothing(self, project: Project) -> None:
        code = "def test_it():\n    raise ValueError('401 timeout: connection refused')\n"
        project.write("test_it.py", code)
        finding = only(project.check(PYTEST))
        assert finding.fault is Fault.CANDIDATE
        assert not finding.transient


class TestEscape:
    """No way out of pytest is a way to pass."""

    @pytest.mark.parametrize("code", [0, 1, 4, 5])
    def test_a_test_that_ends_the_process(self, project: Project, code: int) -> None:
        project.write("test_it.py", f"import os\ndef test_it():\n    os._exit({code})\n")
        finding = only(project.check(PYTEST))
        assert finding.category == "died"
        assert finding.fault is Fault.CANDIDATE
        assert finding.message == f"the process ended with code {code} before the tests finished"
        assert finding.location.symbol == "test_it.py::test_it"
        assert finding.location.file == "test_it.py"

    @pytest.mark.parametrize("code", [0, 1])
    def test_a_module_that_ends_the_process(self, project: Project, code: int) -> None:
        project.write("test_it.py", f"import os\nos._exit({code})\n")
        finding = only(project.check(PYTEST))
        assert (finding.category, finding.fault) == ("died", Fault.CANDIDATE)

    def test_a_conftest_that_ends_the_process(self, project: Project) -> None:
        project.write("conftest.py", "import os\nos._exit(0)\n")
        project.write("test_it.py", "def test_it(): pass\n")
        finding = only(project.check(PYTEST))
        assert (finding.category, finding.fault) == ("died", Fault.CANDIDATE)

    @pytest.mark.parametrize("options", ["", "-p xdist -n 2"])
    @pytest.mark.parametrize("code", [0, 1])
    def test_a_module_that_exits(self, project: Project, code: int, options: str) -> None:
        project.write("app.py", f"import sys\nsys.exit({code})\n")
        project.write("test_it.py", "import app\ndef test_it(): pass\n")
        finding = only(project.check(f"{PYTEST} {options}"))
        assert (finding.category, finding.fault) == ("SystemExit", Fault.CANDIDATE)
        assert (finding.location.file, finding.location.line) == ("app.py", 2)

    def test_a_conftest_that_exits(self, project: Project) -> None:
        project.write("conftest.py", "import sys\nsys.exit(0)\n")
        project.write("test_it.py", "def test_it(): pass\n")
        finding = only(project.check(PYTEST))
        assert (finding.category, finding.fault) == ("SystemExit", Fault.CANDIDATE)

    def test_a_test_that_exits(self, project: Project) -> None:
        project.write("test_it.py", "def test_it():\n    raise SystemExit(0)\n")
        finding = only(project.check(PYTEST))
        assert (finding.category, finding.fault) == ("SystemExit", Fault.CANDIDATE)

    @pytest.mark.parametrize(
        "statement", ["pytest.exit('enough', returncode=0)", "raise KeyboardInterrupt"]
    )
    def test_a_test_that_stops_the_session(self, project: Project, statement: str) -> None:
        project.write(
            "test_it.py",
            f"import pytest\ndef test_a():\n    {statement}\ndef test_b(): assert False\n",
        )
        finding = only(project.check(PYTEST))
        assert (finding.category, finding.fault) == ("interrupted", Fault.CANDIDATE)

    def test_a_test_that_is_killed(self, project: Project) -> None:
        code = "import os, signal\ndef test_it():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        project.write("test_it.py", code)
        finding = only(project.check(PYTEST))
        assert (finding.category, finding.fault) == ("signal", Fault.CANDIDATE)
        assert finding.message == "was killed by SIGKILL"
        assert finding.location.symbol == "test_it.py::test_it"

    def test_a_test_that_hangs_is_named(self, project: Project) -> None:
        project.write("test_it.py", f"{HANG}\ndef test_a(): pass\ndef test_b(): hang()\n")
        verdict = check_until_it_hangs(project, PYTEST)
        finding = only(verdict)
        assert (finding.category, finding.fault) == ("timeout", Fault.CANDIDATE)
        assert finding.location.symbol == "test_it.py::test_b"
        assert verdict.exit_code is None
        assert verdict.cases == {"test_it.py::test_a": "passed"}

    def test_a_test_that_hangs_after_its_end_is_named(self, project: Project) -> None:
        project.write(
            "test_it.py",
            """
            import os, pytest
            @pytest.fixture
            def dies():
                yield
                os._exit(0)
            def test_it(dies): pass
            """,
        )
        finding = only(project.check(PYTEST))
        assert finding.category == "died"
        assert finding.location.symbol == "test_it.py::test_it"

    def test_a_run_after_one_that_died_does_not_hide_it(self, project: Project) -> None:
        project.write("test_it.py", "import os\ndef test_it(): os._exit(0)\n")
        project.write("test_other.py", "def test_it(): pass\n")
        finding = only(project.check(f"{PYTEST} test_it.py; {PYTEST} test_other.py"))
        assert finding.category == "died"
        assert finding.location.symbol == "test_it.py::test_it"

    def test_a_session_within_the_session_is_not_the_session(self, project: Project) -> None:
        project.write("inner/test_inner.py", "def test_inner(): assert False\n")
        project.write(
            "test_it.py",
            "import pytest\ndef test_it():\n    assert pytest.main(['-q', 'inner']) == 1\n",
        )
        verdict = project.check(f"{PYTEST} test_it.py")
        assert verdict.passed
        assert verdict.cases == {"test_it.py::test_it": "passed"}

    def test_the_candidate_is_not_told_where_the_report_is(self, project: Project) -> None:
        project.write(
            "test_it.py", "import os\ndef test_it(): assert 'RUNTRUE_REPORT' not in os.environ\n"
        )
        assert project.check(PYTEST).passed


class TestOutput:
    def test_a_huge_message_is_trimmed_head_and_tail(self, project: Project) -> None:
        code = "def test_it():\n    raise ValueError('head' + 'x' * 5_000_000 + 'tail')\n"
        project.write("test_it.py", code)
        verdict = project.check(PYTEST)
        finding = only(verdict)
        assert finding.message.startswith("headx")
        assert finding.message.endswith("xtail")
        assert "characters left out" in finding.message
        for text in (finding.message, finding.sample or "", verdict.output):
            assert len(text) < 5_000

    def test_the_end_of_a_huge_assertion_is_kept(self, project: Project) -> None:
        project.write(
            "test_it.py", "def test_it():\n    assert list(range(100_000)) == ['the last word']\n"
        )
        finding = only(project.check(f"{PYTEST} -vv"))
        assert "test_it.py:2: AssertionError" in (finding.sample or "")

    def test_an_exception_that_cannot_be_printed(self, project: Project) -> None:
        project.write(
            "test_it.py",
            """
            class Mute(Exception):
                def __str__(self): raise RuntimeError
                __repr__ = __str__
            def test_it(): raise Mute
            """,
        )
        finding = only(project.check(PYTEST))
        assert finding.category == "Mute"
        assert finding.message == "<Mute whose message cannot be read>"

    def test_text_that_is_none(self, project: Project) -> None:
        code = r"""
            import os, sys
            def test_it():
                sys.stdout.buffer.write(b"\xff\xfe")
                os.write(1, b"\xff")
                raise ValueError(os.fsdecode(b"\xff") + "\u2028\x85\x0b\x00")
        """
        project.write("test_it.py", code)
        finding = only(project.check(f"{PYTEST} -s"))
        assert finding.category == "ValueError"
        assert finding.message.startswith("?\u2028")
        assert finding.message.encode()

    def test_a_line_that_was_cut_off_is_passed_over(self, project: Project) -> None:
        project.write(
            "test_it.py",
            """
            import os, pathlib
            def test_a(): assert False
            def test_b():
                opened = [os.path.realpath(f) for f in pathlib.Path("/proc/self/fd").iterdir()]
                with open(next(f for f in opened if f.endswith(".jsonl")), "a") as report:
                    report.write('0 00 {"event": "case", "id": "te')
                os._exit(1)
            """,
        )
        verdict = project.check(PYTEST)
        assert [f.category for f in verdict.findings] == ["AssertionError", "died"]
        assert verdict.findings[1].location.symbol == "test_it.py::test_b"

    def test_a_test_that_closes_every_file_gets_none_of_the_report(self, project: Project) -> None:
        project.write(
            "test_it.py",
            """
            import os
            def test_a():
                os.closerange(3, 256)
                # The numbers that were closed are given away again.
                for number in range(20):
                    os.open(f"own{number}", os.O_WRONLY | os.O_CREAT)
            def test_b(): assert not any(os.path.getsize(f"own{number}") for number in range(20))
            """,
        )
        assert set(project.check(f"{PYTEST} -s").cases.values()) == {"passed"}

    def test_what_was_printed_is_in_the_verdict(self, project: Project) -> None:
        project.write("test_it.py", "def test_it(): assert 1 == 2\n")
        assert "1 failed" in project.check(PYTEST).output


class TestWaysToCall:
    @pytest.fixture(autouse=True)
    def _tests(self, project: Project) -> None:
        project.write("sub/test_it.py", "def test_a(): pass\ndef test_b():\n    assert 1 == 2\n")

    @pytest.mark.parametrize(
        "command",
        [
            "pytest",
            "py.test -q sub",
            "python -m pytest --tb=no -p no:cacheprovider",
            "python -W ignore -m pytest",
            "env X=1 python -m pytest",
            "cd sub && python -m pytest --rootdir=..",
            "python -m pytest | cat",
            "python -m pytest || true",
            "X=1 python -m pytest",
        ],
    )
    def test_any_of_them_is_read(self, project: Project, command: str) -> None:
        verdict = project.check(command)
        assert verdict.cases == {
            "sub/test_it.py::test_a": "passed",
            "sub/test_it.py::test_b": "failed",
        }
        finding = only(verdict)
        assert finding.category == "AssertionError"
        assert (finding.location.file, finding.location.line) == ("sub/test_it.py", 3)

    def test_options_that_the_user_lets_through_are_kept(self, project: Project) -> None:
        project.environment["PYTEST_ADDOPTS"] = "-k test_a"
        assert project.check(PYTEST).cases == {"sub/test_it.py::test_a": "passed"}

    def test_another_part_of_a_line_for_the_shell_fails(self, project: Project) -> None:
        finding = only(project.check(f"{PYTEST} -k test_a && exit 5"))
        assert (finding.category, finding.fault) == ("exit_code", Fault.CANDIDATE)

    def test_a_line_for_the_shell_that_never_gets_to_pytest(self, project: Project) -> None:
        finding = only(project.check(f"exit 3; {PYTEST}"))
        assert (finding.category, finding.message) == ("exit_code", "exited with code 3")
        assert project.check(f"true || {PYTEST}").passed

    def test_a_line_for_the_shell_whose_pytest_cannot_be_found(self, project: Project) -> None:
        finding = only(project.check("cd sub && no-such-python -m pytest"))
        assert (finding.category, finding.fault) == ("not_runnable", Fault.CHECK)


class TestDistributed:
    """pytest-xdist runs tests in other processes, with the same findings."""

    def test_findings_are_the_same(self, project: Project) -> None:
        project.write("app.py", "def half(n):\n    return {2: 1}[n]\n")
        project.write(
            "test_it.py",
            """
            import app, pytest
            @pytest.mark.parametrize("n", [1, 2, 3, 4])
            def test_half(n): assert app.half(n) == n / 2
            def test_assertion(): assert "a" == "b"
            def test_without(no_such_fixture): pass
            """,
        )
        project.write("test_broken.py", "import app\napp.no_such_function()\n")
        here = project.check(f"{PYTEST} --continue-on-collection-errors")
        there = project.check(f"{PYTEST} --continue-on-collection-errors -p xdist -n 2")
        assert len(here.findings) == 6
        assert here.cases == there.cases

        def facts(verdict: Verdict) -> list[str]:
            return sorted(f"{f.location!r} {f.category} {f.fingerprint}" for f in verdict.findings)

        assert facts(here) == facts(there)

    def test_a_worker_that_dies_names_its_test(self, project: Project) -> None:
        project.write("test_it.py", "import os\ndef test_a(): os._exit(0)\ndef test_b(): pass\n")
        verdict = project.check(f"{PYTEST} -p xdist -n 2")
        finding = only(verdict)
        assert finding.location.symbol == "test_it.py::test_a"
        assert finding.location.file == "test_it.py"
        assert finding.fault is Fault.CANDIDATE

    def test_a_test_that_hangs_is_named(self, project: Project) -> None:
        project.write(
            "test_it.py",
            f"{HANG}\ndef test_hangs(): hang()\ndef test_a(): pass\ndef test_b(): pass\n",
        )
        finding = only(check_until_it_hangs(project, f"{PYTEST} -p xdist -n 2"))
        assert finding.category == "timeout"
        assert finding.location.symbol == "test_it.py::test_hangs"


class TestFingerprint:
    def project(self, directory: Path, above: str = "") -> list[str]:
        project = Project(directory)
        project.write(
            "app.py", f"{above}class App: pass\ndef go(path):\n    raise OSError(2, path)\n"
        )
        project.write(
            "test_it.py",
            f"""{above}
import app, os, time

def test_path():
    app.go(os.getcwd() + "/data.txt")

def test_address():
    assert app.App() is None

def test_time():
    raise ValueError(f"took {{time.perf_counter()}} s in pid {{os.getpid()}}")
""",
        )
        verdict = project.check(PYTEST)
        assert len(verdict.findings) == 3
        return [finding.fingerprint for finding in verdict.findings]

    def test_it_is_the_same_in_another_place_and_after_lines_were_added(
        self, tmp_path: Path
    ) -> None:
        here = self.project(tmp_path / "here")
        there = self.project(tmp_path / "quite" / "another" / "place", above="# a line\n" * 100)
        assert here == there
        assert len(set(here)) == 3


class TestTestsWithoutAnEnd:
    PROGRAM = """
        def test_passes(): pass

        def test_goes_on():
            while True:
                try:
                    count = 1 + 1
                except Exception:
                    pass

        def test_comes_after(): pass
    """

    def test_one_is_ended_where_it_is_and_the_others_are_run(self, project: Project) -> None:
        project.write("test_it.py", self.PROGRAM)
        verdict = project.check(PYTEST, test_seconds=0.5)
        assert verdict.cases == {
            "test_it.py::test_passes": Outcome.PASSED,
            "test_it.py::test_goes_on": Outcome.FAILED,
            "test_it.py::test_comes_after": Outcome.PASSED,
        }
        finding = only(verdict)
        assert finding.category == "timeout"
        assert finding.fault is Fault.CANDIDATE
        assert "did not finish within 0.5 s of processor time" in finding.message
        assert "`test_seconds`" in finding.message
        assert finding.location.file == "test_it.py"

    def test_waiting_is_no_processor_time(self, project: Project) -> None:
        project.write("test_it.py", "import time\ndef test_waits(): time.sleep(0.6)\n")
        assert project.check(PYTEST, test_seconds=0.2).passed

"""`runtrue fix` proves what it is about: what was there before is known and never blocks."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path
from typing import Any

from tests.cli.conftest import MENDS_TAX, Machine, MakeProject, content, write

#: A failing test, and old findings of ruff in the program and in a test.
OLD_FINDINGS = {
    "ruff.toml": 'lint.select = ["F"]\n',
    "tax.py": "import os\nimport sys\n\n\ndef with_tax(net):\n    return net * 1.9\n",
    "old.py": "".join(f"import module{number}\n" for number in range(30)),
    "tests/test_tax.py": """
        import re

        from tax import with_tax


        def test_with_tax():
            assert with_tax(100) == 119


        def test_nothing_costs_nothing():
            assert with_tax(0) == 0
    """,
}


def _agent(directory: Path, *lines: str) -> str:
    """The command of an agent that runs some lines of shell."""
    (directory / "agent.sh").write_text("\n".join(lines))
    return f"sh {directory / 'agent.sh'}"


def _verdict(attempt: dict[str, Any], check: str) -> dict[str, Any]:
    found: dict[str, Any] = next(v for v in attempt["verdicts"] if v["check"] == check)
    return found


def test_old_lint_findings_are_known_and_only_the_needed_line_is_changed(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(OLD_FINDINGS)
    done = machine.runtrue("fix", "--apply", "--json", "--agent", MENDS_TAX, cwd=project)
    assert done.code == 0, done.said
    first, last = done.json["attempts"]
    assert [finding["source"] for finding in first["findings"]] == ["pytest"]
    for attempt in (first, last):
        ruff = _verdict(attempt, "ruff")
        assert (ruff["passed"], ruff["findings"], len(ruff["known"])) == (True, [], 33)
    changed = [line for line in done.json["diff"].splitlines() if line[:1] in "+-"]
    assert changed[2:] == ["-    return net * 1.9", "+    return net * 1.19"]
    assert [part["fixer"] for part in last["fix"]["parts"]] == ["agent"]


def test_with_nothing_but_old_findings_it_is_said_how_to_have_them_fixed(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project({"ruff.toml": "", "app.py": "import os\n"})
    before = content(project)
    done = machine.runtrue("fix", "--apply", cwd=project)
    assert done.code == 0, done.said
    assert "ruff passes, 1 known before" in done.out
    assert "to fix them: runtrue fix --check ruff" in done.out
    assert "no change was needed" in done.out
    assert content(project) == before
    assert machine.runtrue("fix", "--apply", "--check", "ruff", cwd=project).code == 0
    assert (project / "app.py").read_text() == ""


def test_a_fix_that_adds_a_lint_finding_is_refused(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(OLD_FINDINGS)
    before = content(project)
    agent = _agent(tmp_path, MENDS_TAX, "echo 'if 0: undefined' >> tax.py")
    done = machine.runtrue("fix", "--apply", "--json", "--agent", agent, cwd=project)
    assert done.code == 1
    assert [(f["source"], f["category"]) for f in done.json["findings"]] == [("ruff", "F821")]
    assert len(_verdict(done.json["attempts"][1], "ruff")["known"]) == 33
    assert content(project) == before


def test_a_finding_that_the_fix_adds_is_fixed_by_the_tool_and_the_old_ones_stay(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(OLD_FINDINGS)
    agent = _agent(tmp_path, MENDS_TAX, "sed -i '1i import json' tax.py")
    done = machine.runtrue("fix", "--apply", "--json", "--agent", agent, cwd=project)
    assert done.code == 0, done.said
    assert [a["fix"] and a["fix"]["parts"][0]["fixer"] for a in done.json["attempts"]] == [
        *(None, "agent", "tool"),
    ]
    text = (project / "tax.py").read_text()
    assert text == OLD_FINDINGS["tax.py"].replace("1.9", "1.19")


def test_a_named_check_is_fixed_by_what_is_unsafe_too_proven_by_the_tests(
    machine: Machine, make_project: MakeProject
) -> None:
    unused = "import os\n\n\ndef two():\n    unused = 1\n    return 2\n"
    test = "from app import two\n\n\ndef test_two():\n    assert two() == 2\n"
    project = make_project(
        {"ruff.toml": 'lint.select = ["F"]\n', "app.py": unused, "test_app.py": test}
    )
    done = machine.runtrue("fix", "--apply", "--json", "--check", "ruff", cwd=project)
    assert done.code == 0, done.said
    assert [p["description"] for a in done.json["attempts"][1:] for p in a["fix"]["parts"]] == [
        "ruff check . --fix",
        "ruff check . --unsafe-fixes --fix",
    ]
    assert _verdict(done.json["attempts"][-1], "pytest")["passed"]
    assert "unused" not in (project / "app.py").read_text()


def test_a_tool_fix_that_breaks_a_test_is_undone_and_the_other_fixers_go_on(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    config = """
        [checks.tests]
        command = "python -m pytest -q"
        [checks.ruff]
        command = "ruff check ."
        known = "fix"
        [fixers]
        order = ["tool", "agent"]
    """
    project = make_project(
        {
            "ruff.toml": 'lint.select = ["F"]\n',
            "runtrue.toml": config,
            "tax.py": "import os\n\n\ndef with_tax(net):\n    return net * 1.9\n",
            "shipping.py": "import tax\n\n\ndef directory():\n    return tax.os.curdir\n",
            "test_tax.py": """
                import shipping
                from tax import with_tax


                def test_with_tax():
                    assert with_tax(100) == 119


                def test_shipping():
                    assert shipping.directory() == "."
            """,
        }
    )
    needed = "grep -q '^import os$' tax.py && sed -i '1s/$/  # noqa/' tax.py"
    agent = _agent(tmp_path, MENDS_TAX, f"{needed}; true")
    done = machine.runtrue("fix", "--apply", "--json", "--agent", agent, cwd=project)
    assert done.code == 0, done.said
    fixes = [attempt["fix"]["parts"] for attempt in done.json["attempts"][1:]]
    fixers = [[part["fixer"] for part in parts if part["files"]] for parts in fixes]
    assert fixers == [["tool", "agent"], ["agent"]]
    assert done.json["attempts"][1]["regressions"] != []
    assert "import os  # noqa" in (project / "tax.py").read_text()


def test_tests_are_not_touched_by_a_tool_that_nobody_asked_for(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    """Neither is anything else that has no finding which the fix adds."""
    config = """
        [checks.tests]
        command = "python -m pytest -q"
        [checks.format]
        command = "ruff format --check ."
    """
    files = {k: v for k, v in OLD_FINDINGS.items() if not k.endswith(("old.py", "ruff.toml"))}
    project = make_project({**files, "runtrue.toml": config})
    test = project / "tests" / "test_tax.py"
    agent = _agent(tmp_path, MENDS_TAX, "sed -i 's/net [*] 1/net*1/' tax.py")
    done = machine.runtrue("fix", "--apply", "--json", "--agent", agent, cwd=project)
    assert done.code == 0, done.said
    assert "net * 1.19" in (project / "tax.py").read_text()
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=project, capture_output=True, text=True, check=True
    )
    assert status.stdout.split() == ["M", "tax.py"]
    assert test.read_text().startswith("import re")


def test_a_test_that_fails_for_outside_reasons_does_not_keep_a_fix_from_passing(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(
        {
            "tax.py": "def with_tax(net):\n    return net * 1.9\n",
            "test_tax.py": """
                from tax import with_tax


                def test_with_tax():
                    assert with_tax(100) == 119


                def test_service():
                    raise ConnectionRefusedError("nobody listens")
            """,
        }
    )
    done = machine.runtrue("fix", "--apply", "--json", "--agent", MENDS_TAX, cwd=project)
    assert done.code == 0, done.said
    known = _verdict(done.json["attempts"][-1], "pytest")["known"]
    assert [finding["location"]["symbol"] for finding in known] == ["test_tax.py::test_service"]
    assert "1.19" in (project / "tax.py").read_text()


def test_mypy_sees_the_packages_of_the_projects_own_environment(
    machine: Machine, make_project: MakeProject
) -> None:
    project = make_project(
        {
            "mypy.ini": "[mypy]\n",
            ".gitignore": ".venv\n",
            "app.py": "import installed\n\nCOUNT: int = installed.count()\n",
        }
    )
    venv.create(project / ".venv", with_pip=False)
    [packages] = project.glob(".venv/lib/python*/site-packages")
    write(
        packages / "installed",
        {"py.typed": "", "__init__.py": "def count() -> int:\n    return 1\n"},
    )
    done = machine.runtrue("fix", "--json", "--check", "mypy", cwd=project)
    assert done.json["attempts"][0]["findings"] == []
    assert done.code == 0


def test_a_slow_suite_is_run_once_before_and_once_at_the_end(
    machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(
        {
            "tax.py": "def with_tax(net):\n    return net * 1.9\n",
            "test_tax.py": f"""
                import time

                from tax import with_tax


                def test_with_tax():
                    assert with_tax(100) == 119


                def test_that_takes_long():
                    with open({str(tmp_path / "runs")!r}, "a") as runs:
                        runs.write("x")
                    time.sleep(2)
            """,
        }
    )
    # The first change is of no use, the second one is right.
    second = f"test -e {tmp_path}/asked && {MENDS_TAX}"
    agent = _agent(tmp_path, second, f"touch {tmp_path}/asked", "echo '# tried' >> tax.py")
    done = machine.runtrue("fix", "--json", "--agent", agent, cwd=project)
    assert done.code == 0, done.said
    verdicts = [_verdict(attempt, "pytest") for attempt in done.json["attempts"]]
    assert [(v["passed"], v["partial"]) for v in verdicts] == [
        (False, False),
        (False, True),
        (True, False),
    ]
    assert verdicts[-1]["cases"] == {"passed": 2}
    assert (tmp_path / "runs").read_text() == "xx"
    assert "only the failing tests were run" in done.err

"""Secrets stay where they are: whatever a candidate, a node or a server prints, nothing keeps it.

Each test plants values where a user has them, has something print them in every spelling that
programs use, and then looks for them in all that is left: what was said, and every file.
"""

from __future__ import annotations

import base64
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.cli.conftest import Done, Machine, MakeProject, make_project, write
from tests.workflow.nodes.scripted_server import Received, ScriptedServer, response

__all__ = ["make_project"]

#: Lengths that leave base64 a rest of each size, and signs that encodings change.
VALUES = {
    "SERVICE_TOKEN": "tok-En/with=odd&signs+77",
    "DATABASE_PASSWORD": "pa ss%wörd-0815",
    "OTHER_SECRET": "plainSecretOfMine4711x",
}


def spellings(value: str) -> Iterator[str]:
    data = value.encode()
    yield from (value, json.dumps(value)[1:-1], quote(value, safe=""), data.hex())
    yield data.hex().upper()
    for signs in (b"+/", b"-_"):
        for before in range(3):
            encoded = base64.b64encode(bytes(before) + data, signs).decode()
            yield encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]


NEEDLES = sorted({text.encode() for value in VALUES.values() for text in spellings(value)})

#: Prints all of them, and pieces of larger things that they are encoded in.
PRINTS = """
    import base64, json, os, sys
    from urllib.parse import quote

    def tell(where=sys.stdout):
        for name in ("SERVICE_TOKEN", "DATABASE_PASSWORD", "OTHER_SECRET"):
            value = os.environ.get(name, "")
            data = value.encode()
            for text in (value, json.dumps(value), quote(value, safe=""), data.hex(), repr(value)):
                print(name, text, file=where)
            for around in ("", "u:", "ab"):
                for encode in (base64.b64encode, base64.urlsafe_b64encode):
                    print(encode(around.encode() + data + b"\\n").decode(), file=where)
"""


class Vault(Machine):
    """A machine with secrets in its environment, which looks for them in all that is left."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, search=False)
        self.root = root
        self.env |= VALUES | {"RUNTRUE_ALLOW_LOOPBACK": "1"}

    def tell(self, *args: str | Path, cwd: Path, stdin: str = "") -> Done:
        done = self.runtrue(*args, cwd=cwd, stdin=stdin)
        assert found_in(done.said.encode()) == [], done.said
        return done

    def check(self, *places: Path) -> None:
        """That no file below the home, or these places, holds a secret."""
        files = [
            file
            for place in (self.home, *places)
            for file in place.rglob("*")
            if file.is_file() and not file.is_symlink() and file.suffix != ".pyc"
        ]
        assert self.journal in files
        leaks = {str(f.relative_to(self.root)): found_in(f.read_bytes()) for f in files}
        assert {name: leak for name, leak in leaks.items() if leak} == {}


def found_in(data: bytes) -> list[bytes]:
    return [needle for needle in NEEDLES if needle in data]


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path)


PROJECT = {
    "telling.py": PRINTS,
    "test_it.py": """
        import sys

        import pytest

        from telling import tell

        def test_prints():
            tell()
            tell(sys.stderr)
            assert 1 == 2

        def test_raises():
            import os
            told = [os.environ.get(name, "") for name in ("SERVICE_TOKEN", "OTHER_SECRET")]
            raise ValueError(" and ".join(told))
    """,
    "runtrue.toml": """
        [checks.tests]
        command = "python -m pytest -q"
        [sandbox]
        env = ["SERVICE_TOKEN", "DATABASE_PASSWORD", "OTHER_SECRET"]
    """,
}


def test_a_failing_test_that_prints_the_environment_leaves_no_secret_anywhere(
    vault: Vault, make_project: MakeProject
) -> None:
    project = make_project(PROJECT)
    done = vault.tell("fix", "--json", cwd=project)
    assert done.code == 1
    assert "[redacted: SERVICE_TOKEN]" in done.out
    vault.tell("runs", "show", cwd=project)
    vault.tell("runs", "show", "--json", cwd=project)
    vault.tell("memory", "export", cwd=project)
    vault.tell("metrics", "--json", cwd=project)
    vault.check(project)


def test_a_test_that_prints_the_env_file_of_the_project_leaves_it_nowhere_else(
    vault: Vault, make_project: MakeProject
) -> None:
    for name in VALUES:
        del vault.env[name]
    reads = """
        from pathlib import Path

        def test_reads():
            raise ValueError(Path(".env").read_text())
    """
    config = '[checks.tests]\ncommand = "python -m pytest -q"\n'
    project = make_project({"test_it.py": reads, ".gitignore": ".env\n", "runtrue.toml": config})
    (project / ".env").write_text("".join(f"{name}='{v}'\n" for name, v in VALUES.items()))
    done = vault.tell("fix", "--json", cwd=project)
    assert done.code == 1
    vault.tell("runs", "show", cwd=project)
    for file in (project / ".env", *vault.home.glob(".runtrue/sandboxes/**/.env")):
        file.unlink()
    vault.check(project)


NEAR_A_KEY = {
    "app.py": f"""
        KEY = "{VALUES["OTHER_SECRET"]}"

        def total(values):
            return max(values)
    """,
    "test_it.py": "from app import total\ndef test_it(): assert total([1, 2]) == 3\n",
}


def test_a_diff_beside_a_secret_is_kept_and_shown_without_it_and_its_patch_fits(
    vault: Vault, make_project: MakeProject
) -> None:
    project = make_project(NEAR_A_KEY)
    agent = shlex.join(["sed", "-i", "s/max/sum/", "app.py"])
    done = vault.tell("fix", "--json", "--agent", agent, cwd=project)
    assert done.code == 0
    assert "[redacted: OTHER_SECRET]" in done.json["diff"]
    vault.tell("runs", "show", cwd=project)
    subprocess.run(["git", "apply", done.json["patch"]], cwd=project, check=True)
    assert "return sum(values)" in (project / "app.py").read_text()
    assert found_in(vault.journal.read_bytes()) == []


def test_the_diffs_of_a_plan_beside_a_secret_are_kept_and_shown_without_it(
    vault: Vault, make_project: MakeProject
) -> None:
    step = {
        "id": "s1",
        "description": "add",
        "actor": "command",
        "command": "sed -i s/max/man/ app.py",
    }
    plan = {
        "instruction": "Add up",
        "strategy": {"steps": [step]},
        "validations": [{"name": "tests", "command": "python -m pytest -q"}],
        "automation_profile": "ci",
    }
    project = make_project({**NEAR_A_KEY, "plan.json": json.dumps(plan)})
    agent = shlex.join(["sed", "-i", "s/man(/sum(/", "app.py"])
    vault.tell("plan", "use", "plan.json", "--agent", agent, cwd=project)
    done = vault.tell("plan", "execute", "--json", cwd=project)
    assert done.code == 0, done.said
    fixes = done.json["plan"]["metadata"]["validation_fix_history"]
    assert "[redacted: OTHER_SECRET]" in fixes[0]["diff"]
    assert "[redacted: OTHER_SECRET]" in done.json["diff"]
    vault.tell("plan", "explain", cwd=project)
    assert found_in(vault.journal.read_bytes()) == []


def test_a_test_gets_no_secret_that_nobody_let_through(
    vault: Vault, make_project: MakeProject
) -> None:
    files = {**PROJECT, "runtrue.toml": '[checks.tests]\ncommand = "python -m pytest -q"\n'}
    project = make_project(files)
    done = vault.tell("fix", "--json", cwd=project)
    assert done.code == 1
    assert "[redacted" not in done.out
    vault.check(project)


def test_an_agent_that_prints_its_key_leaves_no_secret_anywhere(
    vault: Vault, make_project: MakeProject
) -> None:
    config = """
        [checks.tests]
        command = "python -m pytest -q"
        [fixers]
        order = ["agent"]
        [fixers.agent]
        command = "python agent.py {prompt_file}"
        env = ["SERVICE_TOKEN", "DATABASE_PASSWORD", "OTHER_SECRET"]
        [sandbox]
        env = ["SERVICE_TOKEN"]
    """
    project = make_project({**PROJECT, "agent.py": _AGENT, "runtrue.toml": config})
    done = vault.tell("fix", "--json", "--max-attempts", "2", cwd=project)
    assert done.code == 1
    assert "exited with code 3" in done.out
    vault.tell("runs", "show", cwd=project)
    vault.check(project)


_AGENT = """
    import sys
    from telling import tell

    tell()
    tell(sys.stderr)
    sys.exit(3)
"""


_WRITES = """
    import os
    with open("app.py", "w") as file:
        file.write("def total(numbers): return sum(numbers)\\n")
        file.write("TOKEN = %r\\n" % os.environ["SERVICE_TOKEN"])
"""


def test_an_agent_that_writes_its_key_into_the_code_fails_and_leaves_it_nowhere(
    vault: Vault, make_project: MakeProject
) -> None:
    config = """
        [fixers]
        order = ["agent"]
        [fixers.agent]
        command = "python agent.py"
        env = ["SERVICE_TOKEN"]
    """
    test = "from app import total\ndef test_it(): assert total([1, 2]) == 3\n"
    files = {"app.py": "def total(numbers): return 0\n", "test_app.py": test}
    project = make_project({**files, "agent.py": _WRITES, "runtrue.toml": config})
    done = vault.tell("fix", "--json", "--max-attempts", "2", cwd=project)
    assert done.code == 1
    assert "wrote the value of SERVICE_TOKEN into a file" in done.out
    vault.tell("runs", "show", "--json", cwd=project)
    vault.check(project)


def test_an_agent_that_generates_code_with_its_key_in_it_fails_and_leaves_it_nowhere(
    vault: Vault, make_project: MakeProject
) -> None:
    config = """
        [fixers.agent]
        command = "python agent.py"
        env = ["SERVICE_TOKEN"]
        [policy]
        transport_retries = 0
    """
    test = "from app import total\ndef test_it(): assert total([1, 2]) == 3\n"
    project = make_project({"test_app.py": test, "agent.py": _WRITES, "runtrue.toml": config})
    done = vault.tell("code", "totals", "--path", "app.py", "--type", "new_function", cwd=project)
    assert done.code == 1
    assert "wrote the value of SERVICE_TOKEN into a file: it is a secret" in done.err
    vault.check(project)


def test_the_steps_and_validations_of_a_plan_that_print_secrets_leave_none_anywhere(
    vault: Vault, make_project: MakeProject
) -> None:
    config = '[sandbox]\nenv = ["SERVICE_TOKEN", "DATABASE_PASSWORD", "OTHER_SECRET"]\n'
    say = "from telling import tell; tell()"
    project = make_project({"telling.py": PRINTS, "app.py": "x = 1\n", "runtrue.toml": config})
    step = {
        "id": "s1",
        "description": "say it",
        "actor": "command",
        "command": f"python -c '{say}'; echo x = 2 >> app.py",
    }
    plan = {
        "instruction": "Say what must not be said",
        "strategy": {"steps": [step]},
        "validations": [{"name": "says", "command": f"python -c '{say}; exit(4)'"}],
        "automation_profile": "ci",
    }
    (project / "plan.json").write_text(json.dumps(plan))
    vault.tell("plan", "use", "plan.json", "--json", cwd=project)
    vault.tell("plan", "execute", "--json", cwd=project)
    vault.tell("plan", "status", cwd=project)
    vault.tell("plan", "explain", cwd=project)
    vault.tell("runs", "show", "--json", cwd=project)
    vault.check(project)


def echo(request: Received) -> bytes:
    sent = request.headers.get("authorization", "")
    value = sent.removeprefix("Bearer ")
    said = [sent, base64.b64encode(value.encode()).decode(), value.encode().hex(), request.line]
    return response(json.dumps({"said": said}), "Content-Type: application/json")


def test_a_shell_node_that_prints_the_environment_leaves_no_secret_anywhere(
    vault: Vault, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    tells = shlex.join([sys.executable, str(here / "telling.py")])
    write(here, {"telling.py": f"{PRINTS}\n    tell()\n    tell(sys.stderr)\n"})
    workflow = {
        "nodes": [
            {"id": "all", "type": "shell", "params": {"command": "env"}},
            {"id": "spelled", "type": "shell", "params": {"command": f"{tells} 2>&1"}},
            {"id": "fails", "type": "shell", "params": {"command": f"{tells} >&2; exit 3"}},
        ],
        "edges": [{"from": "all", "to": "spelled"}, {"from": "spelled", "to": "fails"}],
    }
    (here / "flow.json").write_text(json.dumps(workflow))
    done = vault.tell("run", "flow.json", "--json", cwd=here)
    assert done.code == 1
    vault.tell("runs", "show", cwd=here)
    vault.tell("runs", "show", "--json", cwd=here)
    vault.check(here)


def test_a_server_that_echoes_a_kept_secret_leaves_it_nowhere_but_in_the_store(
    vault: Vault, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    value = vault.env.pop("SERVICE_TOKEN")
    vault.tell("secret", "set", "SERVICE_TOKEN", "--store", "file", cwd=here, stdin=f"{value}\n")
    with ScriptedServer(echo) as server:
        params = {"url": f"{server.url}/x", "auth_token": "${env.SERVICE_TOKEN}"}
        workflow = {"nodes": [{"id": "ask", "type": "http", "params": params}]}
        (here / "flow.json").write_text(json.dumps(workflow))
        done = vault.tell("run", "flow.json", "--json", cwd=here)
    assert done.code == 0, done.said
    assert server.received[0].headers["authorization"] == f"Bearer {value}"
    vault.tell("runs", "show", "--json", cwd=here)
    (vault.home / ".runtrue" / "secrets.json").unlink()
    vault.check(here)


def test_an_agent_gets_a_kept_secret_and_its_output_is_kept_without_it(
    vault: Vault, make_project: MakeProject, tmp_path: Path
) -> None:
    value = vault.env.pop("OTHER_SECRET")
    done = vault.tell("secret", "set", "OTHER_SECRET", "--store", "file", cwd=tmp_path, stdin=value)
    assert done.code == 0
    line = 'sh -c "echo $OTHER_SECRET; test -n \\"$OTHER_SECRET\\" && exit 7"'
    config = f"""
        [checks.tests]
        command = "python -m pytest -q"
        [fixers]
        order = ["agent"]
        [fixers.agent]
        command = {json.dumps(line)}
        env = ["OTHER_SECRET"]
    """
    project = make_project({"test_it.py": "def test_it(): assert 1 == 2\n", "runtrue.toml": config})
    done = vault.tell("fix", "--json", "--max-attempts", "2", cwd=project)
    assert "exited with code 7" in done.out
    assert "[redacted: OTHER_SECRET]" in done.out
    (vault.home / ".runtrue" / "secrets.json").unlink()
    vault.check(project)


def test_a_test_that_reads_the_file_of_secrets_leaves_none_of_it_anywhere(
    vault: Vault, make_project: MakeProject, tmp_path: Path
) -> None:
    value = vault.env.pop("OTHER_SECRET")
    vault.tell("secret", "set", "OTHER_SECRET", "--store", "file", cwd=tmp_path, stdin=value)
    reads = """
        from pathlib import Path

        def test_reads():
            file = Path.home() / ".runtrue" / "secrets.json"
            raise ValueError(file.read_text() if file.exists() else "not there")
    """
    config = '[checks.tests]\ncommand = "python -m pytest -q"\n'
    project = make_project({"test_it.py": reads, "runtrue.toml": config})
    assert vault.tell("fix", "--json", cwd=project).code == 1
    vault.tell("runs", "show", cwd=project)
    (vault.home / ".runtrue" / "secrets.json").unlink()
    vault.check(project)


def test_modules_of_a_project_that_are_named_like_ours_are_not_run_by_us(
    vault: Vault, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    harm = f"open({str(tmp_path / 'harm')!r}, 'w').close()\n"
    names = ("secrets", "keyring", "json", "click", "msgspec", "sqlite3")
    write(here, {f"{name}.py": harm for name in names})
    assert vault.tell("secret", "list", cwd=here).code == 0
    vault.tell("doctor", cwd=here)
    assert not (tmp_path / "harm").exists()


def test_a_project_cannot_bring_a_store_of_its_own(vault: Vault, tmp_path: Path) -> None:
    here = tmp_path / "here"
    write(here, {".runtrue/secrets.json": '{"PLANTED_TOKEN": "from-the-project"}\n'})
    (here / ".runtrue" / "secrets.json").chmod(0o600)
    workflow = {
        "nodes": [
            {"id": "say", "type": "shell", "params": {"command": "echo ${env.PLANTED_TOKEN}"}}
        ]
    }
    (here / "flow.json").write_text(json.dumps(workflow))
    done = vault.tell("run", "flow.json", "--json", cwd=here)
    assert done.code == 1
    assert "PLANTED_TOKEN is not set" in done.said
    assert "PLANTED_TOKEN" not in vault.tell("secret", "list", cwd=here).out

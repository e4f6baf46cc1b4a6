"""`runtrue secret` keeps secrets, lists their names and deletes them, and never shows a value."""

from __future__ import annotations

import os
import pty
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Done, Machine
from tests.secrets.test_stores import KEYRING

VALUE = "swordfish-4711"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    # Nothing of a keyring that the machine of whoever runs this may have.
    machine = Machine(tmp_path, search=False)
    machine.env["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    return machine


def keep(machine: Machine, name: str, value: str = VALUE, *args: str) -> Done:
    done = machine.runtrue("secret", "set", name, *args, stdin=f"{value}\n")
    assert VALUE not in done.said
    return done


def test_a_secret_is_kept_listed_and_deleted(machine: Machine) -> None:
    file = machine.home / ".runtrue" / "secrets.json"
    done = keep(machine, "A_TOKEN")
    assert (done.code, done.out) == (0, "stored A_TOKEN in the file\n")
    assert VALUE in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    listed = machine.runtrue("secret", "list")
    assert listed.out == "A_TOKEN  file\n"
    deleted = machine.runtrue("secret", "delete", "A_TOKEN")
    assert (deleted.code, deleted.out) == (0, "deleted A_TOKEN from the file\n")
    assert VALUE not in file.read_text()
    assert "no secrets; store one" in machine.runtrue("secret", "list").out


def test_everything_is_there_as_json(machine: Machine) -> None:
    done = keep(machine, "A_TOKEN", VALUE, "--json")
    document = {"status": "passed", "name": "A_TOKEN", "store": "file", "hidden_by": None}
    assert done.json == document
    listed = machine.runtrue("secret", "list", "--json").json
    assert listed["secrets"] == [{"name": "A_TOKEN", "store": "file"}]
    assert len(listed["unavailable"]) == 1
    deleted = machine.runtrue("secret", "delete", "A_TOKEN", "--json").json
    assert deleted == {"status": "passed", "name": "A_TOKEN", "stores": ["file"]}
    failed = machine.runtrue("secret", "delete", "A_TOKEN", "--json")
    assert (failed.code, failed.json["status"]) == (2, "failed")


def test_what_the_environment_has_comes_first_and_that_is_said(machine: Machine) -> None:
    machine.env |= {"A_TOKEN": "of-the-environment"}
    done = keep(machine, "A_TOKEN")
    assert "the A_TOKEN of the environment takes precedence" in done.err
    lines = machine.runtrue("secret", "list").out.splitlines()
    assert lines == [
        "A_TOKEN  environment",
        "A_TOKEN  file  (not used: an earlier store has it)",
    ]
    assert machine.runtrue("secret", "delete", "A_TOKEN").code == 0
    again = machine.runtrue("secret", "delete", "A_TOKEN")
    assert again.code == 2
    assert "unset A_TOKEN" in again.err


def test_a_keyring_is_used_where_there_is_one(machine: Machine, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "keyring.py").write_text(KEYRING)
    paths = [str(packages), *filter(None, [machine.env.get("PYTHONPATH")])]
    machine.env["PYTHONPATH"] = os.pathsep.join(paths)
    assert keep(machine, "A_TOKEN").out == "stored A_TOKEN in the keyring\n"
    assert keep(machine, "A_TOKEN", "other", "--store", "file").code == 0
    assert machine.runtrue("secret", "list").out.splitlines() == [
        "A_TOKEN  keyring",
        "A_TOKEN  file  (not used: an earlier store has it)",
    ]
    assert "from the keyring and the file" in machine.runtrue("secret", "delete", "A_TOKEN").out


def test_a_keyring_that_is_not_there_is_said_plainly(machine: Machine) -> None:
    done = keep(machine, "A_TOKEN", VALUE, "--store", "keyring")
    assert done.code == 1
    assert "keyring" in done.err
    assert not (machine.home / ".runtrue" / "secrets.json").exists()


@pytest.mark.parametrize("name", [VALUE, "A TOKEN", "A_TOKEN=swordfish-4711"])
def test_a_value_given_for_a_name_is_not_repeated(machine: Machine, name: str) -> None:
    done = machine.runtrue("secret", "set", name, stdin="x\n")
    assert done.code == 2
    assert "not a name for a secret" in done.err
    assert VALUE not in done.said


def test_a_value_is_never_an_argument(machine: Machine) -> None:
    done = machine.runtrue("secret", "set", "A_TOKEN", VALUE)
    assert done.code == 2
    assert not (machine.home / ".runtrue" / "secrets.json").exists()


def test_no_value_is_a_mistake(machine: Machine) -> None:
    done = machine.runtrue("secret", "set", "A_TOKEN", stdin="\n")
    assert done.code == 2
    assert "no value was given for A_TOKEN" in done.err


def test_an_unsafe_file_is_refused_in_one_sentence(machine: Machine) -> None:
    keep(machine, "A_TOKEN")
    file = machine.home / ".runtrue" / "secrets.json"
    file.chmod(0o644)
    for args in (["list"], ["delete", "A_TOKEN"], ["set", "B_TOKEN"]):
        done = machine.runtrue("secret", *args, stdin="value\n")
        assert done.code == 1
        assert f"mode 0644 lets others access it; chmod 600 {file}" in done.err
        assert len(done.err.splitlines()) == 1


def test_what_is_not_kept_cannot_be_deleted(machine: Machine) -> None:
    keep(machine, "A_TOKEN")
    done = machine.runtrue("secret", "delete", "B_TOKEN")
    assert done.code == 2
    assert "no stored secret B_TOKEN; available: A_TOKEN" in done.err


def test_a_store_that_is_not_configured_cannot_be_named(machine: Machine) -> None:
    (machine.home / "runtrue.toml").write_text('[secrets]\nstores = ["environment"]\n')
    done = keep(machine, "A_TOKEN", VALUE, "--store", "file")
    assert done.code == 2
    assert "not among the [secrets] stores" in done.err
    assert "neither keyring nor file" in keep(machine, "A_TOKEN").err


def test_a_store_that_does_not_exist_is_a_mistake_in_the_configuration(machine: Machine) -> None:
    (machine.home / "runtrue.toml").write_text('[secrets]\nstores = ["vault"]\n')
    done = machine.runtrue("secret", "list")
    assert done.code == 2
    assert "runtrue.toml:2" in done.err


def test_at_a_terminal_the_value_is_asked_for_and_not_shown(machine: Machine) -> None:
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        machine.argv("secret", "set", "A_TOKEN"),
        cwd=machine.home,
        env=machine.env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    try:
        while b"Value of A_TOKEN" not in shown:
            shown += os.read(ours, 1024)
        os.write(ours, f"{VALUE}\n".encode())
        while part := _read(ours):
            shown += part
    finally:
        code = child.wait(timeout=60)
        os.close(ours)
    assert code == 0
    assert VALUE.encode() not in shown
    assert VALUE in (machine.home / ".runtrue" / "secrets.json").read_text()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1024)
    except OSError:  # its other end is closed
        return b""


def test_names_are_completed(machine: Machine) -> None:
    keep(machine, "A_TOKEN")
    keep(machine, "B_TOKEN")
    env = {
        "_RUNTRUE_COMPLETE": "bash_complete",
        "COMP_WORDS": "runtrue secret delete A",
        "COMP_CWORD": "3",
    }
    program = "import sys; sys.argv = ['runtrue']; from runtrue.cli import main; main()"
    done = subprocess.run(
        [*machine.argv()[:1], "-c", program],
        env={**machine.env, **env},
        cwd=machine.home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "plain,A_TOKEN"

"""`runtrue receipt`: every pass leaves evidence, which one changed byte makes stale."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from runtrue.receipt import read_receipt
from tests.cli.conftest import Machine, MakeProject, write
from tests.cli.test_gate import READY, SHOP, WRONG


@pytest.fixture
def project(machine: Machine, make_project: MakeProject) -> Path:
    """A project with a change that a gate has just let through."""
    made = make_project(SHOP)
    write(made, READY)
    done = machine.runtrue("gate", "--json", cwd=made)
    assert done.code == 0, done.said
    return made


def receipt_file(machine: Machine) -> Path:
    (file,) = (machine.home / ".runtrue" / "receipts").glob("*.json")
    return file


def test_a_receipt_says_what_was_run_on_which_tree(machine: Machine, project: Path) -> None:
    shown = machine.runtrue("receipt", "show", "--json", cwd=project).json
    assert shown == json.loads(receipt_file(machine).read_text())
    assert shown["_type"] == "https://in-toto.io/Statement/v1"
    ours = shown["predicate"]["runtrue"]
    assert shown["subject"][0]["digest"]["gitTree"] == ours["tree"]
    tests = ours["checks"][0]
    assert (tests["name"], tests["exit_code"], tests["cases"]) == ("pytest", 0, {"passed": 2})
    assert "pytest" in tests["command"]
    assert ours["isolation"]["level"]
    assert ours["versions"]["runtrue"]
    assert str(project.parent) not in receipt_file(machine).read_text()
    assert receipt_file(machine).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("file", ["shop.py", "tests/test_shop.py", "notes.txt"])
def test_one_changed_byte_makes_it_stale_and_its_return_makes_it_hold(
    file: str, machine: Machine, project: Path
) -> None:
    path, before = project / file, None
    if path.exists():
        before = path.read_bytes()
    path.write_bytes((before or b"") + b"\n")
    done = machine.runtrue("receipt", "verify", cwd=project)
    assert (done.code, done.err) == (1, "")
    assert f"stale: changed since: {file.partition('/')[0]}" in done.out
    if before is None:
        path.unlink()
    else:
        path.write_bytes(before)
    again = machine.runtrue("receipt", "verify", "--json", cwd=project)
    assert (again.code, again.json["standing"], again.json["origin"]) == (0, "holds", "journal")


def test_the_gate_accepts_a_fresh_receipt_instead_of_running_twice(
    machine: Machine, project: Path
) -> None:
    first = machine.runtrue("receipt", "show", "--json", cwd=project).json
    second = machine.runtrue("gate", "--json", cwd=project)
    assert second.json["run_id"] == first["predicate"]["runtrue"]["run_id"]
    assert (second.json["reused"], second.code) == (True, 0)
    assert "nothing has changed since" in second.err
    third = machine.runtrue("gate", "--json", "--again", cwd=project)
    assert third.json["run_id"] != second.json["run_id"]
    write(project, WRONG)
    assert machine.runtrue("gate", cwd=project).code == 2


def test_other_questions_about_the_same_tree_are_judged(machine: Machine, project: Path) -> None:
    # The same tree, with more asked of it.
    done = machine.runtrue("gate", "--json", "--type", "bug_fix", cwd=project)
    assert done.json["reused"] is False


def test_an_altered_receipt_is_refuted(machine: Machine, project: Path) -> None:
    forged = receipt_file(machine).read_text().replace('"passed": 2', '"passed": 200')
    file = project.parent / "forged.json"
    file.write_text(forged)
    done = machine.runtrue("receipt", "verify", file, cwd=project)
    assert done.code == 1
    assert "refuted: the file is not what the run recorded" in done.out


def test_a_rerun_finds_a_forged_receipt_of_another_machine(
    machine: Machine, project: Path, tmp_path: Path
) -> None:
    receipt = receipt_file(machine)
    good = read_receipt(receipt)
    write(project, WRONG)
    stale = machine.runtrue("receipt", "verify", receipt, "--json", cwd=project).json
    # It claims the tree as it is now, and there is no journal that knows better.
    text = receipt.read_text().replace(good.tree, stale["tree_now"]).replace(good.run_id, "0" * 8)
    forged = tmp_path / "forged.json"
    forged.write_text(text)
    seen = machine.runtrue("receipt", "verify", forged, "--json", cwd=project)
    assert (seen.code, seen.json["standing"], seen.json["origin"]) == (1, "unconfirmed", None)
    done = machine.runtrue("receipt", "verify", forged, "--rerun", "--json", cwd=project)
    assert (done.code, done.json["standing"]) == (1, "refuted")
    assert done.json["rerun"]


def test_a_rerun_runs_the_checks_of_the_project_and_not_those_of_the_receipt(
    machine: Machine, project: Path, tmp_path: Path
) -> None:
    receipt = receipt_file(machine)
    command = read_receipt(receipt).checks[0].command
    forged = tmp_path / "forged.json"
    forged.write_text(receipt.read_text().replace(command, "touch owned"))
    done = machine.runtrue("receipt", "verify", forged, "--rerun", cwd=project)
    assert done.code != 0
    assert not list(project.rglob("owned"))


def test_after_a_rerun_only_what_it_proved_is_shown(
    machine: Machine, project: Path, tmp_path: Path
) -> None:
    text = json.loads(receipt_file(machine).read_text())
    claimed = text["predicate"]["runtrue"]
    claimed["checks"].append({**claimed["checks"][0], "name": "penetration test", "command": ""})
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(text).replace(claimed["run_id"], "0" * 8))
    seen = machine.runtrue("receipt", "verify", forged, cwd=project)
    assert (seen.code, "penetration test" in seen.out) == (1, True)
    done = machine.runtrue("receipt", "verify", forged, "--rerun", cwd=project)
    assert (done.code, "penetration test" in done.out) == (0, False)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_a_signature_of_somebody_known_confirms_it(
    machine: Machine, project: Path, tmp_path: Path
) -> None:
    for name in ("ada", "eve"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name]
        subprocess.run(command, cwd=tmp_path, check=True)
    signers = tmp_path / "signers"
    signers.write_text(f"ada@example.org {(tmp_path / 'ada.pub').read_text()}")
    receipt = tmp_path / "receipt.json"
    shutil.copy(receipt_file(machine), receipt)
    argv = ("receipt", "verify", receipt, "--signers", signers)
    assert "refuted: it is not signed" in machine.runtrue(*argv, cwd=project).out
    machine.runtrue("receipt", "sign", receipt, "--key", tmp_path / "eve", cwd=project)
    unknown = machine.runtrue(*argv, cwd=project)
    assert unknown.code == 1
    assert "refuted: it is signed by no one" in unknown.out
    machine.runtrue("receipt", "sign", receipt, "--key", tmp_path / "ada", cwd=project)
    done = machine.runtrue(*argv, "--json", cwd=project)
    assert (done.code, done.json["origin"]) == (0, "signature")
    receipt.write_text(receipt.read_text().replace('"passed": 2', '"passed": 3'))
    assert "refuted: it is not what ada" in machine.runtrue(*argv, cwd=project).out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "it is not JSON"),
        ("[]", "is not a receipt"),
        ("[" * 50_000, "it is not JSON"),
        ('{"_type": "x", "predicateType": "y"}', "about something else"),
    ],
)
def test_what_is_no_receipt_is_refused_in_a_sentence(
    content: str, said: str, machine: Machine, make_project: MakeProject, tmp_path: Path
) -> None:
    file = tmp_path / "receipt.json"
    file.write_text(content)
    done = machine.runtrue("receipt", "verify", file, cwd=make_project(SHOP))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err


def test_a_fix_that_was_applied_has_a_receipt_of_the_tree_it_left(
    tmp_path: Path, make_project: MakeProject
) -> None:
    machine = Machine(tmp_path)
    project = make_project(
        {
            "shop.py": "def total(prices):\n    return max(prices)\n",
            "tests/test_shop.py": SHOP["tests/test_shop.py"],
        }
    )
    fixed = machine.runtrue("fix", "--apply", "--json", cwd=project)
    assert fixed.code == 0, fixed.said
    assert fixed.json["receipt"]["confidence"] == fixed.json["confidence"]
    assert machine.runtrue("receipt", "verify", cwd=project).code == 0
    (project / "shop.py").write_text("")
    assert machine.runtrue("receipt", "verify", cwd=project).code == 1

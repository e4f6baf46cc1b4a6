"""`plan apply --branch|--onto|--commit`: the result as a commit, merged and validated."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done, Machine, MakeProject

FILES = {
    "handler.py": "tax = 0\n\n\n\n\nend = 1\n",
    "other.txt": "other\n",
}
ADDS_TAX = "sed -i 's/tax = 0/tax = 19/' handler.py"


class Repository:
    """A project in a repository, with a complete plan."""

    def __init__(self, root: Path, make_project: MakeProject) -> None:
        self.machine = Machine(root)
        self.project = make_project(FILES)
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")
        self.branch = self.git("branch", "--show-current")

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.project, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, **files: str) -> None:
        for name, text in files.items():
            (self.project / name.replace("_py", ".py").replace("_txt", ".txt")).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "more")

    def plan(self, command: str = ADDS_TAX, check: str = "grep -q 19 handler.py") -> str:
        plan = {
            "instruction": "Totals must include tax",
            "strategy": {"steps": [{"description": "add the tax", "command": command}]},
            "validations": [{"name": "tax", "command": check}],
        }
        path = self.project.parent / "plan.json"
        path.write_text(json.dumps(plan))
        done = self.run("new", path, "--profile", "cautious", "--json")
        assert done.json["state"] == "complete", done.said
        plan_id: str = done.json["run_id"]
        return plan_id

    def run(self, *words: str | Path) -> Done:
        return self.machine.runtrue("plan", *words, cwd=self.project)

    def applied(self, *words: str) -> dict[str, Any]:
        done = self.run("apply", *words, "--json")
        assert (done.code, done.json["state"]) == (0, "applied"), done.said
        return done.json


@pytest.fixture
def repository(tmp_path: Path, make_project: MakeProject) -> Repository:
    return Repository(tmp_path, make_project)


def test_a_new_branch_has_the_change_and_the_files_stay_as_they_are(repository: Repository) -> None:
    repository.plan()
    (repository.project / "other.txt").write_text("not done yet\n")
    (repository.project / "new.txt").write_text("nor this\n")
    before = repository.git("status", "--porcelain")
    report = repository.applied("--branch", "with-tax")
    commit = report["committed"]
    assert (commit["branch"], commit["commit"]) == (
        "with-tax",
        repository.git("rev-parse", "with-tax"),
    )
    assert repository.git("diff", "--name-only", "HEAD", "with-tax") == "handler.py"
    assert repository.git("rev-parse", "with-tax^") == repository.git("rev-parse", "HEAD")
    said = repository.git("log", "-1", "--format=%an <%ae> %s", "with-tax")
    assert said == "Ada <ada@example.org> Totals must include tax"
    assert repository.git("status", "--porcelain") == before
    assert (repository.project / "handler.py").read_text() == FILES["handler.py"]
    assert f"committed to with-tax as {commit['commit']}" in repository.run("status").out


def test_another_branch_is_merged_with_validated_and_committed_to(repository: Repository) -> None:
    repository.git("checkout", "-qb", "next")
    repository.commit(handler_py=FILES["handler.py"].replace("end = 1", "end = 2"))
    repository.git("checkout", "-q", repository.branch)
    repository.plan()
    repository.applied("--onto", "next")
    assert repository.git("show", "next:handler.py") == "tax = 19\n\n\n\n\nend = 2"
    assert repository.git("branch", "--show-current") == repository.branch
    assert (repository.project / "handler.py").read_text() == FILES["handler.py"]


def test_a_conflict_with_a_branch_shows_both_sides_and_the_patch(repository: Repository) -> None:
    repository.git("checkout", "-qb", "next")
    repository.commit(handler_py=FILES["handler.py"].replace("tax = 0", "tax = 7"))
    repository.git("checkout", "-q", repository.branch)
    plan_id = repository.plan()
    tip = repository.git("rev-parse", "next")
    refused = repository.run("apply", "--onto", "next")
    assert refused.code == 1, refused.said
    for shown in ("tax = 7", "tax = 19", f"patches/{plan_id}.patch"):
        assert shown in refused.said
    # Not the command that was just refused.
    assert f"next: runtrue plan apply {plan_id}\n" in refused.out
    assert f"next: runtrue plan apply {plan_id} --branch" not in refused.out
    assert repository.git("rev-parse", "next") == tip
    assert repository.run("status", "--json").json["state"] == "complete"
    repository.applied("--branch", "elsewhere")


@pytest.mark.parametrize("later", [b"", b"\r\nlast\r\n"])
def test_line_ends_that_git_stores_otherwise_are_no_conflict(
    later: bytes, repository: Repository
) -> None:
    handler = repository.project / "handler.py"
    lines = FILES["handler.py"].encode().replace(b"\n", b"\r\n")
    handler.write_bytes(lines)
    repository.commit(**{".gitattributes": "* text=auto\n"})
    repository.plan()
    if later:
        handler.write_bytes(lines + later)
        repository.git("commit", "-qam", "later")
    repository.applied("--branch", "with-tax")
    change = repository.git("diff", "--numstat", "HEAD", "with-tax")
    assert change == "1\t1\thandler.py"
    assert b"\r" not in repository.git("show", "with-tax:handler.py").encode()


def test_what_fails_on_the_branch_is_not_committed_to_it(repository: Repository) -> None:
    repository.git("checkout", "-qb", "next")
    repository.commit(other_txt="broken\n")
    repository.git("checkout", "-q", repository.branch)
    repository.plan(check="grep -q 19 handler.py && ! grep -q broken other.txt")
    tip = repository.git("rev-parse", "next")
    refused = repository.run("apply", "--onto", "next")
    assert refused.code == 1
    assert "tax fails together with what is in next" in refused.said
    assert repository.git("rev-parse", "next") == tip
    repository.applied()
    assert "19" in (repository.project / "handler.py").read_text()


def test_a_commit_has_the_files_of_the_plan_and_nothing_else(repository: Repository) -> None:
    repository.plan("sed -i 's/tax = 0/tax = 19/' handler.py; echo made > made.txt")
    (repository.project / "other.txt").write_text("staged\n")
    repository.git("add", "other.txt")
    (repository.project / "scratch.txt").write_text("unrelated\n")
    repository.applied("--commit")
    assert repository.git("show", "--name-only", "--format=%s", "HEAD").split("\n") == [
        *("Totals must include tax", "", "handler.py", "made.txt")
    ]
    assert repository.git("status", "--porcelain").split("\n") == ["M  other.txt", "?? scratch.txt"]
    assert (repository.project / "made.txt").read_text() == "made\n"


def test_changes_of_ones_own_in_the_same_file_are_not_committed(repository: Repository) -> None:
    repository.plan()
    own = FILES["handler.py"].replace("end = 1", "end = 2")
    (repository.project / "handler.py").write_text(own)
    refused = repository.run("apply", "--commit")
    assert refused.code == 2
    assert "handler.py has changes of your own that are not committed" in refused.err
    repository.applied("--branch", "only-tax")
    assert repository.git("show", "only-tax:handler.py").endswith("end = 1")
    assert (repository.project / "handler.py").read_text() == own


def test_line_ends_modes_and_encodings_are_kept(repository: Repository) -> None:
    (repository.project / ".gitattributes").write_text("*.txt text=auto eol=crlf\n")
    (repository.project / "run.sh").write_text("echo\n")
    (repository.project / "run.sh").chmod(0o755)
    (repository.project / "latin.py").write_bytes(b"# \xe9t\xe9\r\nx = 1\r\n")
    (repository.project / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    repository.commit()
    change = (
        "sed -i 's/two/19/' crlf.txt; sed -i s/1/19/ latin.py; echo true >> run.sh; " + ADDS_TAX
    )
    repository.plan(change)
    repository.applied("--branch", "kept")
    for file in ("latin.py", "run.sh", "crlf.txt"):
        assert repository.git("diff", "--numstat", "HEAD", "kept", "--", file).split()[1] in "01"
    assert repository.git("ls-tree", "kept", "run.sh").startswith("100755 ")
    repository.git("checkout", "-q", "kept")
    assert (repository.project / "crlf.txt").read_bytes() == b"one\r\n19\r\n"
    assert (repository.project / "latin.py").read_bytes() == b"# \xe9t\xe9\r\nx = 19\r\n"
    assert repository.git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--branch", "{here}"), "there is a branch {here} already"),
        (("--branch", "no good"), "not a valid name for a git branch"),
        (("--onto", "nowhere"), "there is no branch nowhere; make it with --branch nowhere"),
        (("--onto", "{here}"), "is checked out in"),
        (("--onto", "a", "--commit"), "pass only one of"),
    ],
)
def test_a_branch_that_cannot_be_meant_is_refused_in_one_sentence(
    words: tuple[str, ...], said: str, repository: Repository
) -> None:
    repository.plan()
    here = repository.branch
    refused = repository.run("apply", *(word.format(here=here) for word in words))
    assert refused.code == 2, refused.said
    (sentence,) = refused.err.splitlines()
    assert said.format(here=here) in sentence
    assert repository.run("status", "--json").json["state"] == "complete"

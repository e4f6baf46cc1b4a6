"""Applying brings in all of a candidate or nothing of it, whatever is killed and whenever."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtrue.errors import SandboxError
from runtrue.sandbox import GitSandbox, _mover, apply
from tests.sandbox.support import contents, git, make_repository, make_sandbox, write_files

KINDS = ("worktree", "copy")
FILES: dict[str, str | bytes] = {
    "app.py": "x = 1\n",
    "pkg/deep/mod.py": "y = 1\n",
    "data.bin": bytes(range(256)),
    "run.sh": "echo\n",
    "shape/inner": "a directory\n",
    "flat": "a file\n",
    "kept.py": "k = 1\n",
}
EVERYTHING = {
    *("app.py", "pkg/deep/mod.py", "data.bin", "run.sh", "shape/inner", "shape", "flat"),
    *("flat/inner", "link", "target", "target/inner", "new/dir/file.py"),
}


class Case:
    """A project and a candidate that differ in every way that files can."""

    def __init__(self, tmp_path: Path, kind: str | None = None) -> None:
        self.project = make_repository(tmp_path / "project", FILES)
        (self.project / "link").symlink_to("app.py")
        (self.project / "target").symlink_to("kept.py")
        self.old = contents(self.project)
        self.sandbox = make_sandbox(self.project, kind=kind, home=tmp_path / "homes" / "run-1")
        self.base = self.sandbox.open()
        tree = self.sandbox.directory
        (tree / "pkg/deep/mod.py").unlink()
        shutil.rmtree(tree / "shape")
        for name in ("flat", "link", "target"):
            (tree / name).unlink()
        write_files(
            tree,
            {
                "app.py": "x = 2\n",
                "data.bin": b"\0\xff" * 1000,
                "shape": "a file now\n",
                "flat/inner": "a directory now\n",
                "target/inner": "a directory that was a link\n",
                "new/dir/file.py": "n = 1\n",
            },
        )
        (tree / "link").symlink_to("data.bin")
        (tree / "run.sh").chmod(0o755)
        self.candidate = self.sandbox.snapshot()
        self.new = contents(tree)

    @property
    def now(self) -> dict[str, str]:
        return {
            name: what
            for name, what in contents(self.project).items()
            if not name.startswith(".runtrue-apply-")
        }

    @property
    def stages(self) -> list[Path]:
        return list(self.project.glob(".runtrue-apply-*"))

    def again(self) -> GitSandbox:
        """The sandbox as the process sees it that goes on with the run."""
        sandbox = make_sandbox(self.project, home=self.sandbox.directory.parent)
        sandbox.take_over()
        return sandbox

    def wait_for_mover(self) -> None:
        with (self.sandbox.directory.parent / "applying").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def mover_with(place: Path, hook: str) -> Path:
    """A mover that calls `hook` before each change to a file; `n` numbers them from one."""
    script = place / "mover.py"
    script.write_text(
        "import os, runpy, signal, sys\n"
        "count = 0\n"
        "def watch(event, args):\n"
        "    global count\n"
        "    if event in ('os.rename', 'os.mkdir', 'os.rmdir', 'os.remove'):\n"
        "        count += 1\n"
        "        hook(count)\n"
        f"def hook(n):\n    {hook}\n"
        "sys.addaudithook(watch)\n"
        f"runpy.run_path({_mover.__file__!r}, run_name='__main__')\n"
    )
    return script


def crash_at(place: Path, point: int) -> Path:
    return mover_with(place, f"n == {point} and os.kill(os.getpid(), signal.SIGKILL)")


class TestEverySortOfChange:
    @pytest.mark.parametrize("kind", KINDS)
    def test_it_arrives_and_nothing_else_is_left(self, tmp_path: Path, kind: str) -> None:
        case = Case(tmp_path, kind)
        assert set(case.sandbox.apply(case.candidate)) == EVERYTHING
        assert contents(case.project) == case.new
        assert not (case.project / "pkg").exists()
        assert not case.sandbox.pending_apply()

    @pytest.mark.parametrize("attributes", ["*.txt text eol=crlf\n", "* text=auto\n", ""])
    def test_the_bytes_that_were_checked_are_those_that_arrive(
        self, tmp_path: Path, attributes: str
    ) -> None:
        project = make_repository(
            tmp_path / "project", {".gitattributes": attributes, "a.txt": "a\r\nb\r\n"}
        )
        sandbox = make_sandbox(project)
        sandbox.open()
        assert (sandbox.directory / "a.txt").read_bytes() == b"a\r\nb\r\n"
        write_files(sandbox.directory, {"a.txt": "a\r\nc\r\n", "new.txt": "n\n", "x.lf": "l\r\n"})
        candidate = sandbox.snapshot()
        patch = sandbox.diff(candidate)
        sandbox.apply(candidate)
        assert (project / "a.txt").read_bytes() == b"a\r\nc\r\n"
        assert (project / "new.txt").read_bytes() == b"n\n"
        assert (project / "x.lf").read_bytes() == b"l\r\n"
        # One line is changed, whatever git makes of the ends of lines.
        assert patch.count("\n-") - patch.count("\n---") == 1

    def test_a_directory_that_stays_keeps_its_mode(self, tmp_path: Path) -> None:
        project = make_repository(tmp_path / "project", {"private/a": "", "b": ""})
        (project / "private").chmod(0o700)
        sandbox = make_sandbox(project)
        sandbox.open()
        (sandbox.directory / "private/a").rename(sandbox.directory / "private/renamed")
        sandbox.apply(sandbox.snapshot())
        assert (project / "private").stat().st_mode & 0o777 == 0o700
        assert [path.name for path in (project / "private").iterdir()] == ["renamed"]


class Crash(BaseException):
    """The machine goes down."""


@contextlib.contextmanager
def crashing(point: int) -> Iterator[None]:
    """Let this process stop before its `point`-th change to a file."""
    count = 0

    def counted(change: Callable[..., None]) -> Callable[..., None]:
        def changed(*args: object, **options: object) -> None:
            nonlocal count
            count += 1
            if count == point:
                raise Crash
            change(*args, **options)

        return changed

    with pytest.MonkeyPatch.context() as patch:
        for name in ("rename", "mkdir", "rmdir", "unlink"):
            patch.setattr(os, name, counted(getattr(os, name)))
        yield


class Prepared:
    """A project at the moment at which the mover begins, to be had as often as needed."""

    def __init__(self, tmp_path: Path) -> None:
        self.case = Case(tmp_path)
        home = self.case.sandbox.directory.parent
        self.intent = home / "intent.json"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(apply, "_MOVER", crash_at(tmp_path, 1))
            with pytest.raises(SandboxError):
                self.case.sandbox.apply(self.case.candidate)
        self.places = {
            place: tmp_path / f"kept {place.name}" for place in (self.case.project, home)
        }
        for place, kept in self.places.items():
            shutil.copytree(place, kept, symlinks=True)

    def begin(self) -> None:
        for place, kept in self.places.items():
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(kept, place, symlinks=True)

    def move(self, direction: str, point: int = 0) -> bool:
        """Move until it is done, or crashes at a point; whether it is over."""
        with contextlib.suppress(Crash), crashing(point):
            assert _mover.move(str(self.intent), direction) == (0, {})
        return not self.intent.exists()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return Prepared(tmp_path_factory.mktemp("prepared"))


class TestCrash:
    """A mover that stops, or is killed, stands for a machine that goes down."""

    @pytest.mark.parametrize("direction", ["forward", "back"])
    def test_at_every_point_the_next_one_can_finish_or_undo_it(
        self, prepared: Prepared, direction: str
    ) -> None:
        case = prepared.case
        wanted = case.new if direction == "forward" else case.old
        mixed = 0
        for point in range(1, 200):
            prepared.begin()
            if prepared.move("forward", point):
                break
            mixed += case.now not in (case.old, case.new)
            assert prepared.move(direction)
            assert contents(case.project) == wanted
        assert mixed > 10

    @given(
        st.lists(st.tuples(st.sampled_from(["forward", "back"]), st.integers(1, 40)), max_size=6),
        st.sampled_from(["forward", "back"]),
    )
    @settings(max_examples=40, deadline=None)
    def test_any_number_of_crashes_in_any_direction_ends_in_the_old_or_the_new_tree(
        self, prepared: Prepared, crashes: list[tuple[str, int]], last: str
    ) -> None:
        case = prepared.case
        prepared.begin()
        for direction, point in [*crashes, (last, 0)]:
            if prepared.move(direction, point):
                assert case.now == (case.new if direction == "forward" else case.old)
                return
        pytest.fail("the last one was to finish")

    @pytest.mark.parametrize("point", [2, 7, 12])
    def test_it_is_finished_by_the_next_apply(
        self, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: int
    ) -> None:
        self.crash(case, tmp_path, monkeypatch, point)
        case.again().apply(case.candidate)
        assert contents(case.project) == case.new
        assert not case.sandbox.pending_apply()

    def test_it_is_undone_when_the_sandbox_is_given_up(
        self, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.crash(case, tmp_path, monkeypatch, 12)
        case.again().remove()
        assert contents(case.project) == case.old
        assert not case.sandbox.directory.parent.exists()

    @pytest.mark.parametrize("point", [1, 11])
    def test_a_stage_that_somebody_removed_is_no_reason_to_leave_files_out(
        self, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: int
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(apply, "_MOVER", crash_at(tmp_path, point))
            with pytest.raises(SandboxError):
                case.sandbox.apply(case.candidate)
        git(case.project, "clean", "-fdxq", "--", ".runtrue-apply-run-1")
        assert not case.stages
        if point == 1:
            case.sandbox.apply(case.candidate)
            assert contents(case.project) == case.new
        else:
            # What had been moved out is gone, and that is for the user to know.
            with pytest.raises(SandboxError, match=r"^not applied: .* changed in"):
                case.sandbox.apply(case.candidate)
        assert not case.sandbox.pending_apply()

    def test_an_edit_in_the_last_moment_before_it_is_kept(
        self, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        case, rename = prepared.case, os.rename
        app = case.project / "app.py"

        def edited(source: str, target: str) -> None:
            if source == str(app):
                app.write_text("mine")
            rename(source, target)
            if source == str(app):
                raise Crash

        prepared.begin()
        with monkeypatch.context() as patch, contextlib.suppress(Crash):
            patch.setattr(os, "rename", edited)
            _mover.move(str(prepared.intent), "forward")
        assert _mover.move(str(prepared.intent), "forward") == (1, {"conflicts": ["app.py"]})
        assert contents(case.project) == {**case.old, "app.py": "- b'mine'"}

    def test_what_cannot_be_undone_is_said_and_stays_pending(
        self, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.crash(case, tmp_path, monkeypatch, 12)
        write_files(case.project, {"pkg": "where a directory was\n"})
        with pytest.raises(SandboxError) as caught:
            case.sandbox.remove()
        assert str(caught.value) == (
            "the part of the patch that was applied could not be undone: pkg is in the way; "
            "fix that, then try again"
        )
        assert case.sandbox.pending_apply()
        (case.project / "pkg").unlink()
        case.sandbox.remove()
        assert contents(case.project) == case.old

    @staticmethod
    def crash(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: int) -> None:
        """Apply with a crash in the middle."""
        with monkeypatch.context() as patch:
            patch.setattr(apply, "_MOVER", crash_at(tmp_path, point))
            with pytest.raises(SandboxError) as caught:
                case.sandbox.apply(case.candidate)
        assert str(caught.value) == (
            "only part of the patch could be applied: the process that moves files ended (-9); "
            "fix that, then finish with `runtrue runs resume`"
        )
        assert case.sandbox.pending_apply()
        assert case.now not in (case.old, case.new)

    def test_another_candidate_takes_its_place(
        self, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.crash(case, tmp_path, monkeypatch, 8)
        case.sandbox.restore(case.base)
        write_files(case.sandbox.directory, {"app.py": "x = 3\n"})
        assert case.sandbox.apply(case.sandbox.snapshot()) == ("app.py",)
        assert contents(case.project) == {**case.old, "app.py": "- b'x = 3\\n'"}

    def test_an_edit_of_the_users_after_it_is_a_conflict_and_is_kept(
        self, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.crash(case, tmp_path, monkeypatch, 8)
        # Not reached yet.
        assert (case.project / "run.sh").stat().st_mode & 0o100 == 0
        write_files(case.project, {"run.sh": "mine\n"})
        with pytest.raises(SandboxError, match=r"^not applied: run\.sh changed in"):
            case.sandbox.apply(case.candidate)
        assert contents(case.project) == {**case.old, "run.sh": "- b'mine\\n'"}
        assert not case.sandbox.pending_apply()


DRIVER = """
import os, signal, subprocess, sys
from pathlib import Path
from runtrue.sandbox import GitSandbox, apply

home, project, candidate, point, mover = sys.argv[1:]
if mover:
    apply._MOVER = Path(mover)

def die():
    os.killpg(0, signal.SIGKILL)

def watch(event, args):
    if event == "subprocess.Popen" and point in [Path(str(arg)).name for arg in args[1]]:
        die()
    if event == "os.rename" and Path(args[1]).match(point):
        die()

class Popen(subprocess.Popen):
    def communicate(self, *args, **options):
        if point == "started" and apply._MOVER in self.args:
            die()
        return super().communicate(*args, **options)

subprocess.Popen = Popen
sys.addaudithook(watch)
GitSandbox(Path(home), Path(project)).apply(candidate)
"""


def drive(case: Case, point: str = "never", mover: Path | None = None) -> subprocess.Popen[bytes]:
    """A process that applies, leads a group, and kills that at a point."""
    home = case.sandbox.directory.parent
    args = [str(home), str(case.project), case.candidate, point, str(mover or "")]
    return subprocess.Popen([sys.executable, "-c", DRIVER, *args], start_new_session=True)


class TestKill:
    @pytest.mark.parametrize(
        ("point", "is_begun"),
        [
            ("write-tree", False),
            ("checkout-index", False),
            ("new/3", False),
            ("intent.json", False),
            ("_mover.py", False),
            ("started", True),
        ],
    )
    def test_the_tree_is_the_old_or_the_new_one(
        self, case: Case, point: str, is_begun: bool
    ) -> None:
        assert drive(case, point).wait() == -signal.SIGKILL
        case.wait_for_mover()
        assert case.now == (case.new if is_begun else case.old)
        assert "runtrue" not in git(case.project, "status", "--porcelain", "-uall")
        case.again().apply(case.candidate)
        assert contents(case.project) == case.new

    @pytest.mark.parametrize("point", [1, 9])
    def test_the_mover_outlives_its_starter_and_its_group(
        self, case: Case, tmp_path: Path, point: int
    ) -> None:
        reached, go_on = tmp_path / "reached", tmp_path / "go-on"
        for pipe in (reached, go_on):
            os.mkfifo(pipe)
        # Open at both ends, so that nobody waits for ever when something fails.
        ends = [os.open(pipe, os.O_RDWR) for pipe in (reached, go_on)]
        wait = f"os.system('echo >{reached}; read line <{go_on}')"
        driver = drive(case, mover=mover_with(tmp_path, f"n == {point} and {wait}"))
        assert select.select(ends[:1], [], [], 60)[0]
        assert (case.now == case.old) is (point == 1)
        assert case.stages
        assert "runtrue" not in git(case.project, "status", "--porcelain", "-uall")
        os.killpg(driver.pid, signal.SIGKILL)
        assert driver.wait() == -signal.SIGKILL
        sandbox = case.again()
        assert sandbox.pending_apply()
        os.write(ends[1], b"\n")
        # It waits for the mover, then finds nothing left to do.
        assert set(sandbox.apply(case.candidate)) == EVERYTHING
        assert contents(case.project) == case.new
        assert not sandbox.pending_apply()
        for end in ends:
            os.close(end)


class TestTheUserMeanwhile:
    @pytest.mark.parametrize("point", [0, 1, 5, 9], ids=["before", "first", "later", "much later"])
    @pytest.mark.parametrize("file", ["run.sh", "new/dir/file.py"])
    def test_an_edit_after_the_check_is_a_conflict_and_is_kept(
        self,
        case: Case,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        point: int,
        file: str,
    ) -> None:
        path = case.project / file
        edit = f"os.system('mkdir -p {path.parent}; printf mine >{path}')"
        script = mover_with(tmp_path, f"n == {point} and {edit}")
        if not point:
            script.write_text(f"import os\n{edit}\n{script.read_text()}")
        monkeypatch.setattr(apply, "_MOVER", script)
        with pytest.raises(SandboxError) as caught:
            case.sandbox.apply(case.candidate)
        assert str(caught.value) == (
            f"not applied: {file} changed in {case.project} since the run began; "
            "stash the changes or merge the patch by hand"
        )
        assert contents(case.project) == {**case.old, file: "- b'mine'"}
        assert not case.sandbox.pending_apply()

    def test_what_lies_in_the_way_is_named_and_everything_is_as_it_was(self, case: Case) -> None:
        write_files(case.project, {".git/info/exclude": "*.o\n", "shape/mine.o": "mine"})
        before = contents(case.project)
        with pytest.raises(SandboxError) as caught:
            case.sandbox.apply(case.candidate)
        assert str(caught.value) == (
            f"not applied, and nothing is changed: {case.project}/shape: Directory not empty; "
            "fix that, then finish with `runtrue runs resume`"
        )
        assert contents(case.project) == before

    def test_nothing_is_written_behind_a_link(self, case: Case, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (case.project / "new").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(SandboxError, match=r"^not applied: new changed in"):
            case.sandbox.apply(case.candidate)
        assert contents(case.project) == {**case.old, "new": f"-> {tmp_path}/elsewhere"}
        assert not list((tmp_path / "elsewhere").iterdir())

    def test_an_empty_directory_makes_room(self, case: Case) -> None:
        (case.project / "new/dir/file.py").mkdir(parents=True)
        case.sandbox.apply(case.candidate)
        assert contents(case.project) == case.new

    def test_a_repository_within_is_left_alone(self, tmp_path: Path) -> None:
        project = make_repository(tmp_path / "project", {"a": "1\n"})
        make_repository(project / "inner", {"b": "1\n"})
        git(project, "add", "inner")
        sandbox = make_sandbox(project, kind="worktree")
        sandbox.open()
        write_files(sandbox.directory, {"a": "2\n"})
        shutil.rmtree(sandbox.directory / "inner")
        sandbox.apply(sandbox.snapshot())
        assert (project / "a").read_text() == "2\n"
        assert (project / "inner" / "b").read_text() == "1\n"

    def test_a_stage_that_cannot_be_made_is_one_clear_sentence(
        self, case: Case, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(path: str) -> None:
            raise OSError(28, "No space left")

        monkeypatch.setattr(apply, "sync", refuse)
        with pytest.raises(SandboxError, match=r"^not applied, and nothing is changed: .*No space"):
            case.sandbox.apply(case.candidate)
        assert contents(case.project) == case.old

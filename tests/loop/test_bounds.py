"""Bounds say what may be changed and run, and let nothing else through."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runtrue.loop import Bounds, as_pattern, matches

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/*?\0"), min_size=1, max_size=6)
PATHS = st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=1, max_size=4).map(
    "/".join
)
#: What starts another command, or sends the output of one elsewhere.
ANOTHER = st.sampled_from([";", "&&", "||", "&", "|", "\n", "$(x)", "`x`", ">", "<", "${x}"])


@given(PATHS)
def test_a_path_means_itself_and_all_below_it(path: str) -> None:
    assume(not path.startswith("./"))
    assert matches(path, path)
    assert matches(path, f"{path}/")
    assert matches(path, f"./{path}")
    assert matches(f"{path}/below/it", path)
    assert not matches(f"{path}x", path)
    assert not matches(f"above/{path}", path) or path.startswith("above")


@given(PATHS, PATHS)
def test_a_path_means_no_other(path: str, other: str) -> None:
    assume(path.removeprefix("./").rstrip("/") not in ("", "."))
    assert matches(other, path) is (other == path or other.startswith(f"{path}/"))


@given(PATHS)
def test_two_stars_mean_everything(path: str) -> None:
    assert matches(path, "**")
    assert matches(path, ".")
    assert matches(f"src/{path}", "src/**")


@given(NAMES, PATHS)
def test_one_star_stays_within_a_directory(name: str, path: str) -> None:
    assert matches(f"{name}.py", "*.py")
    assert not matches(f"{name}/{path}.py", "*.py") or name.endswith(".py")
    assert matches(f"src/{name}.py", "src/*.py")
    assert not matches(f"src/a/{name}.py", "src/*.py")


@pytest.mark.parametrize(
    ("pattern", "file", "expected"),
    [
        ("src/**/test_*.py", "src/test_a.py", True),
        ("src/**/test_*.py", "src/a/b/test_a.py", True),
        ("src/**/test_*.py", "src/a/b/a.py", False),
        ("**/models.py", "models.py", True),
        ("**/models.py", "a/models.py", True),
        ("**/models.py", "a/old_models.py", False),
        ("?.py", "a.py", True),
        ("?.py", "ab.py", False),
        ("?.py", "/.py", False),
        ("a?b", "a/b", False),
        ("a.py", "aXpy", False),
        ("src", "src/a/b.py", True),
        ("src", "srcs/a.py", False),
        ("a[0].py", "a[0].py", True),
        ("a[0].py", "a0.py", False),
        ("*.py", "a\n.py", True),
    ],
)
def test_patterns(pattern: str, file: str, expected: bool) -> None:
    assert matches(file, pattern) is expected


class TestFiles:
    def test_without_paths_everything_may_be_changed(self) -> None:
        assert Bounds().outside(["a", "b/c"]) == ()

    def test_with_none_of_them_nothing_may_be_changed(self) -> None:
        assert Bounds(paths=()).outside(["a", "b/c"]) == ("a", "b/c")

    def test_what_is_outside_is_told_in_order(self) -> None:
        bounds = Bounds(paths=("src", "*.md"))
        assert bounds.outside(["z.py", "src/a.py", "README.md", "docs/a.md"]) == (
            "z.py",
            "docs/a.md",
        )

    @given(st.text("ab*?[]/", min_size=1), st.text("ab*?[]/", min_size=1))
    def test_the_pattern_of_a_file_means_that_file_and_no_other(
        self, file: str, other: str
    ) -> None:
        file, other = file.strip("/") or "a", other.strip("/") or "a"
        assert matches(file, as_pattern(file))
        assert matches(other, as_pattern(file)) == (other == file or other.startswith(f"{file}/"))

    @given(st.lists(PATHS), st.lists(PATHS))
    def test_what_was_allowed_in_addition_is_allowed_and_nothing_is_lost(
        self, paths: list[str], more: list[str]
    ) -> None:
        bounds = Bounds(paths=tuple(map(as_pattern, paths)), max_files=3)
        widened = bounds.widened(map(as_pattern, more))
        assert widened.outside([*paths, *more]) == ()
        assert widened.max_files == 3
        assert len(set(widened.paths or ())) == len(widened.paths or ())

    def test_what_is_not_bounded_cannot_be_widened(self) -> None:
        assert Bounds().widened(["a"]) == Bounds()


class TestCommands:
    def test_without_commands_all_may_be_run(self) -> None:
        assert Bounds().allows("rm -rf build; echo $HOME")

    def test_with_none_of_them_none_may_be_run(self) -> None:
        assert not Bounds(commands=()).allows("true")

    @pytest.mark.parametrize(
        ("pattern", "command", "expected"),
        [
            ("pytest", "pytest", True),
            ("pytest", " pytest ", True),
            ("pytest", "pytest -q", False),
            ("pytest *", "pytest -q tests", True),
            ("pytest *", "pytest", False),
            ("pytest*", "pytest", True),
            ("make test", "make test; rm x", False),
            ("a; b", "a; b", True),
            ("a; *", "a; b", True),
            ("a; *", "a; b; c", False),
            ("echo [a]", "echo a", False),
        ],
    )
    def test_patterns(self, pattern: str, command: str, expected: bool) -> None:
        assert Bounds(commands=(pattern,)).allows(command) is expected

    @given(st.text(max_size=8), ANOTHER, st.text(max_size=8))
    def test_no_star_lets_another_command_through(
        self, before: str, another: str, after: str
    ) -> None:
        command = f"run {before}{another}{after} end"
        assert not Bounds(commands=("run *", "run * end", "run*", "*")).allows(command)

    @given(st.text(max_size=20))
    def test_a_command_without_a_star_means_itself(self, command: str) -> None:
        assume("*" not in command)
        assert Bounds(commands=(command,)).allows(command)


class TestWithin:
    OUTER = Bounds(paths=("src",), commands=("make",), max_files=2, max_lines=20, deletes=False)

    def test_what_is_not_said_is_as_it_is_around(self) -> None:
        assert Bounds().within(self.OUTER) == self.OUTER

    def test_what_is_said_holds(self) -> None:
        own = Bounds(paths=(), commands=(), max_files=0, max_lines=0, deletes=False)
        assert own.within(self.OUTER) == own

    def test_what_may_not_be_deleted_around_it_may_not_be_deleted(self) -> None:
        assert not Bounds(deletes=True).within(self.OUTER).deletes
        assert not Bounds(deletes=False).within(Bounds()).deletes

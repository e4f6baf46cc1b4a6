"""The file nodes: read-file and write-file."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import stat
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runtrue.errors import NodeFailed, RuntimeValidationError
from runtrue.workflow.nodes import files
from runtrue.workflow.nodes.files import ReadFileNode, WriteFileNode
from tests.workflow.nodes import support

READ, WRITE = ReadFileNode(), WriteFileNode()
NOBODY = 65534


def read(here: Path, path: str | Path, **params: Any) -> str:
    outputs = support.run(READ, {"file_path": str(path), **params}, support.make_context(here))
    assert outputs.keys() == {"content"}
    content: str = outputs["content"]
    return content


def read_fails(here: Path, path: str | Path, **params: Any) -> NodeFailed:
    params = {"file_path": str(path), **params}
    failed = support.fail(READ, params, support.make_context(here))
    if not isinstance(failed, RuntimeValidationError):
        assert failed.outputs == {"error": failed.message}
    return failed


def write(here: Path, path: str | Path, content: Any, **params: Any) -> dict[str, Any]:
    params = {"file_path": str(path), "content": content, **params}
    return support.run(WRITE, params, support.make_context(here))


def write_fails(here: Path, path: str | Path, content: Any, **params: Any) -> NodeFailed:
    params = {"file_path": str(path), "content": content, **params}
    return support.fail(WRITE, params, support.make_context(here))


@pytest.fixture
def refused() -> Iterator[Path]:
    """A directory in which nothing may be read or written, even if the tests are run by root."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    (directory / "secret").write_text("x")
    (directory / "secret").chmod(0o400 if os.geteuid() == 0 else 0)
    (directory / "open").mkdir()
    (directory / "open").chmod(0o777)
    for fixed in (directory / "fixed", directory / "open" / "fixed"):
        fixed.write_text("x")
        fixed.chmod(0o444)
    if root := os.geteuid() == 0:
        os.seteuid(NOBODY)
    else:
        directory.chmod(0o555)
    yield directory
    if root:
        os.seteuid(0)
    directory.chmod(0o755)
    shutil.rmtree(directory)


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let no file grow larger, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# -- the interface ------------------------------------------------------------------------------


def test_what_read_file_takes_and_gives() -> None:
    interface = READ.interface
    assert (interface.type, interface.required) == ("read-file", ("file_path",))
    assert list(interface.params) == ["file_path", "encoding"]
    assert interface.params["encoding"]["default"] == "utf-8"
    assert {name: output.type for name, output in interface.outputs.items()} == {
        **{"content": "string", "error": "string"}
    }
    assert not READ.has_side_effect({"file_path": "x"})


def test_what_write_file_takes_and_gives() -> None:
    interface = WRITE.interface
    assert (interface.type, interface.required) == ("write-file", ("file_path", "content"))
    assert list(interface.params) == ["file_path", "content", "encoding", "append", "base64"]
    assert interface.params["append"]["default"] is False
    assert interface.params["base64"]["default"] is False
    assert {name: output.type for name, output in interface.outputs.items()} == {
        **{"written": "boolean", "file_path": "string", "error": "string"}
    }


@pytest.mark.parametrize(
    ("append", "effect"), [(None, False), (False, False), (True, True), ("${x}", True)]
)
def test_only_appending_is_a_side_effect(append: Any, effect: bool) -> None:
    params = {"file_path": "x", "content": "y"}
    given = params if append is None else {**params, "append": append}
    assert WRITE.has_side_effect(given) is effect


@pytest.mark.parametrize("node", [READ, WRITE])
def test_an_encoding_that_is_none_is_a_problem(node: ReadFileNode | WriteFileNode) -> None:
    for encoding in ("utf-9", "base64", "rot13", "", "a\0b"):
        ((place, message),) = node.check({"encoding": encoding})
        assert place == ("encoding",)
        assert "utf-8" in message
    for encoding in ("utf-8", "latin-1", "UTF-16", "${x}"):
        assert list(node.check({"encoding": encoding})) == []
    assert list(node.check({})) == []


# -- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"a", b"a\r\nb\rc\n\n", "\ufeffé\0\u2028".encode()])
def test_content_is_exactly_what_is_in_the_file(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_bytes(data)
    assert read(tmp_path, "file.txt").encode() == data


def test_the_encoding_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("é".encode("latin-1"))
    assert read(tmp_path, "file", encoding="latin-1") == "é"


@pytest.mark.parametrize("path", ["sub/file", "./sub/../sub/file", "{here}/sub/file", "~/sub/file"])
def test_paths_are_relative_to_the_directory_of_the_run(path: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").write_text("x")
    context = support.make_context(tmp_path, {"HOME": str(tmp_path)})
    params = {"file_path": path.replace("{here}", str(tmp_path))}
    assert support.run(READ, params, context) == {"content": "x"}


@pytest.mark.parametrize("path", ["", "a\0b", "~no-such-user-here/x"])
def test_a_path_that_is_none_is_told(path: str, tmp_path: Path) -> None:
    failed = read_fails(tmp_path, path)
    assert isinstance(failed, RuntimeValidationError)
    assert failed.category == "bad_path"


def test_a_missing_file_fails_with_what_there_is(tmp_path: Path) -> None:
    for name in ("zebra", "report.txt", "aardvark"):
        (tmp_path / name).touch()
    failed = read_fails(tmp_path, "raport.txt")
    assert (failed.category, failed.fault) == ("file_not_found", "candidate")
    assert failed.attempted == (str(tmp_path / "raport.txt"),)
    assert failed.available == ("report.txt", "aardvark", "zebra")
    assert failed.message.endswith("did you mean 'report.txt'?")
    assert read_fails(tmp_path, "no/such/file").message.endswith("is not a readable directory")
    assert read_fails(tmp_path, "zebra/x").category == "file_not_found"
    (tmp_path / "empty").mkdir()
    assert read_fails(tmp_path, "empty/x").message.endswith("empty is empty")


def test_a_directory_fails_with_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    failed = read_fails(tmp_path, ".")
    assert (failed.category, failed.available) == ("is_a_directory", ("sub",))


def test_what_may_not_be_read_is_the_environments_fault(refused: Path) -> None:
    failed = read_fails(refused, "secret")
    assert (failed.category, failed.fault) == ("permission", "environment")


@pytest.mark.parametrize(
    ("data", "encoding"), [(b"a\xff", "utf-8"), (b"a", "utf-16"), (b"+2AA-", "utf-7")]
)
def test_what_is_no_text_in_that_encoding_fails(data: bytes, encoding: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)
    failed = read_fails(tmp_path, "file", encoding=encoding)
    assert (failed.category, failed.fault) == ("decoding", "candidate")
    assert encoding in failed.message


def test_an_unknown_encoding_fails(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for failed in (
        read_fails(tmp_path, "file", encoding="utf-9"),
        write_fails(tmp_path, "file", "", encoding="utf-9"),
    ):
        assert isinstance(failed, RuntimeValidationError)
        assert failed.category == "unknown_encoding"


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_FILE", 1024**2)
    (tmp_path / "fits").write_bytes(b"x" * 1024**2)
    (tmp_path / "large").write_bytes(b"x" * (1024**2 + 1))
    assert len(read(tmp_path, "fits")) == 1024**2
    failed = read_fails(tmp_path, "large")
    assert (failed.category, failed.fault) == ("too_large", "candidate")
    assert failed.message.endswith("is larger than 1 MB")


def test_what_is_not_a_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_fails(tmp_path, "pipe").category == "not_a_file"
    assert write_fails(tmp_path, "pipe", "x").category == "not_a_file"
    assert write_fails(tmp_path, "pipe", "x", append=True).category == "not_a_file"


def test_other_refusals_are_named_by_their_number(tmp_path: Path) -> None:
    failed = read_fails(tmp_path, "x" * 300)
    assert (failed.category, failed.fault) == ("enametoolong", "candidate")
    (tmp_path / "loop").symlink_to("loop")
    assert read_fails(tmp_path, "loop").category == "eloop"
    assert write_fails(tmp_path, "loop", "x").category == "eloop"


# -- writing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize("content", ["", "a\r\nb\rc\n", "é\u2028🎉"])
def test_text_is_written_as_it_is(content: str, append: bool, tmp_path: Path) -> None:
    outputs = write(tmp_path, "file.txt", content, append=append)
    assert outputs == {"written": True, "file_path": str(tmp_path / "file.txt")}
    assert (tmp_path / "file.txt").read_bytes() == content.encode()


@pytest.mark.parametrize("content", [None, True, 5, 1.5, [], {"a": ["é", None]}])
def test_anything_else_is_written_as_json(content: Any, tmp_path: Path) -> None:
    write(tmp_path, "file.json", content)
    text = (tmp_path / "file.json").read_text()
    assert json.loads(text) == content
    assert text == json.dumps(content, indent=2, ensure_ascii=False)


def test_the_encoding_of_what_is_written_can_be_chosen(tmp_path: Path) -> None:
    write(tmp_path, "file", "é", encoding="latin-1")
    assert (tmp_path / "file").read_bytes() == b"\xe9"
    failed = write_fails(tmp_path, "file", "日", encoding="latin-1")
    assert (failed.category, failed.outputs) == ("encoding", {"error": failed.message})
    assert (tmp_path / "file").read_bytes() == b"\xe9"


def test_missing_directories_are_made(tmp_path: Path) -> None:
    write(tmp_path, "a/b/c.txt", "x")
    write(tmp_path, "d/e.txt", "x", append=True)
    assert (tmp_path / "a" / "b" / "c.txt").read_text() == "x"
    assert (tmp_path / "d" / "e.txt").read_text() == "x"


def test_base64_is_written_as_the_bytes_that_it_stands_for(tmp_path: Path) -> None:
    data = bytes(range(256))
    write(tmp_path, "x", b64encode(data).decode(), base64=True)
    write(tmp_path, "x", "Ag==", base64=True, append=True)
    assert (tmp_path / "x").read_bytes() == data + b"\x02"
    write(tmp_path, "x", "Ag==", base64=False)
    assert (tmp_path / "x").read_text() == "Ag=="


@pytest.mark.parametrize("content", ["a,b", "Ag=", "é", {"a": 1}, None, 5])
def test_what_is_not_base64_is_not_written_as_such(content: Any, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("before")
    failed = write_fails(tmp_path, "x", content, base64=True)
    assert failed.category == "encoding"
    assert "not base64" in failed.message
    assert (tmp_path / "x").read_text() == "before"


def test_appending_adds_to_the_end(tmp_path: Path) -> None:
    for line in ("a\n", "b\n"):
        write(tmp_path, "log", line, append=True)
    assert (tmp_path / "log").read_text() == "a\nb\n"


def test_those_who_append_at_once_do_not_mix(tmp_path: Path) -> None:
    context = support.make_context(tmp_path)

    async def all_at_once() -> None:
        lines = [f"{n}" * 20_000 + "\n" for n in range(8)]
        params = [{"file_path": "log", "content": line, "append": True} for line in lines]
        await asyncio.gather(*(support.perform(WRITE, one, context) for one in params))

    asyncio.run(all_at_once())
    lines = (tmp_path / "log").read_text().splitlines()
    assert sorted(lines) == [f"{n}" * 20_000 for n in range(8)]


def test_replacing_is_all_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("before")
    with files_up_to(4):
        failed = write_fails(tmp_path, "file", "afterwards")
    assert failed.category == "efbig"
    assert failed.outputs == {"error": failed.message}
    assert (tmp_path / "file").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_appending_a_part_is_a_failure(tmp_path: Path) -> None:
    with files_up_to(4):
        failed = write_fails(tmp_path, "file", "afterwards", append=True)
    assert failed.category == "efbig"
    assert (tmp_path / "file").read_text() == "afte"


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    """The old file is not touched: whoever has it open still has all of it."""
    (tmp_path / "file").write_text("before")
    with (tmp_path / "file").open() as old:
        write(tmp_path, "file", "after")
        assert old.read() == "before"
    assert (tmp_path / "file").read_text() == "after"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_mode_of_a_file_stays(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path, "new", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o751)
    write(tmp_path, "new", "y")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o751


@pytest.mark.parametrize("append", [False, True])
def test_it_writes_through_a_link(append: bool, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/file")
    write(tmp_path, "link", "x", append=append)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "file").read_text() == "x"


@pytest.mark.parametrize("append", [False, True])
def test_what_may_not_be_written_is_the_environments_fault(append: bool, refused: Path) -> None:
    for name in ("new", "fixed", "open/fixed"):
        failed = write_fails(refused, name, "y", append=append)
        assert (failed.category, failed.fault) == ("permission", "environment")
    assert (refused / "fixed").read_text() == (refused / "open" / "fixed").read_text() == "x"


@pytest.mark.parametrize("append", [False, True])
def test_what_is_in_the_way_is_told(append: bool, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "file").touch()
    assert write_fails(tmp_path, "sub", "x", append=append).category == "is_a_directory"
    assert write_fails(tmp_path, "file/x", "y", append=append).category == "not_a_directory"
    assert write_fails(tmp_path, "file/x/y", "z", append=append).category == "not_a_directory"

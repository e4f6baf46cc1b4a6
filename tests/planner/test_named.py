"""What a task names, and what it only speaks of."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtrue.planner.named import NamedByTask

URL = "http://api.example/orders"


def named(task: str, directory: Path = Path("/work")) -> NamedByTask:
    return NamedByTask(task, lambda word: directory / word)


@pytest.mark.parametrize(
    ("task", "method", "url"),
    [
        (f"post a book to {URL}", "POST", URL),
        (f"create an order at {URL} with item=book", "POST", URL),
        (f'please send {{"a": 1}} to {URL}', "POST", URL),
        (f"send a DELETE request to {URL}/7", "DELETE", f"{URL}/7"),
        (f"delete {URL}/7", "DELETE", f"{URL}/7"),
        (f"fetch {URL}/7, then delete it", "DELETE", f"{URL}/7"),
        (f"update {URL}/7 with item=pen", "PATCH", f"{URL}/7"),
        (f"put item=pen to {URL}/7", "PUT", f"{URL}/7"),
        (
            "delete http://api.example/users/{id}/posts",
            "DELETE",
            "http://api.example/users/7/posts",
        ),
        ("post hello to http://api.example", "POST", "https://api.example/messages"),
        (f"delete {URL}?id=7", "DELETE", f"{URL}?id=7"),
    ],
)
def test_a_request_that_the_task_says_to_send(task: str, method: str, url: str) -> None:
    assert named(task).request(method, url)


@pytest.mark.parametrize(
    ("task", "method", "url"),
    [
        (f"get the latest post of {URL}", "POST", URL),
        (f"fetch {URL} and delete the second column", "DELETE", URL),
        (f"delete {URL}/7", "DELETE", f"{URL}/8"),
        (f"delete {URL}/7", "DELETE", URL),
        (f"delete {URL}/7", "DELETE", f"{URL}/7/../8"),
        (f"delete {URL}/7", "DELETE", f"{URL}/7/%2e%2e/8"),
        (f"delete {URL}?id=7", "DELETE", f"{URL}?id=8"),
        (f"delete {URL}/7", "POST", f"{URL}/7"),
        (f"post a book to {URL}", "POST", "http://api.example.evil/orders"),
        (f"post a book to {URL}", "POST", "http://api.example:8080/orders"),
        (f"post a book to {URL}", "POST", "http://api.example@evil.example/orders"),
        (f"fetch {URL} but do not delete it", "DELETE", URL),
        (f"never delete {URL}/7", "DELETE", f"{URL}/7"),
        (f"send {URL} to bob", "POST", URL),
        (f"post the text of http://a.example/x to {URL}", "POST", "http://a.example/x"),
        (f"fetch {URL}", "POST", URL),
    ],
)
def test_a_request_that_the_task_does_not_say_to_send(task: str, method: str, url: str) -> None:
    assert not named(task).request(method, url)


@pytest.mark.parametrize(
    ("task", "origin", "is_named"),
    [
        ("fetch http://a.example/x", "http://a.example", True),
        ("fetch http://a.example/x", "https://a.example", True),
        ("fetch https://a.example/x", "http://a.example", False),
        ("fetch http://a.example:8000/x.", "http://a.example:8000", True),
        ("fetch http://a.example:8000/x", "http://a.example", False),
        ("what does api.a.example say?", "https://api.a.example", True),
        ("what does api.a.example say?", "https://a.example", False),
        ("read notes.md", "https://notes.md", False),
        ("fetch http://a.example@b.example/x", "http://a.example", False),
    ],
)
def test_the_hosts_of_a_task(task: str, origin: str, is_named: bool) -> None:
    assert named(task).host(origin) is is_named


@pytest.mark.parametrize(
    ("task", "file", "is_named"),
    [
        ("fetch http://a.example and save as out.json", "out.json", True),
        ("write the total to notes", "notes", True),
        ("append a line to log/today.txt", "log/today.txt", True),
        ("save each into backup/", "backup/a.json", True),
        ("read notes.txt and count the words", "notes.txt", False),
        ("count the words in notes.txt", "notes.txt", False),
        ("copy a.txt to b.txt", "a.txt", False),
        ("copy a.txt to b.txt", "b.txt", True),
        ("save the users to out.json", "users", False),
        ("save the listing of . to ./", "run.py", False),
        ("do not write to out.json", "out.json", False),
    ],
)
def test_the_files_that_a_task_says_to_write(
    task: str, file: str, is_named: bool, tmp_path: Path
) -> None:
    assert named(task, tmp_path).written_file(tmp_path / file) is is_named


@pytest.mark.parametrize(
    ("task", "command", "is_named"),
    [
        ("run `df -h` and save the output to disk.txt", "df -h", True),
        ("save the output of `df -h` to disk.txt", "df -h", True),
        ("run df -h, then stop", "df -h", True),
        ("run rm -rf build/old", "rm -rf build", False),
        ("run rm -rf build and more", "rm -rf build", True),
        ("explain `rm -rf /`", "rm -rf /", False),
        ("do not run `rm -rf /`", "rm -rf /", False),
        ("what would `rm -rf /` do?", "rm -rf /", False),
        ("run `ls`", "ls; rm x", False),
    ],
)
def test_the_commands_that_a_task_says_to_run(task: str, command: str, is_named: bool) -> None:
    assert named(task).command(command) is is_named


def test_a_command_reads_only_what_the_task_says() -> None:
    assert named("run `sh`").command("sh")
    assert not named("run `sh`").command("sh", ["rm -rf ."])
    assert named('run `cat` on "hello"').command("cat", ["hello"])

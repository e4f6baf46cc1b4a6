"""Where secrets are used, they come from the stores, too, and nothing that comes back has them."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from runtrue.models import BadCredentials, open_model
from runtrue.models.providers import find_endpoint
from runtrue.secrets import FileStore
from runtrue.workflow import Registry, run_workflow
from runtrue.workflow.secrets import SecretRedactor

VALUE = "swordfish-of-the-store-4711"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileStore:
    monkeypatch.setenv("RUNTRUE_HOME", str(tmp_path / "home"))
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.chdir(tmp_path)
    return FileStore.of_user()


def shell(command: str) -> dict[str, Any]:
    return {"nodes": [{"id": "say", "type": "shell", "params": {"command": command}}]}


def test_a_workflow_finds_a_secret_that_is_kept(store: FileStore) -> None:
    store.set("KEPT_TOKEN", VALUE)
    result = run_workflow(shell("echo ${env.KEPT_TOKEN} | base64; echo ${env.KEPT_TOKEN}; exit 3"))
    assert result.error is not None
    said = repr(result)
    assert VALUE not in said
    assert base64.b64encode(VALUE.encode()).decode()[:-2] not in said


def test_a_workflow_that_misses_a_secret_says_how_to_keep_it(store: FileStore) -> None:
    result = run_workflow(shell("echo ${env.KEPT_TOKEN}"))
    assert result.error is not None
    assert result.error.category == "missing_secret"
    assert "runtrue secret set KEPT_TOKEN" in result.error.message


def test_a_workflow_does_not_use_an_unsafe_store(store: FileStore) -> None:
    store.set("KEPT_TOKEN", VALUE)
    store.path.chmod(0o644)
    result = run_workflow(shell("echo ${env.KEPT_TOKEN}"))
    assert result.error is not None
    assert result.error.category == "missing_secret"
    assert result.error.fault == "credentials"
    assert "chmod 600" in result.error.message


def test_a_kept_secret_is_not_given_to_commands_that_do_not_name_it(store: FileStore) -> None:
    store.set("KEPT_TOKEN", VALUE)
    result = run_workflow(shell("env"), registry=Registry.here())
    assert result.error is None
    assert "KEPT_TOKEN" not in repr(result)


def test_the_key_of_a_model_may_be_kept(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(BadCredentials, match="runtrue secret set OPENAI_API_KEY"):
        find_endpoint("openai:some", os.environ)
    store.set("OPENAI_API_KEY", f" {VALUE}\n")
    endpoint = find_endpoint("openai:some", os.environ)
    assert endpoint.key == VALUE
    assert VALUE not in repr(endpoint)
    with pytest.raises(BadCredentials):
        find_endpoint("openai:some", {})


def test_the_key_of_a_model_is_not_read_from_an_unsafe_store(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    store.set("OPENAI_API_KEY", VALUE)
    store.path.chmod(0o640)
    with pytest.raises(BadCredentials, match=r"OPENAI_API_KEY cannot be read: .*chmod 600"):
        open_model("openai:some", os.environ)


def test_a_key_that_is_echoed_encoded_is_taken_out() -> None:
    endpoint = find_endpoint("openai:some", {"OPENAI_API_KEY": VALUE})
    encoded = base64.b64encode(f"k:{VALUE}".encode()).decode()
    said = endpoint.redact(f"bad key {VALUE}, {encoded}, {VALUE.encode().hex()}")
    assert said.startswith("bad key [key], ")
    assert encoded not in said
    assert VALUE.encode().hex() not in said


class TestScrubber:
    ENVIRONMENT = {  # noqa: RUF012
        "SERVICE_TOKEN": "token+of/mine=1",
        "SHORT_KEY": "testing",
        "DATABASE_URL": "postgres://ann:long-password@db/x",
        "HOME": "/home/somebody",
    }

    def redact(self, value: Any, environment: dict[str, str] | None = None) -> Any:
        redactor = SecretRedactor(())
        redactor.surround(environment or self.ENVIRONMENT)
        return redactor.redact(value)

    def test_what_is_secret_in_the_environment_is_taken_out(self) -> None:
        encoded = base64.b64encode(b"u:token+of/mine=1").decode()
        value = {"out": ["a token+of/mine=1 b", encoded], "token+of/mine=1": "long-password"}
        scrubbed = self.redact(value)
        assert scrubbed["out"][0] == "a [redacted: SERVICE_TOKEN] b"
        assert encoded not in scrubbed["out"][1]
        assert scrubbed["[redacted: SERVICE_TOKEN]"] == "[redacted: DATABASE_URL]"

    def test_words_and_what_is_no_secret_stay(self) -> None:
        value = {"out": ["testing /home/somebody", 5, None], "more": ("a", "b")}
        assert self.redact(value) is value

    def test_where_a_secret_lies_is_no_secret(self, tmp_path: Path) -> None:
        file = tmp_path / "credentials.json"
        file.write_text("{}")
        environment = {"GOOGLE_APPLICATION_CREDENTIALS": str(file)}
        assert self.redact(f"cat {file}", environment) == f"cat {file}"

    def test_hexadecimal_of_a_secret_is_taken_out(self) -> None:
        redact = SecretRedactor(["s3cret-in-hex"]).redact
        data = b"s3cret-in-hex"
        assert redact([f"<{data.hex()}>", data.hex().upper()]) == ["<[redacted]>", "[redacted]"]

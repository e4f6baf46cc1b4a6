"""Providers: which model is meant, who serves it, with which key and where."""

from __future__ import annotations

import subprocess
import sys

import pytest

from runtrue.loop import Fault
from runtrue.models import BadCredentials, ModelError, ModelUnavailable, model_name, open_model
from runtrue.models.conversation import connect
from runtrue.models.providers import PROVIDERS, find_endpoint

KEY = {"OPENAI_API_KEY": "sk-1"}


@pytest.mark.parametrize(
    ("environment", "configured", "name"),
    [
        ({}, None, None),
        ({}, "", None),
        ({}, "openai:a", "openai:a"),
        ({"RUNTRUE_MODEL": "openai:b"}, None, "openai:b"),
        ({"RUNTRUE_MODEL": " openai:b\n"}, "openai:a", "openai:b"),
        ({"RUNTRUE_MODEL": " "}, "openai:a", "openai:a"),
    ],
)
def test_the_environment_overrides_the_configuration(
    environment: dict[str, str], configured: str | None, name: str | None
) -> None:
    assert model_name(environment, configured) == name


@pytest.mark.parametrize(
    ("name", "environment", "kind", "says"),
    [
        (None, {}, ModelUnavailable, ["RUNTRUE_MODEL", "pip install 'runtrue[models]'"]),
        ("", {}, ModelUnavailable, ["RUNTRUE_MODEL"]),
        ("opnai:gpt-4o", KEY, ModelUnavailable, ["'opnai:gpt-4o'", "did you mean 'openai'?"]),
        ("gpt-4o", KEY, ModelUnavailable, ["provider:model", "anthropic, ", "OPENAI_BASE_URL"]),
        ("openai:", KEY, ModelUnavailable, ["openai:model"]),
        ("openrouter:x", {"OPENROUTER_API_KEY": "k"}, ModelUnavailable, ["openai/x"]),
        ("openai:gpt-4o", {}, BadCredentials, ["set OPENAI_API_KEY"]),
        ("anthropic:claude", KEY, BadCredentials, ["set ANTHROPIC_API_KEY"]),
        ("openai:x", {"OPENAI_API_KEY": "sk-\nx"}, BadCredentials, ["OPENAI_API_KEY contains"]),
        ("openai:x", {"OPENAI_API_KEY": "clé"}, BadCredentials, ["OPENAI_API_KEY contains"]),
        ("openai:x", {"OPENAI_BASE_URL": "localhost/v1"}, ModelUnavailable, ["OPENAI_BASE_URL"]),
        ("openai:x", {"OPENAI_BASE_URL": "http://[::1"}, ModelUnavailable, ["OPENAI_BASE_URL"]),
        ("openai:x", {"OPENAI_BASE_URL": "http://x:9a"}, ModelUnavailable, ["OPENAI_BASE_URL"]),
    ],
)
def test_what_cannot_be_asked_is_refused_from_the_start_with_what_to_do(
    name: str | None, environment: dict[str, str], kind: type[ModelError], says: list[str]
) -> None:
    with pytest.raises(kind) as caught:
        open_model(name, environment)
    message = str(caught.value)
    assert all(part in message for part in says), message
    assert "\n" not in message
    assert not any(key in message for key in environment.values())
    fault = Fault.CREDENTIALS if kind is BadCredentials else Fault.ENVIRONMENT
    assert (caught.value.fault, caught.value.transient) == (fault, False)


@pytest.mark.parametrize("name", ["test", "test:x", "function:x", "gateway/openai:gpt-4o"])
def test_what_is_no_provider_of_models_is_not_exposed(name: str) -> None:
    with pytest.raises(ModelUnavailable, match="no known provider"):
        open_model(name, KEY)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_can_be_opened_with_nothing_but_its_key(provider: str) -> None:
    name = f"{provider}:openai/gpt-4o"
    model = open_model(name, {PROVIDERS[provider].key: "a-key"})
    assert model.name == name
    assert repr(model) == f"<Model {name!r}>"


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("openai:local", {"OPENAI_BASE_URL": "http://localhost:8000/v1"}),
        ("anthropic:local", {"ANTHROPIC_BASE_URL": "http://localhost:8000"}),
        ("ollama:local", {}),
    ],
)
def test_an_endpoint_of_ones_own_may_do_without_a_key(
    name: str, environment: dict[str, str]
) -> None:
    assert open_model(name, environment).name == name


@pytest.mark.parametrize(
    ("name", "environment", "api", "url"),
    [
        ("openai:x", KEY, "OpenAIResponsesModel", "https://api.openai.com/v1/"),
        ("openai-chat:x", KEY, "OpenAIChatModel", "https://api.openai.com/v1/"),
        (
            "anthropic:x",
            {"ANTHROPIC_API_KEY": "k"},
            "AnthropicModel",
            "https://api.anthropic.com",
        ),
        ("openai:x", {"OPENAI_BASE_URL": "http://own/v1"}, "OpenAIChatModel", "http://own/v1/"),
        (
            "openai-responses:x",
            {"OPENAI_BASE_URL": "http://own/v1"},
            "OpenAIResponsesModel",
            "http://own/v1/",
        ),
    ],
)
def test_only_the_environment_that_was_given_decides_where_a_model_is(
    name: str,
    environment: dict[str, str],
    api: str,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(variable, "http://of-this-process/v1")
    model = connect(find_endpoint(name, environment))
    assert (type(model).__name__, model.base_url) == (api, url)


def test_a_key_is_taken_without_the_space_around_it_and_never_shown() -> None:
    endpoint = find_endpoint("openai:x", {"OPENAI_API_KEY": " sk-1\n"})
    assert endpoint.key == "sk-1"
    assert "sk-1" not in repr(endpoint)


def test_the_keys_of_this_process_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-this-process")
    with pytest.raises(BadCredentials):
        open_model("openai:gpt-4o", {})


# -- what is imported ---------------------------------------------------------------------------


def _python(code: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return ended.stdout.strip()


def test_importing_the_door_imports_nothing_heavy() -> None:
    heavy = "pydantic_ai pydantic openai anthropic httpx2 jsonschema asyncio runtrue.loop"
    code = "import sys, runtrue.models; print(*sys.modules.keys() & set({!r}.split()))"
    assert _python(code.format(heavy)) == ""
    # The same question has an answer where something heavy is there.
    assert _python("import asyncio, json; " + code.format("json asyncio")) != ""


@pytest.mark.parametrize("missing", ["pydantic_ai", "anthropic"])
def test_a_package_that_is_missing_is_named_by_how_to_install_it(missing: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
from runtrue.models import ModelUnavailable, open_model
try:
    open_model("anthropic:claude", {{"ANTHROPIC_API_KEY": "k"}})
except ModelUnavailable as error:
    print(error)
"""
    said = "anthropic:claude needs packages that are not installed; pip install 'runtrue[models]'"
    assert _python(code) == said

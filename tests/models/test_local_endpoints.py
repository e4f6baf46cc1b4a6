"""Names and variables of programs that serve models on one's own machine."""

from __future__ import annotations

import pytest

from runtrue.models import ModelUnavailable
from runtrue.models.providers import find_endpoint


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("gpu.lan", "http://gpu.lan:11434/v1"),
        ("gpu.lan:8080", "http://gpu.lan:8080/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),  # noqa: S104
        ("http://gpu.lan:1/", "http://gpu.lan:1/v1"),
        ("https://models.example", "https://models.example/v1"),
    ],
)
def test_ollama_is_found_by_its_own_variable(host: str, url: str) -> None:
    assert find_endpoint("ollama:qwen3", {"OLLAMA_HOST": host}).url == url


def test_ollama_base_url_comes_before_ollama_host() -> None:
    both = {"OLLAMA_HOST": "a", "OLLAMA_BASE_URL": "http://b:1/v1"}
    assert find_endpoint("ollama:qwen3", both).url == "http://b:1/v1"


@pytest.mark.parametrize("provider", ["vllm", "lmstudio", "llama.cpp"])
def test_a_program_that_speaks_the_protocol_of_openai_is_told_how_to_name(provider: str) -> None:
    with pytest.raises(ModelUnavailable) as failed:
        find_endpoint(f"{provider}:foo", {})
    assert "RUNTRUE_MODEL=openai:foo and OPENAI_BASE_URL" in str(failed.value)

"""`[model] base_url` and `key_env`: which address is asked, and which key goes there."""

from __future__ import annotations

import pytest

from runtrue.config import ModelConfig
from runtrue.models import ModelError
from runtrue.models.providers import find_endpoint

OWN = ModelConfig(name="openai:qwen3", base_url="http://gpu.lan:8000/v1")
KEYS = {"OPENAI_API_KEY": "sk-of-the-provider", "GPU_KEY": "sk-gpu"}


def test_an_address_of_the_file_gets_no_key_that_the_file_does_not_name() -> None:
    endpoint = find_endpoint("openai:qwen3", KEYS, OWN)
    assert endpoint.url == "http://gpu.lan:8000/v1"
    assert endpoint.key is None
    assert endpoint.is_own


def test_the_key_is_that_of_the_variable_that_the_file_names() -> None:
    config = ModelConfig(name=OWN.name, base_url=OWN.base_url, key_env="GPU_KEY")
    assert find_endpoint("openai:qwen3", KEYS, config).key == "sk-gpu"
    with pytest.raises(ModelError, match="set GPU_KEY"):
        find_endpoint("openai:qwen3", {"OPENAI_API_KEY": "sk-of-the-provider"}, config)


def test_the_variable_of_the_provider_comes_before_the_file() -> None:
    environment = {**KEYS, "OPENAI_BASE_URL": "http://mine:1/v1"}
    endpoint = find_endpoint("openai:qwen3", environment, OWN)
    assert (endpoint.url, endpoint.key) == ("http://mine:1/v1", "sk-of-the-provider")


def test_it_holds_for_another_model_of_the_provider_and_for_no_other_provider() -> None:
    assert find_endpoint("openai:other", KEYS, OWN).url == OWN.base_url
    environment = {"ANTHROPIC_API_KEY": "sk-a"}
    assert find_endpoint("anthropic:x", environment, OWN).url == "https://api.anthropic.com"


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (ModelConfig(name="openai:x", base_url="gpu.lan:8000"), "base_url is not a URL"),
        (ModelConfig(name="openrouter:x", base_url="http://a/v1"), "openrouter has one address"),
    ],
)
def test_what_cannot_be_an_address_is_refused_in_a_sentence(config: ModelConfig, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        find_endpoint(config.name, KEYS, config)

"""Providers: who serves a model, and the variables for its key and endpoint."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runtrue.config import ModelConfig
from runtrue.documents import closest
from runtrue.errors import UsageError
from runtrue.models.errors import BadCredentials, ModelUnavailable
from runtrue.plugins import PluginGroup, plugin_named
from runtrue.redaction import Redactor
from runtrue.secrets import StoreRefused, secret_of

if TYPE_CHECKING:
    from pydantic_ai.models import Model

#: The variable that names the model, whatever the configuration says.
MODEL = "RUNTRUE_MODEL"
#: The variable with its price, where the library knows none: US dollars for a million tokens.
PRICE = "RUNTRUE_MODEL_PRICE"
INSTALL = "pip install 'runtrue[models]'"


@dataclass(frozen=True)
class Provider:
    """The variables of one provider. An endpoint that the user named may do without a key.

    A plugin derives from it, with defaults for the fields, and defines `connect`.
    """

    key: str
    url: str | None = None
    default_url: str | None = None
    needs_key: bool = True

    def connect(self, endpoint: Endpoint) -> Model | None:
        """Return pydantic-ai's model for an endpoint; None where the library knows the provider."""
        return None


_OPENAI = Provider("OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1")
#: Those that the packages of the extra can talk to, by the library's names for them.
PROVIDERS = {
    "anthropic": Provider("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    "deepseek": Provider("DEEPSEEK_API_KEY"),
    "ollama": Provider(
        "OLLAMA_API_KEY", "OLLAMA_BASE_URL", "http://localhost:11434/v1", needs_key=False
    ),
    "openai": _OPENAI,
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
    "openrouter": Provider("OPENROUTER_API_KEY"),
}


#: Programs that speak OpenAI's protocol, and where they usually listen.
_COMPATIBLE = {
    "vllm": "http://localhost:8000/v1",
    "lmstudio": "http://localhost:1234/v1",
    "lm-studio": "http://localhost:1234/v1",
    "llamacpp": "http://localhost:8080/v1",
    "llama.cpp": "http://localhost:8080/v1",
    "llama-cpp": "http://localhost:8080/v1",
    "localai": "http://localhost:8080/v1",
}
_OLLAMA_HOST, _OLLAMA_PORT = "OLLAMA_HOST", 11434


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The URL of one model, and the key for it."""

    provider: str
    model: str
    key_variable: str
    key: str | None = field(repr=False)
    url: str | None = field(repr=False)
    #: True if the user named the URL: another program than the provider's may answer there.
    is_own: bool
    #: What a million tokens cost, of the prompt and of the answer, as the user says.
    price: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """The model's whole name."""
        return f"{self.provider}:{self.model}"

    @property
    def host(self) -> str:
        """The host in messages. A URL may contain a password, its host and port do not."""
        from urllib.parse import urlsplit

        if self.url is None:
            return self.provider
        parts = urlsplit(self.url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    def redact(self, text: str) -> str:
        """Remove the key from a text, in case somebody has echoed it."""
        if not self.key:
            return text
        return Redactor({self.key_variable: self.key}).values(text.replace(self.key, "[key]"))


def model_name(environment: Mapping[str, str], configured: str | None) -> str | None:
    """Return the model to use: `RUNTRUE_MODEL`, else the configured one, else none."""
    return environment.get(MODEL, "").strip() or configured or None


def find_endpoint(
    name: str | None, environment: Mapping[str, str], config: ModelConfig | None = None
) -> Endpoint:
    """Look up the endpoint of a model, without importing or sending anything.

    `config` holds for models of the provider that it names.
    """
    if not name:
        raise ModelUnavailable(
            f"no language model is configured; set {MODEL} to provider:model (such as openai:… or "
            f"anthropic:…) and, once, {INSTALL}"
        )
    known, model = name.partition(":")[::2]
    provider = find_provider(known)
    if provider is None:
        raise ModelUnavailable(_unknown(name, known))
    if not model:
        raise ModelUnavailable(f"{name!r} names no model of {known}; write {known}:model")
    if config is None or (config.name or name).partition(":")[0] != known:
        config = ModelConfig()
    own_url = _url(provider, environment)
    is_configured = own_url is None and config.base_url is not None
    if is_configured:
        if provider.url is None:
            raise ModelUnavailable(
                f"[model] base_url: {known} has one address; name the model openai:{model} to use "
                "another endpoint that speaks OpenAI's protocol"
            )
        own_url = _checked(str(config.base_url), "[model] base_url")
    variable = config.key_env or provider.key
    # An address out of a file gets the key that the file names, and no other.
    key = None if is_configured and config.key_env is None else _key(variable, environment)
    if key is None and (config.key_env or (own_url is None and provider.needs_key)):
        raise BadCredentials(
            f"{name} needs a key; set {variable}, or keep it with `runtrue secret set {variable}`"
        )
    return Endpoint(
        provider=known,
        model=model,
        key_variable=variable,
        key=key,
        url=own_url or provider.default_url,
        is_own=own_url is not None,
        price=_price(environment),
    )


def _price(environment: Mapping[str, str]) -> tuple[float, float] | None:
    text = environment.get(PRICE, "").strip()
    if not text:
        return None
    try:
        prompt, answer = (float(part) for part in text.split("/"))
        if not (0 <= prompt < math.inf and 0 <= answer < math.inf):
            raise ValueError(text)
    except ValueError:
        raise ModelUnavailable(
            f"{PRICE} is {text!r}; write what a million tokens cost in US dollars, PROMPT/ANSWER, "
            "such as 0.5/1.5"
        ) from None
    return prompt, answer


def find_provider(name: str) -> Provider | None:
    """Return a provider that runtrue knows, or that a plugin brings."""
    if name in PROVIDERS:
        return PROVIDERS[name]
    try:
        plugin = plugin_named(PluginGroup.MODELS, name, Provider)
    except UsageError as error:
        raise ModelUnavailable(str(error)) from error
    made: Provider | None = None if plugin is None else plugin()
    return made


def _unknown(name: str, provider: str) -> str:
    what = f"the model {name!r} has no known provider"
    if (url := _COMPATIBLE.get(provider.lower())) is not None:
        model = name.partition(":")[2] or "MODEL"
        return (
            f"{provider} speaks OpenAI's protocol: set {MODEL}=openai:{model} and "
            f"{_OPENAI.url} to its address, usually {url}"
        )
    if close := closest(provider, PROVIDERS):
        return f"{what}; did you mean {close!r}?"
    return (
        f"{what}; write provider:model with one of {', '.join(PROVIDERS)}, or reach any "
        f"OpenAI-compatible endpoint as openai:… with {_OPENAI.url}"
    )


def _key(variable: str, environment: Mapping[str, str]) -> str | None:
    try:
        key = (secret_of(variable, environment) or "").strip()
    except StoreRefused as error:
        raise BadCredentials(f"{variable} cannot be read: {error}") from error
    # It goes into a header; the error for one that cannot would show it.
    if not (key.isascii() and key.isprintable()):
        raise BadCredentials(f"{variable} contains characters that cannot be part of a key")
    return key or None


def _url(provider: Provider, environment: Mapping[str, str]) -> str | None:
    url = environment.get(provider.url, "").strip() if provider.url else ""
    if not url and provider is PROVIDERS["ollama"]:
        url = _ollama_url(environment.get(_OLLAMA_HOST, "").strip())
    return _checked(url, str(provider.url)) if url else None


def _checked(url: str, said: str) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        is_fine = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_fine = False
    if not is_fine:
        raise ModelUnavailable(f"{said} is not a URL such as http://localhost:8000/v1")
    return url


def _ollama_url(host: str) -> str:
    """Return the address that Ollama's own variable means: a host, with a port or a scheme."""
    if not host:
        return ""
    scheme, mark, rest = host.partition("://")
    scheme, rest = (scheme, rest) if mark else ("http", host)
    rest = rest.rstrip("/")
    # Where it listens on all addresses, it is reached on this machine.
    rest = rest.replace("0.0.0.0", "127.0.0.1", 1)  # noqa: S104
    has_port = ":" in rest.rpartition("]")[2]
    port = "" if has_port or mark else f":{_OLLAMA_PORT}"
    return f"{scheme}://{rest}{port}/v1"

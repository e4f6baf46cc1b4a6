"""`runtrue secret`: keeping tokens, keys and passwords out of the environment, and out of sight."""

from __future__ import annotations

import sys
from typing import Any

import click

from runtrue.cli import options
from runtrue.cli.console import ask_secret, echo
from runtrue.cli.lazy_group import CommandGroup
from runtrue.cli.show import is_terminal, print_json
from runtrue.errors import HostError, UsageError
from runtrue.secrets import Secrets, SecretStore, StoreRefused, StoreUnavailable, problem_of_name

#: Where a secret can be put; the environment is the shell's.
_KEEPING = ("keyring", "file")

_store = click.option(
    "--store",
    type=click.Choice(_KEEPING),
    help="Use this store instead of the first available one.",
)


def _complete_name(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    try:
        found = Secrets.here().found()
    except StoreRefused:
        return []
    kept = dict.fromkeys(one.name for one in found if one.origin in _KEEPING)
    return [name for name in kept if name.startswith(incomplete)]


_name = click.argument("name", metavar="NAME", shell_complete=_complete_name)


@click.group(cls=CommandGroup)
def secret() -> None:
    """Store, list and delete secrets: tokens, keys and passwords.

    A secret is named like an environment variable and used like one: as ${env.NAME} in a workflow,
    as the key of a language model, for a coding agent. runtrue looks in the environment, in the
    desktop's keyring (with `pip install 'runtrue[secrets]'`) and in secrets.json in its home,
    which only you can read; [secrets] stores sets the order.
    """


@secret.command("set")
@_name
@_store
@options.as_json
def set_secret(name: str, store: str | None, as_json: bool) -> int:
    """Store a secret; reads its value from the terminal or standard input, never an argument.

    \b
    Examples:
      runtrue secret set GITHUB_TOKEN             asks for the value
      runtrue secret set OPENAI_API_KEY < key.txt
      pass show github | runtrue secret set GITHUB_TOKEN --store file
    """
    _require_name(name)
    secrets = Secrets.here()
    chosen = _keeping(secrets, store)
    chosen.set(name, _value(name))
    hidden_by = _hidden_by(secrets, chosen, name)
    if as_json:
        document: dict[str, Any] = {"status": "passed", "name": name, "store": chosen.origin}
        print_json({**document, "hidden_by": hidden_by})
        return 0
    echo(f"stored {name} in the {chosen.origin}")
    if hidden_by:
        echo(f"the {name} of the {hidden_by} takes precedence and is used", err=True)
    return 0


@secret.command("list")
@options.as_json
def list_secrets(as_json: bool) -> int:
    """List the names of secrets and their sources, never a value.

    Of the environment, lists the variables whose names look secret.
    """
    secrets = Secrets.here()
    found = secrets.found()
    if as_json:
        listed = [{"name": one.name, "store": one.origin} for one in found]
        print_json({"secrets": listed, "unavailable": list(secrets.unavailable)})
        return 0
    seen: set[str] = set()
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        note = "  (not used: an earlier store has it)" if one.name in seen else ""
        echo(f"{one.name:<{width}}  {one.origin}{note}")
        seen.add(one.name)
    if not found:
        echo("no secrets; store one with `runtrue secret set NAME`")
    for why in secrets.unavailable:
        echo(why, err=True)
    return 0


@secret.command()
@_name
@_store
@options.as_json
def delete(name: str, store: str | None, as_json: bool) -> int:
    """Delete a secret from every store.

    \b
    Examples:
      runtrue secret delete GITHUB_TOKEN
      runtrue secret delete GITHUB_TOKEN --store file
    """
    secrets = Secrets.here()
    stores = [_named(secrets, store)] if store else _all_keeping(secrets)
    deleted = []
    for one in stores:
        try:
            if one.delete(name):
                deleted.append(one.origin)
        except StoreUnavailable:
            if store:
                raise
    if not deleted:
        raise UsageError(_nothing_to_delete(secrets, name))
    if as_json:
        print_json({"status": "passed", "name": name, "stores": deleted})
    else:
        echo(f"deleted {name} from the {' and the '.join(deleted)}")
    return 0


def _require_name(name: str) -> None:
    # Somebody may have given the value by mistake: it must not be printed.
    if problem := problem_of_name(name):
        raise UsageError(f"not a name for a secret: {problem}")


def _value(name: str) -> str:
    if is_terminal():
        return ask_secret(f"Value of {name}")
    text = sys.stdin.read()
    # The end of the line is the file's or the program's that printed it.
    value = text.removesuffix("\n").removesuffix("\r")
    if not value.strip():
        raise UsageError(
            f"no value was given for {name}; run this in a terminal, or give it on standard input"
        )
    return value


def _all_keeping(secrets: Secrets) -> list[SecretStore]:
    return [store for store in secrets.stores if store.origin in _KEEPING]


def _named(secrets: Secrets, origin: str) -> SecretStore:
    for store in secrets.stores:
        if store.origin == origin:
            return store
    reasons = "; ".join(secrets.unavailable)
    raise UsageError(reasons or f"the {origin} is not among the [secrets] stores of this directory")


def _keeping(secrets: Secrets, origin: str | None) -> SecretStore:
    """The named store, or else the first that a secret can be put into."""
    if origin:
        return _named(secrets, origin)
    reasons = list(secrets.unavailable)
    for store in _all_keeping(secrets):
        try:
            store.names()
        except StoreUnavailable as error:
            reasons.append(str(error))
            continue
        return store
    why = "; ".join(dict.fromkeys(reasons)) or "[secrets] stores has neither keyring nor file"
    raise HostError(f"no store for secrets: {why}")


def _hidden_by(secrets: Secrets, chosen: SecretStore, name: str) -> str | None:
    """The store before the chosen one that has a secret of this name, too."""
    for store in secrets.stores[: secrets.stores.index(chosen)]:
        try:
            if store.get(name) is not None:
                return store.origin
        except StoreRefused:
            continue
    return None


def _nothing_to_delete(secrets: Secrets, name: str) -> str:
    if problem_of_name(name):
        return "there is no secret of that name; `runtrue secret list` shows the names"
    found = secrets.found()
    if any(one.name == name and one.origin == "environment" for one in found):
        return f"{name} is set in the environment; write `unset {name}` in your shell"
    kept = ", ".join(dict.fromkeys(one.name for one in found if one.origin in _KEEPING))
    return f"no stored secret {name}; available: {kept or 'none'}"

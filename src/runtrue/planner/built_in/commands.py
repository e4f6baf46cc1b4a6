"""Commands: steps that run them; each may read what came before."""

from __future__ import annotations

from typing import Any

from runtrue.planner.built_in.clauses import Roles, said
from runtrue.planner.built_in.draft import CannotPlan, DataForm, Draft, Topic
from runtrue.planner.built_in.operations import read_operations
from runtrue.planner.task import TaskToken, TokenType
from runtrue.planner.words import DETERMINERS, FILLERS, GENERIC, RUN, word_set

_PIPED = frozenset({"with", "on", "into", "to", "through", "stdin", "input", "as", "using", "from"})
_PIPED_VERBS = frozenset({"pipe", "send"})
#: Words for a command itself.
_PROGRAM = word_set("command commands shell bash script program following running terminal")
_OUTPUT = word_set("output outputs result results stdout")
#: Words between two commands that are both to be run.
_BETWEEN = DETERMINERS | _PROGRAM | word_set(", & and then also")
_SUPPOSING = word_set("would will should could might does do")


def names_output(roles: Roles) -> bool:
    """True if a clause speaks of the output of its commands, which means to run them."""
    words = [token.word for token in _before(roles) if token.word not in DETERMINERS | _PROGRAM]
    return words[-1:] in (["of"], ["from"]) and bool(_OUTPUT & set(words[-2:-1]))


def refuse_unmeant(roles: Roles) -> None:
    """Refuse commands that are only spoken of, asked about, or to be written down."""
    before = [token.word for token in _before(roles)]
    piped = roles.verb == "send" and before[-1:] in (["to"], ["into"], ["through"])
    of_output = names_output(roles)
    tokens = roles.clause.tokens
    supposed = roles.verb == "what" and _SUPPOSING & {token.word for token in tokens}
    meant = (roles.verb in RUN | {""} or piped or of_output) and not supposed
    places = [at for at, token in enumerate(tokens) if token.type is TokenType.COMMAND]
    joining = _BETWEEN | ({"into", "through", "to"} if roles.verb == "pipe" else set())
    joining |= _OUTPUT | {"of", "from"} if of_output else set()
    between = tokens[places[0] : places[-1]]
    if meant and all(t.type is TokenType.COMMAND or t.word in joining for t in between):
        return
    command = roles.commands[0].text
    raise CannotPlan(
        f'{str(roles.clause)!r} does not say clearly what to run (say "run {command}", or '
        f'"the output of {command}")'
    )


def _before(roles: Roles) -> list[TaskToken]:
    tokens = roles.clause.tokens
    first = next(at for at, token in enumerate(tokens) if token.type is TokenType.COMMAND)
    return list(tokens[:first])


def run(roles: Roles, draft: Draft) -> list[TaskToken]:
    """Run the commands of a clause, and return what it says beyond that."""
    directory = None if roles.directory is None else str(roles.directory.value)
    piped = _is_piped(roles)
    if piped and draft.topic is None and len(roles.commands) < 2:
        raise CannotPlan(f"{str(roles.clause)!r}: there is nothing to read yet")
    rest = [] if piped else [token for token in roles.what if token.word not in _PROGRAM]
    others = [token for token in rest if token.word not in FILLERS]
    done = not roles.verb and read_operations("", rest, DataForm.TEXT) is not None
    if others and not done and not names_output(roles):
        raise CannotPlan(f"what {said(others)!r} means in {str(roles.clause)!r} is not clear")
    for at, token in enumerate(roles.commands):
        reads = piped or (at and roles.verb == "pipe")
        run_one(str(token.value), draft.topic if reads else None, draft, directory)
    return rest


def _is_piped(roles: Roles) -> bool:
    """True if the other words only say that the command reads what came before."""
    words = {token.word for token in roles.what} - FILLERS
    points = {token.word for token in roles.clause.tokens} & (GENERIC | {"its", "it"})
    is_piped = roles.verb in _PIPED_VERBS or bool(points and words & _PIPED)
    return is_piped and not words - _PIPED - GENERIC


def _is_output(topic: Topic) -> bool:
    return topic.reference.endswith(".stdout}")


def run_one(command: str, reads: Topic | None, draft: Draft, directory: str | None = None) -> None:
    """Run one command, which may read the output of an earlier step."""
    params: dict[str, Any] = {"command": draft.value(command)}
    if directory is not None:
        params["cwd"] = draft.input("directory", directory)
    if reads is not None:
        # The output of a command is recorded without its last line end.
        params["stdin"] = f"{reads.reference}\n" if _is_output(reads) else reads.reference
        draft.drop(reads.results)
    node = draft.node("run", "shell", params)
    nouns = frozenset({"command", "line"})
    draft.set_topic("stdout", f"${{{node['id']}.stdout}}", DataForm.TEXT, nouns=nouns)

"""Steps that run commands, each of which may read what came before."""

from __future__ import annotations

from typing import Any

from runtrue.planner.built_in.clauses import Roles
from runtrue.planner.built_in.draft import CannotPlan, Draft, Form, Subject
from runtrue.planner.built_in.operations import read_operations
from runtrue.planner.built_in.words import DETERMINERS, FILLERS, GENERIC
from runtrue.planner.tokens import Kind, Token
from runtrue.planner.verbs import RUN, listed

_PIPED = frozenset({"with", "on", "into", "to", "through", "stdin", "input", "as", "using", "from"})
_PIPED_VERBS = frozenset({"pipe", "send"})
#: Words for a command itself.
_PROGRAM = listed("command commands shell bash script program following running terminal")
_OUTPUT = listed("output outputs result results stdout")
#: What may stand between two commands that are both to be run.
_BETWEEN = DETERMINERS | _PROGRAM | listed(", & and then also")
_SUPPOSING = listed("would will should could might does do")


def names_output(roles: Roles) -> bool:
    """Whether a clause speaks of the output of its commands: whoever wants that has them run."""
    words = [token.word for token in _before(roles) if token.word not in DETERMINERS | _PROGRAM]
    return words[-1:] in (["of"], ["from"]) and words[-2:-1] != [] and words[-2] in _OUTPUT


def refuse_unmeant(roles: Roles) -> None:
    """Raise CannotPlan where commands are only spoken of, asked about, or to be written down."""
    before = [token.word for token in _before(roles)]
    piped = roles.verb == "send" and before[-1:] in (["to"], ["into"], ["through"])
    of_output = names_output(roles)
    meant = roles.verb in RUN | {""} or piped or of_output
    if roles.verb == "what" and _SUPPOSING & {token.word for token in roles.clause.tokens}:
        meant = False
    tokens = roles.clause.tokens
    places = [at for at, token in enumerate(tokens) if token.kind is Kind.COMMAND]
    joining = _BETWEEN | ({"into", "through", "to"} if roles.verb == "pipe" else set())
    joining |= _OUTPUT | {"of", "from"} if of_output else set()
    between = tokens[places[0] : places[-1]]
    if meant and all(t.kind is Kind.COMMAND or t.word in joining for t in between):
        return
    command = roles.commands[0].text
    raise CannotPlan(
        f'{str(roles.clause)!r} does not say clearly what to run (say "run {command}", or '
        f'"the output of {command}")'
    )


def _before(roles: Roles) -> list[Token]:
    """The tokens of a clause that stand before its first command."""
    tokens = roles.clause.tokens
    first = next(at for at, token in enumerate(tokens) if token.kind is Kind.COMMAND)
    return list(tokens[:first])


def run(roles: Roles, draft: Draft) -> list[Token]:
    """Run the commands of a clause; the result is what it says beyond that."""
    directory = None if roles.directory is None else str(roles.directory.value)
    piped = _is_piped(roles)
    if piped and draft.subject is None and len(roles.commands) < 2:
        raise CannotPlan(f"{str(roles.clause)!r}: there is nothing yet that it could read")
    rest = [] if piped else [token for token in roles.what if token.word not in _PROGRAM]
    others = [token for token in rest if token.word not in FILLERS]
    done = not roles.verb and read_operations("", rest, Form.TEXT) is not None
    if others and not done and not names_output(roles):
        text = " ".join(token.text for token in others)
        raise CannotPlan(f"what {text!r} means in {str(roles.clause)!r} is not clear")
    for at, token in enumerate(roles.commands):
        reads = draft.subject if piped and (at or draft.subject) else None
        if at and roles.verb == "pipe":
            reads = draft.subject
        run_one(str(token.value), reads, draft, directory)
    return rest


def _is_piped(roles: Roles) -> bool:
    """Whether the words that are left only say that the command reads what came before."""
    words = {token.word for token in roles.what} - FILLERS
    points = {token.word for token in roles.clause.tokens} & (GENERIC | {"its", "it"})
    if roles.verb in _PIPED_VERBS:
        return not words - _PIPED - GENERIC
    return bool(points and words & _PIPED) and not words - _PIPED - GENERIC


def run_one(
    command: str, reads: Subject | None, draft: Draft, directory: str | None = None
) -> None:
    """Run one command, which reads what an earlier step gave if it is told to."""
    params: dict[str, Any] = {"command": draft.value(command)}
    if directory is not None:
        params["cwd"] = draft.input("directory", directory)
    if reads is not None:
        params["stdin"] = reads.reference
        draft.replace(reads.results)
    node = draft.node("run", "shell", params)
    reference = f"${{{node['id']}.stdout}}"
    draft.subject = Subject(
        reference=reference,
        form=Form.TEXT,
        results=(draft.give("stdout", reference),),
        nouns=frozenset({"command", "line"}),
    )

"""Steps: each clause of a task becomes nodes of the draft, or the task is refused.

Every word has to be accounted for. What nobody can make sense of is named in the refusal, so
that never half of a task is done as if it were all of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtrue.planner.built_in import commands, files, http, operations, saved, tools
from runtrue.planner.built_in.clauses import Roles, refuse_conditions, said, take_apart
from runtrue.planner.built_in.draft import CannotPlan, Draft, Form, Subject
from runtrue.planner.built_in.words import FILLERS, GENERIC, singular
from runtrue.planner.seams import SavedWorkflow
from runtrue.planner.task import Clause, Task
from runtrue.planner.tokens import Kind, Token, looks_like_file
from runtrue.planner.verbs import CHANGE, FETCH, RUN, SAVE, SHOW, TAKE
from runtrue.workflow import Interface

if TYPE_CHECKING:
    from runtrue.memory import Memory

_HOST = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:/\S*)?", re.IGNORECASE)
#: What gives the whole of something as well as a part of it.
_GIVE = frozenset({"return", "give", "tell"})
_READING = FETCH | TAKE | SHOW | CHANGE | {""}


@dataclass(frozen=True, slots=True)
class Means:
    """What there is to plan with."""

    components: tuple[Interface, ...] = ()
    saved: tuple[SavedWorkflow, ...] = ()
    memory: Memory | None = None


def draft_of(task: Task, means: Means) -> Draft:
    """A workflow that does all of a task. Raises CannotPlan with the part that it cannot do."""
    draft = Draft(pairs=task.pairs)
    if not task.clauses:
        raise CannotPlan("the task is empty")
    for at, clause in enumerate(task.clauses):
        following = task.clauses[at + 1 :]
        _step(clause, following, draft, means)
    return draft


def _step(clause: Clause, following: tuple[Clause, ...], draft: Draft, means: Means) -> None:
    refuse_conditions(clause)
    if saved.call(clause, means.saved, draft):
        return
    if tools.names_server(clause, means.components):
        tools.use(clause, draft, means.components)
        return
    roles = take_apart(clause)
    if roles.urls:
        _at_url(roles, following, draft, means)
    elif roles.commands:
        _refuse_pairs(roles)
        if roles.files:
            raise CannotPlan(f"{str(roles.clause)!r} does not say clearly what to run")
        commands.refuse_unmeant(roles)
        _refuse_unknown(roles)
        roles.what = commands.run(roles, draft)
        _finish(roles, draft, means)
    elif roles.files:
        _on_files(roles, draft, means)
    elif roles.verb in {"post", "put", "patch"}:
        raise CannotPlan(f"{str(clause)!r} does not say which URL it is for")
    elif (text := _own_text(roles)) is not None:
        _refuse_pairs(roles)
        files.write_text(text, roles, draft)
    elif draft.subject is not None and roles.verb in (_READING - {""}) | SAVE:
        _refuse_pairs(roles)
        _finish(roles, draft, means)
    else:
        _refuse_hosts(clause)
        _use_tool(clause, draft, means)


def _use_tool(clause: Clause, draft: Draft, means: Means) -> None:
    try:
        tools.use(clause, draft, means.components)
    except CannotPlan as error:
        if clause.verb in RUN:
            hint = "a command has to be in `backticks`, and the task in single quotes, or the shell"
            raise CannotPlan(f"{error} ({hint} runs it)") from None
        raise


def _refuse_hosts(clause: Clause) -> None:
    for token in clause.tokens:
        if token.kind is Kind.WORD and _HOST.fullmatch(token.text):
            raise CannotPlan(f"{token.text!r} is no URL; write it in full, with https://")


def _at_url(roles: Roles, following: tuple[Clause, ...], draft: Draft, means: Means) -> None:
    if roles.sends:
        if roles.commands:
            commands.refuse_unmeant(roles)
        for token in roles.commands:
            commands.run_one(str(token.value), None, draft)
        http.send(roles, draft)
        roles.what = []
    elif roles.files or roles.commands:
        raise CannotPlan(f"{str(roles.clause)!r} mixes a URL with other sources")
    elif roles.documents or roles.body:
        raise CannotPlan(f"{str(roles.clause)!r} does not say how to send that: POST, PUT, PATCH")
    elif roles.verb not in _READING | SAVE:
        raise CannotPlan(f"{str(roles.clause)!r}: what {roles.verb!r} means for a URL is not known")
    else:
        _refuse_rest(roles)
        _refuse_unknown(roles)
        described = roles.verb in FETCH and _is_wanted_later(following)
        http.fetch(roles, draft, described=described)
        if roles.verb == "download" and not following:
            _keep_download(roles, draft)
    _finish(roles, draft, means)


def _keep_download(roles: Roles, draft: Draft) -> None:
    """A download becomes a file, which the URL names when the task does not."""
    name = str(roles.urls[0].value).partition("?")[0].rpartition("/")[2]
    if roles.destination is None and len(roles.urls) == 1 and looks_like_file(name):
        roles.destination = Token(Kind.FILE, name, name)
        draft.notes.append(f"the download is kept as {name}, which its URL calls it")


def _is_wanted_later(following: tuple[Clause, ...]) -> bool:
    """Whether the next clause takes something out of what this one fetches."""
    if not following or any(token.kind is Kind.URL for token in following[0].tokens):
        return False
    words = {token.word for token in following[0].tokens} - FILLERS - GENERIC
    return following[0].verb in TAKE | SHOW and bool(words)


def _on_files(roles: Roles, draft: Draft, means: Means) -> None:
    if roles.verb not in _READING | SAVE:
        _use_tool(roles.clause, draft, means)
        return
    _refuse_pairs(roles)
    if len(roles.files) > 1:
        raise CannotPlan(f"{str(roles.clause)!r} names several files to read at once")
    _refuse_unknown(roles)
    files.read(roles.files[0], draft)
    _finish(roles, draft, means)


def _own_text(roles: Roles) -> str | None:
    """The text that a clause says is to be written, when it is in the task itself."""
    quoted = [token for token in roles.what if token.kind is Kind.QUOTED]
    others = [t for t in roles.what if t.kind is not Kind.QUOTED and t.word not in FILLERS]
    if roles.verb not in SAVE or len(quoted) != 1 or {t.word for t in others} - {"line", "text"}:
        return None
    return str(quoted[0].value)


def _refuse_rest(roles: Roles) -> None:
    """What follows a source and belongs to nothing is another thing to do, which is not known."""
    rest = [token for token in roles.after if token.word not in FILLERS]
    if rest:
        raise CannotPlan(f"what {said(rest)!r} means in {str(roles.clause)!r} is not clear")


def _refuse_unknown(roles: Roles) -> None:
    """Words before a source name a part of it only where a preposition says so."""
    before = [t for t in roles.what[: roles.before] if t.word not in FILLERS]
    if not roles.verb and before and not roles.joined:
        raise CannotPlan(f"what {said(before)!r} means in {str(roles.clause)!r} is not clear")


def _refuse_pairs(roles: Roles) -> None:
    for key in (*roles.query, *roles.body, *roles.headers):
        raise CannotPlan(f"{key!r} in {str(roles.clause)!r} is a value for nothing here")
    if roles.documents or roles.token or roles.key:
        raise CannotPlan(f"{str(roles.clause)!r} gives a value for nothing here")


def _finish(roles: Roles, draft: Draft, means: Means) -> None:
    """Do to the subject what the rest of a clause says, and write it where the clause says so."""
    if roles.verb in SAVE:
        names = files.chosen(roles, draft)
        if names is None:
            before = set(draft.results)
            _take(roles, draft, means)
            names = [name for name in draft.results if name not in before]
        files.save(roles, draft, names)
        return
    _take(roles, draft, means)
    if roles.destination is not None:
        files.save(roles, draft, [name for name in draft.results if name not in draft.saved])


def _take(roles: Roles, draft: Draft, means: Means) -> None:
    """Take out of the subject, or do to it, what the words of a clause say."""
    subject = draft.subject
    words = [token for token in roles.what if token.word not in FILLERS | GENERIC]
    only_nouns = all(_is_noun(token, subject.nouns) for token in words) if subject else False
    changes = roles.verb in CHANGE and roles.verb not in {"copy", "compute", "calculate"}
    if subject is None or not (words or changes):
        return
    if roles.destination is not None and roles.verb in {"convert", "turn"} and not words:
        _refuse_conversion(roles, subject.form)
        return
    means_whole = only_nouns and not _are_fields(words, roles, subject)
    if means_whole and not changes and roles.verb != "how":
        return
    asks_number = roles.verb in {"how", "count"} and subject.node is not None
    wanted = operations.read_operations(roles.verb, roles.what, subject.form)
    if wanted is not None and not (asks_number and not subject.collection):
        for operation in wanted:
            operations.apply(operation, draft)
    elif asks_number:
        http.count(roles.what, draft, means.memory)
    elif subject.node is not None and not changes:
        http.take(roles.what, draft, means.memory)
    elif subject.form is Form.TABLE and not changes:
        operations.apply(operations.columns(roles.what), draft)
    elif (subject.form in (Form.DATA, Form.TEXT) and not changes) or roles.verb == "count":
        _refuse_rest(roles)
        files.take([*_many(roles), *roles.what], draft)
    else:
        raise CannotPlan(f"{str(roles.clause)!r}: that is nothing that can be done here")


def _are_fields(words: list[Token], roles: Roles, subject: Subject) -> bool:
    """Whether words that name a subject are fields of it: those that are to be taken out of it."""
    if roles.verb not in TAKE or subject.form is Form.TEXT:
        return False
    whole = all(token.word in subject.own for token in words)
    return not (whole and (subject.collection or roles.verb in _GIVE))


def _refuse_conversion(roles: Roles, form: Form) -> None:
    wanted = str(roles.destination.value).rpartition(".")[2].lower() if roles.destination else ""
    if (form, wanted) not in {(Form.TABLE, "json"), (Form.DATA, "csv")}:
        raise CannotPlan(f"{str(roles.clause)!r}: only CSV and JSON can be converted to each other")


def _many(roles: Roles) -> list[Token]:
    asks = {"how": ["how"], "count": ["how", "many"]}.get(roles.verb, [])
    return [Token(Kind.WORD, word) for word in asks]


def _is_noun(token: Token, nouns: frozenset[str]) -> bool:
    return bool(token.word) and singular(token.word) in nouns

"""Generator: plans what a task names without a model, and says plainly what it cannot plan.

Each clause of a task becomes nodes of the draft. Every word has to be accounted for: what has no
known meaning is named in the refusal, so that never half of a task is done as if it were all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from runtrue.planner import seams
from runtrue.planner.built_in import commands, files, http, lists, operations, pages, saved, tools
from runtrue.planner.built_in.chains import read_each, read_token
from runtrue.planner.built_in.clause_order import order_clauses
from runtrue.planner.built_in.clauses import (
    Roles,
    lone_credential,
    read_roles,
    refuse_conditions,
    said,
)
from runtrue.planner.built_in.draft import (
    CannotPlan,
    DataForm,
    Draft,
    NeedsData,
    NotUnderstood,
    Topic,
)
from runtrue.planner.built_in.query_words import COMPARATORS, PART_OF, QUIET
from runtrue.planner.task import (
    LONGEST_TASK,
    Clause,
    Task,
    TaskToken,
    TokenType,
    looks_like_file,
    read_task,
)
from runtrue.planner.words import CHANGE, FETCH, FILLERS, GENERIC, RUN, SAVE, SHOW, TAKE, singular
from runtrue.secrets import secret_of
from runtrue.workflow import Interface

if TYPE_CHECKING:
    from runtrue.memory import Memory

_HOW = "rephrase it, or set RUNTRUE_MODEL"


class BuiltInGenerator:
    """Plans without a model. What it has no rule for it refuses; it never does half a task."""

    name = "built-in"

    def __init__(
        self, memory: Memory | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._memory = memory
        self._environment = environment

    async def choose(
        self, task: str, saved_workflows: tuple[seams.SavedWorkflow, ...]
    ) -> seams.WorkflowChoice:
        """Choose the saved workflow that accounts for every word of the task."""
        return saved.choose(read_task(task), saved_workflows)

    async def fill(self, task: str, inputs: dict[str, dict[str, Any]]) -> seams.Values:
        """Read the values of inputs out of the task."""
        return seams.Values(values=saved.fill(read_task(task), inputs))

    async def select(self, task: str, components: tuple[Interface, ...]) -> seams.Selection:
        """Select the types that the workflow would use."""
        planned = await self.generate(seams.GenerationRequest(task=task, components=components))
        nodes = planned.workflow["nodes"] if isinstance(planned, seams.Plan) else ()
        return seams.Selection(types=tuple(dict.fromkeys(node["type"] for node in nodes)))

    async def generate(self, request: seams.GenerationRequest) -> seams.Plan | seams.NoPlan:
        """Make a workflow that does all of the task, or name the part that cannot be planned."""
        if request.problems:
            return seams.NoPlan(reason=f"the workflow has a problem: {'; '.join(request.problems)}")
        if len(request.task) > LONGEST_TASK:
            return seams.NoPlan(reason=f"the task is longer than {LONGEST_TASK} characters; {_HOW}")
        task = read_task(request.task)
        draft = Draft(
            task.pairs, request.components, request.saved, self._memory,
            task=request.task, store=request.store or {}, paths=request.paths or {},
        )  # fmt: skip
        continues = False
        try:
            _plan_task(task, draft)
        except NeedsData as rest:
            continues = True
            draft.notes.append(f"{str(rest)!r} is planned once the response is there")
        except NotUnderstood as error:
            doubts, partial = error.doubts, error.partial
            return seams.NoPlan(reason=f"{error}; {_HOW}", doubts=doubts, partial=partial)
        except CannotPlan as error:
            return seams.NoPlan(reason=f"{error}; {_HOW}")
        for name in task.named().get("variable", ()):
            if self._environment is not None and secret_of(name, self._environment) is None:
                draft.notes.append(f"the environment variable {name} is not set")
        return replace(draft.plan(), continues=continues)

    async def fix(self, request: seams.FixRequest) -> seams.FixedWorkflow | seams.NoFix:
        """Fix paths and arguments by what was really there."""
        from runtrue.planner.fix import fix_workflow

        return await fix_workflow(request, memory=self._memory)

    async def describe(self, task: str, workflow: dict[str, Any]) -> seams.Metadata:
        """Find a name that a person would choose, and the task without its values."""
        return saved.describe(read_task(task), workflow)


# -- steps -----------------------------------------------------------------------------------------

_HOST = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:/\S*)?", re.IGNORECASE)
#: Verbs for the whole of something as well as for a part of it.
_GIVE = frozenset({"return", "give", "tell"})
#: Verbs for what is done to entries: the words after them say which, and by what.
_CALCULATING = frozenset({"sort", "count", "sum", "average", "total"})
_MODAL = frozenset({"should", "would", "could", "can", "will", "shall", "may", "might"})
_OBJECTS = frozenset({"it", "them", "this", "everyone", "everybody"})
_READING = FETCH | TAKE | SHOW | CHANGE | {""}


def _plan_task(task: Task, draft: Draft) -> None:
    """Plan all of a task. Raises CannotPlan with the part that has no meaning here."""
    if not task.clauses:
        raise CannotPlan("the task is empty")
    kept = (pages.read_pages(clause, draft) for clause in task.clauses)
    clauses = order_clauses(tuple(clause for clause in kept if clause is not None))
    for at, clause in enumerate(clauses):
        _plan_clause(clause, clauses[at + 1 :], draft)


def _plan_clause(clause: Clause, following: tuple[Clause, ...], draft: Draft) -> None:
    clause = read_each(read_token(clause, draft), draft)
    refuse_conditions(clause)
    if saved.call(clause, draft.saved_workflows, draft):
        return
    if tools.names_server(clause, draft.components):
        tools.call_tool(clause, draft, draft.components)
        return
    if (credential := lone_credential(clause)) is not None:
        draft.credential = credential
        return
    roles = read_roles(clause)
    if roles.urls:
        _plan_url(roles, following, draft)
    elif roles.commands:
        _refuse_pairs(roles)
        if roles.files:
            raise CannotPlan(f"{str(clause)!r} does not say clearly what to run")
        commands.refuse_unmeant(roles)
        _refuse_unknown(roles)
        roles.what = commands.run(roles, draft)
        _finish(roles, draft)
    elif roles.files:
        _plan_files(roles, draft)
    elif roles.verb in {"post", "put", "patch"}:
        raise CannotPlan(f"{str(clause)!r} does not say which URL it is for")
    elif (text := _own_text(roles)) is not None:
        _refuse_pairs(roles)
        files.write_text(text, roles, draft)
    elif not roles.verb and draft.topic is not None and _holds_data(draft.topic):
        _refuse_pairs(roles)
        lists.take(roles, draft)
    elif draft.topic is not None and roles.verb in (_READING - {""}) | SAVE:
        _refuse_pairs(roles)
        _finish(roles, draft)
    else:
        _refuse_hosts(clause)
        _use_tool(clause, draft)


def _holds_data(topic: Topic) -> bool:
    return topic.node is not None or topic.entries or topic.origin != ""


def _use_tool(clause: Clause, draft: Draft) -> None:
    try:
        tools.call_tool(clause, draft, draft.components)
    except CannotPlan as error:
        if clause.verb in RUN:
            hint = "put a command in `backticks`, and the task in single quotes, or the shell"
            raise CannotPlan(f"{error} ({hint} runs it)") from None
        raise


def _refuse_hosts(clause: Clause) -> None:
    for token in clause.tokens:
        if token.type is TokenType.WORD and _HOST.fullmatch(token.text):
            raise CannotPlan(f"{token.text!r} is not a URL; write it in full, with https://")


def _plan_url(roles: Roles, following: tuple[Clause, ...], draft: Draft) -> None:
    if roles.sends:
        if roles.commands:
            commands.refuse_unmeant(roles)
        for token in roles.commands:
            commands.run_one(str(token.value), None, draft)
        http.send(roles, draft)
        roles.what, roles.verb = [], "post"
    elif roles.files or roles.commands:
        raise CannotPlan(f"{str(roles.clause)!r} mixes a URL with other sources")
    elif roles.documents or roles.body:
        raise CannotPlan(f"{str(roles.clause)!r} does not say how to send it: POST, PUT, PATCH")
    elif roles.verb not in _READING | SAVE:
        raise CannotPlan(f"{str(roles.clause)!r}: what {roles.verb!r} means for a URL is not known")
    else:
        _refuse_verbs(roles)
        _refuse_unknown(roles)
        described = roles.verb in FETCH and _is_wanted_later(following) and not _selects(roles.what)
        http.fetch(roles, draft, described=described)
        if roles.verb == "download" and not following:
            _save_download(roles, draft)
    _finish(roles, draft)


def _save_download(roles: Roles, draft: Draft) -> None:
    """Write a download to the file that the URL names when the task names none."""
    name = str(roles.urls[0].value).partition("?")[0].rpartition("/")[2]
    if roles.destination is None and len(roles.urls) == 1 and looks_like_file(name):
        roles.destination = TaskToken(TokenType.FILE, name, name)
        draft.notes.append(f"the download is saved as {name}, the name in its URL")


def _is_wanted_later(following: tuple[Clause, ...]) -> bool:
    """True if the next clause takes something out of what this one fetches."""
    if not following or any(token.type is TokenType.URL for token in following[0].tokens):
        return False
    words = {token.word for token in following[0].tokens} - FILLERS - GENERIC
    return following[0].verb in TAKE | SHOW and bool(words)


def _plan_files(roles: Roles, draft: Draft) -> None:
    if roles.verb not in _READING | SAVE:
        _use_tool(roles.clause, draft)
        return
    _refuse_pairs(roles)
    if len(roles.files) > 1:
        raise CannotPlan(f"{str(roles.clause)!r} names several files to read at once")
    _refuse_unknown(roles)
    files.read(roles.files[0], draft)
    _finish(roles, draft)


def _own_text(roles: Roles) -> str | None:
    quoted = [token for token in roles.what if token.type is TokenType.QUOTED]
    others = [t for t in roles.what if t.type is not TokenType.QUOTED and t.word not in FILLERS]
    if roles.verb not in SAVE or len(quoted) != 1 or {t.word for t in others} - {"line", "text"}:
        return None
    return str(quoted[0].value)


def _refuse_rest(roles: Roles) -> None:
    """Refuse words after a source that belong to nothing: they say another thing to do."""
    rest = [token for token in roles.after if token.word not in FILLERS]
    if rest:
        raise CannotPlan(f"what {said(rest)!r} means in {str(roles.clause)!r} is not clear")


def _refuse_verbs(roles: Roles) -> None:
    """Refuse words after a source that do something unknown: "and email it to Bob"."""
    for token, following in pairwise(roles.after):
        known = QUIET | PART_OF | FILLERS | COMPARATORS.keys() | {"than", "not", "by", "about"}
        if following.word in _OBJECTS and token.word and token.word not in known:
            raise CannotPlan(f"{said([token, following])!r} is not something runtrue can do")


def _refuse_unknown(roles: Roles) -> None:
    """Refuse words before a source without a preposition: they name no part of it."""
    before = [t for t in roles.what[: roles.before] if t.word not in FILLERS]
    ends = roles.what[: roles.before][-1:]
    if ends and ends[0].word in {",", ":", "("}:
        return  # "names of the repos, URL": read when the answer is there.
    reads = bool(roles.urls) and not roles.sends
    if not roles.verb and before and not roles.joined and not _selects(before) and not reads:
        raise CannotPlan(f"what {said(before)!r} means in {str(roles.clause)!r} is not clear")


def _selects(tokens: list[TaskToken]) -> bool:
    """True if words say which entries of a list, or in which order."""
    return lists.has_cue(tokens)


def _refuse_pairs(roles: Roles) -> None:
    for key in (*roles.query, *roles.body, *roles.headers):
        raise CannotPlan(f"{key!r} in {str(roles.clause)!r} belongs to nothing here")
    if roles.documents or roles.token or roles.key:
        raise CannotPlan(f"{str(roles.clause)!r} gives a value that belongs to nothing here")


def _finish(roles: Roles, draft: Draft) -> None:
    """Plan what the rest of a clause does to the topic, and where to write that."""
    names = files.chosen(roles, draft) if roles.verb in SAVE else None
    old = set(draft.results) if roles.verb in SAVE else draft.written
    if names is None:
        _take(roles, draft)
        names = [name for name in draft.results if name not in old]
    if roles.verb in SAVE or roles.destination is not None:
        files.save(roles, draft, names)


def _take(roles: Roles, draft: Draft) -> None:
    """Plan what the words of a clause take out of the topic, or do to it."""
    topic = draft.topic
    words = [token for token in roles.what if token.word not in FILLERS | GENERIC]
    changes = roles.verb in CHANGE and roles.verb not in {"copy", "compute", "calculate"}
    if topic is not None and topic.node is not None and draft.all_pages and not words:
        topic = pages.follow(topic, roles.what, draft)
    if topic is None or not (words or changes):
        return
    if roles.verb in {"count", "how"} and topic.node is not None and topic.collection:
        lists.take(roles, draft)
        return
    only_nouns = all(token.word and singular(token.word) in topic.nouns for token in words)
    if roles.destination is not None and roles.verb in {"convert", "turn"} and not words:
        _refuse_conversion(roles, topic.form)
        return
    means_whole = only_nouns and not _are_fields(words, roles, topic)
    if means_whole and not changes and roles.verb != "how":
        return
    late = [token for token in roles.after if token.word not in FILLERS | GENERIC | QUIET]
    ends = roles.what[: roles.before][-1:] if roles.before else []
    late += [token for token in ends if token.word in {",", ":", "("}]
    if (topic.node is not None or topic.entries) and (
        late or draft.each or lists.speaks_of_list(roles.verb, roles.what, topic)
    ):
        lists.take(roles, draft)
        return
    asks_number = roles.verb in {"how", "count"} and topic.node is not None
    wanted = operations.read_operations(roles.verb, roles.what, topic.form)
    is_table = topic.node is None and topic.form in (DataForm.TABLE, DataForm.DATA)
    if is_table and lists.groups(roles.what):
        lists.take(roles, draft)
    elif wanted is not None and not (asks_number and not topic.collection):
        for operation in wanted:
            operations.apply(operation, draft)
    elif asks_number or (topic.node is not None and not changes):
        _take_of_response(roles, topic, draft)
    elif is_table and not (changes and roles.verb not in _CALCULATING):
        _take_of_data(roles, topic, draft)
    elif topic.form is DataForm.TEXT and (not changes or roles.verb == "count"):
        _refuse_rest(roles)
        asks = {"how": ["how"], "count": ["how", "many"]}.get(roles.verb, [])
        files.take([*(TaskToken(TokenType.WORD, word) for word in asks), *roles.what], draft)
    else:
        raise CannotPlan(f"{str(roles.clause)!r}: that is not something runtrue can do")


def _take_of_response(roles: Roles, topic: Topic, draft: Draft) -> None:
    """Plan what is wanted of a response: by a first guess of its path, or when it is there."""
    take = http.count if roles.verb in {"how", "count"} else http.take
    try:
        take(roles.what, draft)
    except CannotPlan:
        method = topic.node["params"].get("method", "GET") if topic.node else "GET"
        if method != "GET" or _MODAL & {token.word for token in roles.what}:
            raise
        lists.take(roles, draft)


def _take_of_data(roles: Roles, topic: Topic, draft: Draft) -> None:
    """Plan what is wanted of a file: a value or columns by their names, or when it is there."""
    where = {"where", "whose"} & {token.word for token in roles.what}
    if where and roles.verb in _CALCULATING:
        raise CannotPlan(f"{str(roles.clause)!r}: the condition is not understood")
    is_table = topic.form is DataForm.TABLE
    speaks = lists.has_cue(roles.what) or (
        not is_table and lists.speaks_of_list(roles.verb, roles.what, topic)
    )
    if not where and (roles.verb in _CALCULATING or speaks):
        if not any(token.word not in FILLERS | GENERIC for token in roles.what):
            raise CannotPlan(f"{str(roles.clause)!r}: that is not something runtrue can do")
        lists.take(roles, draft)
        return
    try:
        if is_table:
            operations.apply(operations.columns(roles.what), draft)
        else:
            _refuse_rest(roles)
            asks = [TaskToken(TokenType.WORD, "how")] if roles.verb == "how" else []
            files.take([*asks, *roles.what], draft)
    except CannotPlan:
        if where or {"column", "columns"} & {token.word for token in roles.what}:
            raise
        lists.take(roles, draft)


def _are_fields(words: list[TaskToken], roles: Roles, topic: Topic) -> bool:
    if roles.verb not in TAKE or topic.form is DataForm.TEXT:
        return False
    whole = all(token.word in topic.own for token in words)
    return not (whole and (topic.collection or roles.verb in _GIVE))


def _refuse_conversion(roles: Roles, form: DataForm) -> None:
    wanted = str(roles.destination.value).rpartition(".")[2].lower() if roles.destination else ""
    if (form, wanted) not in {(DataForm.TABLE, "json"), (DataForm.DATA, "csv")}:
        raise CannotPlan(f"{str(roles.clause)!r}: only CSV and JSON can be converted to each other")

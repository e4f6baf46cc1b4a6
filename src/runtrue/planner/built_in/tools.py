"""Tools: steps that call a tool of an MCP server or an operation of an API.

It is the one that every word of a clause fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runtrue.planner.built_in import lists
from runtrue.planner.built_in.arguments import PREPOSITIONS, Argument, Wording, fill
from runtrue.planner.built_in.clauses import Roles
from runtrue.planner.built_in.draft import CannotPlan, DataForm, Draft
from runtrue.planner.built_in.urls import is_secret
from runtrue.planner.task import Clause, TaskToken, TokenType, read_task
from runtrue.planner.words import (
    ASK,
    FETCH,
    FILLERS,
    SHOW,
    TAKE,
    is_plural,
    singular,
    singulars,
    split_name,
    word_set,
)
from runtrue.workflow import Interface

#: Words that say to do something, and not what.
_PLAIN = FILLERS | PREPOSITIONS | SHOW | TAKE | {""}
_PLAIN |= word_set(
    "ask use using via call get fetch retrieve mcp server tool api now current currently"
)
_PLAIN |= word_set("this what's which one last latest recent right be s what many much through run")
_REFERRING = word_set("use using via with ask call through have let make")
#: The lead that a tool needs over the next one, and the score it needs if no server is named.
_MARGIN = 1.0
_LEAST = 3.0
_NAME_WEIGHT, _SERVER_WEIGHT, _OTHER_WEIGHT, _VALUE_WEIGHT = 3.0, 2.0, 1.0, 1.0
_MISSING_PENALTY, _UNSAID_PENALTY = 1.5, 1.0
#: First words in the descriptions and names of tools that only read, without their endings.
_LOOKING = word_set("get show list return read retriev fetch search find query queri look lookup")
_LOOKING |= word_set(
    "describ count check display print report tell provid calculat comput the a an"
)
#: What people say for words in the name or the description of a tool.
_ALSO = {
    "repository": ("repo",),
    "add": ("sum", "create", "post"),
    "plus": ("sum",),
    "folder": ("directory",),
    "dir": ("directory",),
    "remove": ("delete",),
    "erase": ("delete",),
    "make": ("create", "add"),
    "new": ("create", "add"),
    "change": ("update", "edit"),
    "set": ("update",),
}
#: Words that have somebody do something: "have the echo server say …".
_CAUSING = frozenset({"have", "let", "make"})
_TYPES = word_set("string number integer boolean object array")


@dataclass(frozen=True, slots=True)
class _Match:
    interface: Interface
    score: float
    values: dict[str, Any]
    #: Words that do not fit this tool.
    unexplained: tuple[str, ...]
    #: Words of the tool's own name that were said.
    hits: frozenset[str]
    #: True if all of that name was said, or goes without saying.
    named: bool
    #: Words for fields of the answer, which the document of an API declares.
    wanted: tuple[TaskToken, ...] = ()


def names_server(clause: Clause, components: tuple[Interface, ...]) -> bool:
    """True if a clause calls one of the servers by its name, and means it."""
    if _named_servers(clause, components):
        return True
    if _has_other_target(clause):
        return False
    words = {token.word for token in clause.tokens}
    said = [tool for tool in components if tool.server and tool.server.lower() in words]
    matches = [_match(clause, tool) for tool in said]
    return any(m.hits and not m.unexplained and _is_meant(clause, m.interface) for m in matches)


def names_tool(task: str, tool: Interface) -> bool:
    """True if a clause of a task is about this tool: every word of it fits, and it is meant."""
    for clause in read_task(task).clauses:
        match = _match(clause, tool)
        is_said = match.hits or match.named or tool.server in _named_servers(clause, (tool,))
        if is_said and not match.unexplained and _is_meant(clause, tool):
            return True
    return False


def _has_other_target(clause: Clause) -> bool:
    return any(token.type in (TokenType.URL, TokenType.COMMAND) for token in clause.tokens)


def call_tool(clause: Clause, draft: Draft, components: tuple[Interface, ...]) -> None:
    """Call the tool that the clause is about; a refusal says which ones it could be."""
    servers = _named_servers(clause, components)
    tools = [tool for tool in components if tool.server is not None]
    if servers:
        tools = [tool for tool in tools if tool.server in servers]
    matches = sorted((_match(clause, tool) for tool in tools), key=lambda m: -m.score)
    eligible = [m for m in matches if not m.unexplained and _is_meant(clause, m.interface)]
    if not eligible and servers and (reading := _reading(clause, matches)) is not None:
        _query(reading, clause, draft)
        return
    sure = servers or (eligible and (eligible[0].named or eligible[0].score >= _LEAST))
    if not eligible or not sure:
        raise _refusal(clause, matches if servers else [m for m in matches if m.score > 0])
    if len(eligible) > 1 and eligible[0].score - eligible[1].score < _MARGIN:
        close = [m.interface.type for m in eligible if eligible[0].score - m.score < _MARGIN]
        raise CannotPlan(f"{str(clause)!r} could mean several tools: {', '.join(close)}")
    if eligible[0].wanted:
        _query(eligible[0], clause, draft)
    else:
        _call(eligible[0], draft)


def _reading(clause: Clause, matches: list[_Match]) -> _Match | None:
    """Return the one that reads what a clause speaks of, where other words say what of it."""
    reading = [
        match
        for match in matches
        if match.interface.reads
        # Only a tool that is called without arguments lists everything there is.
        and (match.interface.type.startswith("api-") or (match is matches[0] and not match.values))
        and all(name in match.values for name in match.interface.required)
        and _is_meant(clause, match.interface)
    ]
    first, second = (*reading, None, None)[:2]
    if first is None or (second is not None and first.score - second.score < _MARGIN):
        return None
    return first


def _query(match: _Match, clause: Clause, draft: Draft) -> None:
    """Call an operation, and plan what the words that are no arguments want of its answer."""
    spoken = _spoken(clause, match.interface)
    wording = Wording(spoken)
    fill(_arguments(match.interface), wording)
    server = (match.interface.server or "").lower()
    verb = clause.verb if spoken and spoken[0].word == clause.verb else ""
    what = [
        token
        for at, token in wording.free()
        if token.word not in (server, "api", "server", "mcp", "tool") and not (at == 0 and verb)
    ]
    _call(match, draft)
    roles = Roles(clause, verb, what=[t for t in what if t.word != ":"])
    lists.take(roles, draft)


def _refusal(clause: Clause, near: list[_Match]) -> CannotPlan:
    if not near:
        asks = {"server", "mcp", "tool"} & {token.word for token in clause.tokens}
        hint = "; `runtrue mcp list` lists the servers" if asks else ""
        return CannotPlan(f"what to do for {str(clause)!r} is not clear{hint}")
    names = ", ".join(match.interface.type for match in near[:3])
    words = " ".join(near[0].unexplained)
    unclear = f"{words!r} in {str(clause)!r} matches no tool"
    if not words:
        unclear = f"which tool {str(clause)!r} means is not clear"
    return CannotPlan(f"{unclear}; the closest are: {names}")


def _named_servers(clause: Clause, components: tuple[Interface, ...]) -> set[str]:
    if _has_other_target(clause):
        return set()
    words = [clause.verb, *(token.word for token in clause.tokens)]
    found = set()
    apis = {tool.server for tool in components if tool.type.startswith("api-")}
    for server in {tool.server for tool in components if tool.server is not None}:
        for at in (at for at, word in enumerate(words) if word == server.lower()):
            before = [w for w in words[max(0, at - 2) : at] if w not in {"the", "my", "mcp"}]
            after = words[at + 1 : at + 3]
            # The name of an API that somebody added is no word for anything else.
            is_api = server in apis and (before[-1:] == [] or before[-1] in PREPOSITIONS | {""})
            refers = _REFERRING & set(before[-1:]) or is_api
            if {"server", "mcp", "tool", "api"} & set(after) or refers:
                found.add(server)
    return found


def _match(clause: Clause, tool: Interface) -> _Match:
    spoken = _spoken(clause, tool)
    wording = Wording(spoken)
    arguments = _arguments(tool)
    values = fill(arguments, wording)
    server, named = singulars(tool.server or ""), singulars(_own_name(tool))
    described = singulars(tool.description).union(*(singulars(one.name) for one in arguments))
    stems = {_stem(word) for word in described | named}
    fields = singulars(" ".join(tool.fields)) - described
    score, unexplained, hits = _VALUE_WEIGHT * len(values), [], set()
    wanted = []
    for _, token in wording.free():
        word = singular(token.word)
        if word not in named:
            word = next((also for also in _ALSO.get(word, ()) if also in named), word)
        if word in named - server:
            score += _NAME_WEIGHT
            hits.add(word)
        elif word and word in server:
            score += _SERVER_WEIGHT if word in named else 0
        elif word and (token.word in _PLAIN or token.type is TokenType.MARK):
            continue
        elif word and (word in described or _stem(word) in stems):
            score += _OTHER_WEIGHT
        elif word and word in fields:
            score += _OTHER_WEIGHT
            wanted.append(token)
        else:
            unexplained.append(token.text)
    said = {singular(token.word) for token in spoken} | server | _PLAIN
    said |= {"file"} if any(token.is_file for token in spoken) else set()
    # The server's name goes without saying, but it names no tool.
    whole = named <= said and bool({singular(t.word) for t in spoken} & (named - _PLAIN))
    score -= _UNSAID_PENALTY * len(named - said)
    score -= _MISSING_PENALTY * len([name for name in tool.required if name not in values])
    return _Match(
        tool, score, values, tuple(unexplained), frozenset(hits - _PLAIN), whole, tuple(wanted)
    )


def _arguments(tool: Interface) -> list[Argument]:
    # Not every server declares its arguments as it should.
    params: dict[str, Any] = dict(tool.params)
    schemas = {name: one if isinstance(one, dict) else {} for name, one in params.items()}
    needed = tool.required
    return [Argument(name=n, schema=one, required=n in needed) for n, one in schemas.items()]


def _own_name(tool: Interface) -> str:
    prefix = "mcp" if tool.type.startswith("mcp-") else "api"
    return tool.type.removeprefix(f"{prefix}-{tool.server}-")


def _spoken(clause: Clause, tool: Interface) -> tuple[TaskToken, ...]:
    """Return the words of a clause with its verb, without the "to" of "use git to …"."""
    spoken = [TaskToken(TokenType.WORD, clause.verb)] if clause.verb else []
    callers = {(tool.server or "").lower(), "server", "tool"}
    for at, token in enumerate(clause.tokens):
        before = clause.tokens[at - 1].word if at else ""
        causes = not clause.verb and at == 0 and token.word in _CAUSING
        if not (token.word == "to" and before in callers and clause.verb in ASK) and not causes:
            spoken.append(token)
    return tuple(spoken)


def _is_meant(clause: Clause, tool: Interface) -> bool:
    """True unless a clause only asks to read and the tool does more.

    Its words may well fit one that changes something: "show the changes" is no reset.
    """
    wanted = clause.verb
    if not wanted and clause.tokens and clause.tokens[0].word in _CAUSING:
        return True
    if wanted in ASK:
        spoken = [token.word for token in clause.tokens]
        wanted = spoken[spoken.index("to") + 1] if "to" in spoken[:-1] else ""
    if not wanted and clause.tokens and clause.verb not in ASK:
        first = _stem(clause.tokens[0].word)
        wanted = first if first in {_stem(word) for word in split_name(_own_name(tool))} else ""
    if wanted and wanted not in SHOW | TAKE | FETCH:
        return True
    if tool.reads is not None:
        return tool.reads
    server = split_name(tool.server or "")
    own = [word for word in split_name(_own_name(tool)) if word not in server]
    first_words = (*split_name(tool.description)[:1], *own[:1])
    return bool(_LOOKING & {_stem(word) for word in first_words})


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "e", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def _call(match: _Match, draft: Draft) -> None:
    tool = match.interface
    params: dict[str, Any] = {}
    for argument in _arguments(tool):
        name = argument.name
        about = argument.description
        if name in match.values:
            value, secret = match.values[name], is_secret(name)
            params[name] = draft.input(name, value, secret=secret, description=about)
        elif argument.required:
            type_ = argument.type if argument.type in _TYPES else None
            params[name] = draft.missing(name, about, type_)
    words = split_name(_own_name(tool))
    node = draft.node("_".join(words) or "call", tool.type, params)
    nouns = frozenset(map(singular, words))
    if tool.type.startswith("api-"):
        # "List the animals" says what else the pets are called.
        nouns |= {singular(word) for word in split_name(tool.description) if is_plural(word)}
    draft.set_topic("result", f"${{{node['id']}.result}}", DataForm.DATA, nouns=nouns)

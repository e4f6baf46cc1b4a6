"""YAML by the core schema of its version 1.2: `yes` and dates are text, and nothing runs code.

Loads PyYAML, which reads by version 1.1 unless told otherwise; so import this late.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode

from runtrue.workflow.files import MAX_BYTES, Misread
from runtrue.workflow.plain import MAX_DEPTH, Pointer, read_int

if yaml.__with_libyaml__:
    from yaml import CSafeLoader as _Base
else:
    from yaml import SafeLoader as _Base  # type: ignore[assignment]

_STANDARD = "tag:yaml.org,2002:"
#: What a plain scalar is, in this order: the first that matches, or else text.
_CORE = {
    "null": re.compile(r"(?:~|null|Null|NULL|)\Z"),
    "bool": re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"),
    "int": re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z"),
    "float": re.compile(
        r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
    ),
    # Not of version 1.2, but what everyone expects of YAML.
    "merge": re.compile(r"<<\Z"),
}
_KINDS = {"null": "null", "bool": "a boolean", "int": "a number", "float": "a number"}

_UNPRINTABLE = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: Characters that version 1.1 takes for line breaks, and version 1.2 does not.
_ODD_BREAKS = re.compile("[\x85\u2028\u2029]")
#: What each value that an alias repeats counts for besides its text: about what it takes.
_VALUE_SIZE = 50


def read(text: str) -> tuple[Any, dict[Pointer, int]]:
    """The data of a text of one document, and where in it each value stands; or Misread."""
    tree = _Tree()
    return tree.build(_compose(text), ()), tree.offsets


def dump(data: Any) -> str:
    """Plain data as YAML that readers of either version take for the same."""
    return yaml.dump(
        data,
        Dumper=_Dumper,
        default_flow_style=False,
        sort_keys=False,
        allow_unicode=True,
        width=sys.maxsize,
    )


def _compose(text: str) -> Node:
    if bad := _UNPRINTABLE.search(text):
        raise Misread(f"the character {bad[0]!r} is not allowed in YAML", bad.start())
    loader: Any = _Loader(text)
    try:
        if not loader.check_node():
            raise Misread("is empty")
        node: Node = loader.get_node()
        if loader.check_node():
            offset = loader.get_node().start_mark.index
            raise Misread("a second document begins here; a file may hold only one", offset)
    except yaml.MarkedYAMLError as error:
        raise _misread(error, text) from error
    finally:
        loader.dispose()
    return node


def _misread(error: yaml.MarkedYAMLError, text: str) -> Misread:
    """What the parser said, with where it was and what it was looking at."""
    begin, place = error.context_mark, error.problem_mark
    problem = error.problem or "it cannot be read"
    if error.context and begin and place and begin.line < place.line:
        problem = f"{error.context} from line {begin.line + 1}, {problem}"
    elif error.context:
        problem = f"{error.context}, {problem}"
    offset = place.index if place else 0
    if text[offset - 1 : offset + 1] == "${":
        problem += "; inside of [ ] and { } put text with ${ } in quotes"
    elif offset < len(text):
        problem += f" (at {text[offset]!r})"
    return Misread(f"is not valid YAML: {problem}", offset)


class _Loader(_Base):
    """Composes nodes with the tags of the core schema, to a limited depth."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 (PyYAML's way)
    _depth = 0

    # The composer calls these two around each node. It recurses in C, where nothing but this
    # keeps a deep document from exhausting the stack, and with it the process.
    def descend_resolver(self, current_node: Node | None, current_index: Any) -> None:
        self._depth += 1
        if current_node is not None and self._depth > MAX_DEPTH + 1:
            raise _too_deep(current_node)

    def ascend_resolver(self) -> None:
        self._depth -= 1


def _too_deep(node: Node) -> Misread:
    return Misread(f"this is nested more than {MAX_DEPTH} levels deep", node.start_mark.index)


class _Tree:
    """Builds the data of a document out of its nodes, and notes where each value stands."""

    def __init__(self) -> None:
        self.offsets: dict[Pointer, int] = {}
        self._built: set[int] = set()
        self._members: dict[int, dict[str, tuple[Node, Node]]] = {}
        self._repeated = 0

    def build(self, node: Node, pointer: Pointer) -> Any:
        self.offsets.setdefault(pointer, node.start_mark.index)
        if len(pointer) > MAX_DEPTH:  # An alias inside of what it stands for.
            raise _too_deep(node)
        if id(node) in self._built:
            self._repeat(node)
        self._built.add(id(node))
        kind = node.tag.removeprefix(_STANDARD)
        if isinstance(node, MappingNode) and kind == "map":
            return dict(self._build_members(node, pointer))
        if isinstance(node, SequenceNode) and kind == "seq":
            return [self.build(item, (*pointer, n)) for n, item in enumerate(node.value)]
        if isinstance(node, ScalarNode) and kind in {"str", *_CORE}:
            return _scalar(node, kind)
        tag = node.tag.replace(_STANDARD, "!!")
        message = f"the tag {tag} is not supported; plain values need none"
        raise Misread(message, node.start_mark.index)

    def _build_members(self, node: MappingNode, pointer: Pointer) -> Iterator[tuple[str, Any]]:
        for name, (key, value) in self._members_of(node).items():
            self.offsets[*pointer, name] = key.start_mark.index
            yield name, self.build(value, (*pointer, name))

    def _members_of(self, node: MappingNode) -> dict[str, tuple[Node, Node]]:
        """Each member's key and value, those that `<<` brings in before the mapping's own."""
        if id(node) in self._members:
            return self._members[id(node)]
        own: dict[str, tuple[Node, Node]] = {}
        merged: dict[str, tuple[Node, Node]] = {}
        merge: Node | None = None
        for key, value in node.value:
            is_merge = key.tag == f"{_STANDARD}merge"
            first = merge if is_merge else own.get(name := _name(key), (None,))[0]
            if first is not None:
                line = first.start_mark.line + 1
                message = f"the key {key.value!r} is here twice, first on line {line}"
                raise Misread(message, key.start_mark.index)
            if not is_merge:
                own[name] = (key, value)
                continue
            merge = key
            for source in _sources(value):
                for inherited, member in self._members_of(source).items():
                    self._repeat(member[0])
                    merged.setdefault(inherited, member)
        self._members[id(node)] = {**merged, **own}
        return self._members[id(node)]

    def _repeat(self, node: Node) -> None:
        """Count what an alias repeats: a few lines of them can stand for more than fits."""
        size = len(node.value) if isinstance(node, ScalarNode) else 0
        self._repeated += _VALUE_SIZE + size
        if self._repeated > MAX_BYTES:
            message = "its aliases (*name) repeat too much: more than the largest file could hold"
            raise Misread(message, node.start_mark.index)


def _name(key: Node) -> str:
    """The text of a key, which nothing but text may be."""
    if key.tag == f"{_STANDARD}str" and isinstance(key, ScalarNode):
        return str(key.value)
    if isinstance(key, ScalarNode):
        kind = _KINDS.get(key.tag.removeprefix(_STANDARD), "something else")
        message = f'the key {key.value} is {kind}, not text; write it in quotes: "{key.value}"'
    else:
        message = "a key must be text, not a mapping or a list; if it is meant as text, quote it"
    raise Misread(message, key.start_mark.index)


def _sources(node: Node) -> list[MappingNode]:
    """The mappings that `<<` names."""
    named = node.value if isinstance(node, SequenceNode) else [node]
    sources = [one for one in named if isinstance(one, MappingNode)]
    if len(sources) < len(named):
        message = "`<<` takes a mapping or a list of mappings, by their aliases (*name)"
        raise Misread(message, node.start_mark.index)
    return sources


def _scalar(node: ScalarNode, kind: str) -> Any:
    text: str = node.value
    if kind in {"str", "merge"}:
        return text
    if not _CORE[kind].match(text):
        raise Misread(f"{text!r} is not {_KINDS[kind]} in YAML 1.2", node.start_mark.index)
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "int":
        return read_int(text)
    return float(re.sub(r"\.(?=[iInN])", "", text))


class _Dumper(yaml.SafeDumper):
    """Writes block style, with lists indented and without aliases."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> ScalarNode:
    style = None
    if _ODD_BREAKS.search(text):
        style = '"'
    elif "\n" in text and not text[0].isspace():
        # A literal that begins with space needs a number for its indentation, hard to read.
        style = "|"
    return dumper.represent_scalar(f"{_STANDARD}str", text, style=style)


for _kind, _pattern in _CORE.items():
    _Loader.add_implicit_resolver(f"{_STANDARD}{_kind}", _pattern, None)
    # Over those of version 1.1, which the dumper knows: what either misreads is quoted.
    _Dumper.add_implicit_resolver(f"{_STANDARD}{_kind}", _pattern, None)
_Dumper.add_implicit_resolver(f"{_STANDARD}bool", re.compile(r"[yYnN]\Z"), list("yYnN"))
_Dumper.add_representer(str, _represent_text)
_Dumper.add_multi_representer(dict, yaml.SafeDumper.represent_dict)

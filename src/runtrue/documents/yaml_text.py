"""YAML by the core schema of its version 1.2: `yes` and dates are text, and nothing runs code.

Loads PyYAML, which reads by version 1.1 by default; so import this late.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode

from runtrue.documents.plain import MAX_BYTES, MAX_DEPTH, Misread, Pointer, read_int

if yaml.__with_libyaml__:
    from yaml import CSafeLoader as _Base
else:
    from yaml import SafeLoader as _Base  # type: ignore[assignment]

_STANDARD = "tag:yaml.org,2002:"
#: The tags of plain scalars: the first pattern that matches wins, else it is text.
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
_NOUNS = {"null": "null", "bool": "a boolean", "int": "a number", "float": "a number"}

_UNPRINTABLE = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: Characters that version 1.1 takes for line breaks, and version 1.2 does not.
_ODD_BREAKS = re.compile("[\x85\u2028\u2029]")
#: What each value that an alias repeats counts for besides its text: about its size in memory.
_VALUE_SIZE = 50


def read(text: str) -> tuple[Any, dict[Pointer, int]]:
    """Return the data of one document, and the offset of each value. Raises Misread."""
    tree = _Tree()
    return tree.build(_compose(text), ()), tree.offsets


def dump(data: Any) -> str:
    """Return plain data as YAML that readers of both versions read alike."""
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
            raise Misread("a second document starts here; a file may hold only one", offset)
    except yaml.MarkedYAMLError as error:
        raise _misread(error, text) from error
    finally:
        loader.dispose()
    return node


def _misread(error: yaml.MarkedYAMLError, text: str) -> Misread:
    """Add where the parser was, and what it was reading."""
    begin, end = error.context_mark, error.problem_mark
    problem = error.problem or "it cannot be read"
    if error.context and begin and end and begin.line < end.line:
        problem = f"{error.context} from line {begin.line + 1}, {problem}"
    elif error.context:
        problem = f"{error.context}, {problem}"
    offset = end.index if end else 0
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
    """Builds the data of a document from its nodes, and notes the offset of each value."""

    def __init__(self) -> None:
        self.offsets: dict[Pointer, int] = {}
        self._built: set[int] = set()
        self._members: dict[int, dict[str, tuple[Node, Node]]] = {}
        self._repeated = 0

    def build(self, node: Node, pointer: Pointer) -> Any:
        self.offsets.setdefault(pointer, node.start_mark.index)
        if len(pointer) > MAX_DEPTH:  # An alias inside of its own anchor.
            raise _too_deep(node)
        if id(node) in self._built:
            self._repeat(node)
        self._built.add(id(node))
        tag = node.tag.removeprefix(_STANDARD)
        if isinstance(node, MappingNode) and tag == "map":
            return dict(self._build_members(node, pointer))
        if isinstance(node, SequenceNode) and tag == "seq":
            return [self.build(item, (*pointer, n)) for n, item in enumerate(node.value)]
        if isinstance(node, ScalarNode) and tag in {"str", *_CORE}:
            return _scalar(node, tag)
        unknown = node.tag.replace(_STANDARD, "!!")
        message = f"the tag {unknown} is not supported; plain values need no tag"
        raise Misread(message, node.start_mark.index)

    def _build_members(self, node: MappingNode, pointer: Pointer) -> Iterator[tuple[str, Any]]:
        for name, (key, value) in self._members_of(node).items():
            self.offsets[*pointer, name] = key.start_mark.index
            yield name, self.build(value, (*pointer, name))

    def _members_of(self, node: MappingNode) -> dict[str, tuple[Node, Node]]:
        """Return each member's key and value, inherited through `<<` before its own."""
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
                message = f"the key {key.value!r} appears twice, first on line {line}"
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
        """Count what an alias repeats: a few lines of aliases can expand beyond memory."""
        size = len(node.value) if isinstance(node, ScalarNode) else 0
        self._repeated += _VALUE_SIZE + size
        if self._repeated > MAX_BYTES:
            message = "its aliases (*name) expand to more than the largest file allowed"
            raise Misread(message, node.start_mark.index)


def _name(key: Node) -> str:
    """Return the text of a key; any other type is refused."""
    if key.tag == f"{_STANDARD}str" and isinstance(key, ScalarNode):
        return str(key.value)
    if isinstance(key, ScalarNode):
        what = _NOUNS.get(key.tag.removeprefix(_STANDARD), "something else")
        message = f'the key {key.value} is {what}, not text; write it in quotes: "{key.value}"'
    else:
        message = "a key must be text, not a mapping or a list; if you meant text, quote it"
    raise Misread(message, key.start_mark.index)


def _sources(node: Node) -> list[MappingNode]:
    named = node.value if isinstance(node, SequenceNode) else [node]
    sources = [one for one in named if isinstance(one, MappingNode)]
    if len(sources) < len(named):
        message = "`<<` takes a mapping or a list of mappings, by their aliases (*name)"
        raise Misread(message, node.start_mark.index)
    return sources


def _scalar(node: ScalarNode, tag: str) -> Any:
    text: str = node.value
    if tag in {"str", "merge"}:
        return text
    if not _CORE[tag].match(text):
        raise Misread(f"{text!r} is not {_NOUNS[tag]} in YAML 1.2", node.start_mark.index)
    if tag == "null":
        return None
    if tag == "bool":
        return text.lower() == "true"
    if tag == "int":
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


for _tag, _pattern in _CORE.items():
    _Loader.add_implicit_resolver(f"{_STANDARD}{_tag}", _pattern, None)
    # Added to those of version 1.1 in the dumper: text that either version misreads is quoted.
    _Dumper.add_implicit_resolver(f"{_STANDARD}{_tag}", _pattern, None)
_Dumper.add_implicit_resolver(f"{_STANDARD}bool", re.compile(r"[yYnN]\Z"), list("yYnN"))
_Dumper.add_representer(str, _represent_text)
_Dumper.add_multi_representer(dict, yaml.SafeDumper.represent_dict)

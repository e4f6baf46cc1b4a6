"""Words: keywords that are misspelt, missing, doubled, or those of another language."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator

from runtrue.fixers.search.edit import Splice
from runtrue.fixers.search.syntax.damage import Damage, Patch
from runtrue.fixers.search.syntax.tokens import HEADERS, Lexeme

_KEYWORDS = (*keyword.kwlist, "match", "case")

#: What begins a statement in other languages, and what it is here.
_FOREIGN = {
    **dict.fromkeys(("func", "function", "fn", "fun", "define", "sub", "proc", "method"), "def"),
    **dict.fromkeys(("elseif", "elsif", "elsf"), "elif"),
    **dict.fromkeys(("foreach", "loop"), "for"),
    **{"until": "while not", "unless": "if not", "repeat": "while True", "do": "while True"},
    **{"switch": "match", "select": "match", "default": "case _", "otherwise": "else"},
    **{"catch": "except", "rescue": "except", "ensure": "finally", "throw": "raise"},
    **dict.fromkeys(("require", "include", "using", "use", "#include"), "import"),
    **dict.fromkeys(("struct", "interface", "trait", "object"), "class"),
    **dict.fromkeys(("when", "cond", "whenever"), "if"),
    **{"delete": "del", "give": "yield", "next": "continue", "exit": "break", "noop": "pass"},
    **dict.fromkeys(("ret", "returns"), "return"),
}
#: What declares a variable or a function elsewhere, and is nothing here.
_DECLARES = {
    *("var", "let", "const", "auto", "int", "float", "double", "string", "String", "str", "bool"),
    *("boolean", "char", "long", "short", "unsigned", "public", "private", "protected", "static"),
    *("final", "local", "my", "our", "dim", "Dim", "val", "mut", "void", "inline", "readonly"),
    *("export", "virtual", "override", "abstract", "number", "any", "object", "Object", "list"),
    *("dict", "new"),
}
_ENDS = {"end", "endif", "fi", "done", "endfor", "endwhile", "endfunction", "esac", "wend", "begin"}
_SAME = {
    **{"null": "None", "nil": "None", "NULL": "None", "undefined": "None", "none": "None"},
    **{"true": "True", "TRUE": "True", "false": "False", "FALSE": "False", "this": "self"},
}
_CALLS = {
    **dict.fromkeys(
        ("console.log", "Console.WriteLine", "System.out.println", "fmt.Println", "printf", "puts"),
        "print",
    ),
    **{f"Math.{name}": name for name in ("min", "max", "abs", "round", "pow")},
}


def keywords(damage: Damage) -> Iterator[Patch]:
    """Words near the error read as keywords, or no longer read as keywords."""
    for line, far in _lines(damage):
        row = damage.on(line)
        for index, token in enumerate(row[:40]):
            if token.kind == "name":
                yield from _word(damage, row, index, far)
        yield from _missing_keyword(damage, row, line, far)


def _lines(damage: Damage) -> Iterator[tuple[int, float]]:
    yield damage.line, 0.0
    if (before := damage.before(damage.line)) is not None:
        yield before, 0.4


def _word(damage: Damage, row: list[Lexeme], index: int, far: float) -> Iterator[Patch]:
    token = row[index]
    word, first = token.text, index == 0
    following = row[index + 1] if index + 1 < len(row) else None

    def become(text: str, cost: float, kind: str = "keyword") -> Patch:
        return damage.swap(kind, token.start, token.end, text, cost + far)

    def dropped(kind: str, cost: float) -> Patch:
        end = following.start if following else token.end
        return damage.swap(kind, token.start, end, "", cost + far)

    if word in _FOREIGN and (first or row[index - 1].text in ("}", ":", "async", "static")):
        yield become(_FOREIGN[word], 0.6)
    if word == "else" and following and following.text == "if":
        yield damage.swap("else if", token.start, following.end, "elif", 0.3 + far)
    if first and word == "elif":
        yield become("if", 1.6)
        yield become("else", 2.0)
    if first and word == "else" and following and following.text != ":":
        yield become("elif", 1.0)
    if (
        word in _DECLARES
        and following
        and following.kind == "name"
        and not keyword.iskeyword(following.text)
    ):
        yield dropped("declaration", 0.5)
    elif first and following and following.kind == "name" and not keyword.iskeyword(word):
        yield dropped("declaration", 1.7)
    if word in ("then", "do", "begin") and index:
        yield damage.swap("then", row[index - 1].end, token.end, ":", 0.5 + far)
        yield dropped("then", 0.6)
    if word in _ENDS and len(row) <= 3 and first:
        start, end = (
            damage.start(damage.line_of(token.start)),
            damage.end(damage.line_of(token.start)),
        )
        yield damage.swap("end of block", start, min(end + 1, len(damage.text)), "", 0.5 + far)
    if following and following.text == word:
        yield dropped("doubled word", 0.5)
    if keyword.iskeyword(word) and word not in ("None", "True", "False"):
        yield from _reserved_word(damage, token, far)
        yield dropped("keyword", 2.3 if first else 1.8)
    for near in _KEYWORDS:
        distance = _distance(word, near)
        if 0 < distance <= (2 if len(near) > 4 else 1) and (len(word) > 2 or first):
            placed = 0.0 if first or (keyword.iskeyword(near) and len(near) < 4) else 0.2
            yield become(near, 0.4 + 0.4 * distance + placed, "misspelt keyword")
        if word.startswith(near) and len(word) > len(near) > 1 and first:
            yield damage.put("space", token.start + len(near), " ", 0.8 + far)
    if (
        first
        and following
        and following.kind != "op"
        and not keyword.iskeyword(word)
        and damage.heads(damage.line_of(token.start))
    ):
        # An unknown word at the head of a block.
        for nth, head in enumerate(
            ("while", "if", "for", "def", "elif", "with", "class", "except")
        ):
            yield become(head, 1.3 + 0.15 * nth)
    if word == "import" and first:
        line = damage.line_of(token.start)
        found = re.match(
            r"(\s*)import\s+(.+?)\s+from\s+['\"]?([\w.]+)['\"]?;?\s*$", damage.lines[line - 1]
        )
        if found:
            new = f"{found.group(1)}from {found.group(3)} import {found.group(2).strip('{} ')}"
            yield damage.swap("import", damage.start(line), damage.end(line), new, 0.5)


def _reserved_word(damage: Damage, token: Lexeme, far: float) -> Iterator[Patch]:
    """A reserved word that was meant as a name: all of them that do not look like keywords."""
    for text in (f"{token.text}_", f"{token.text[0]}_{token.text[1:]}"):
        yield damage.swap("reserved word", token.start, token.end, text, 1.7 + far)
    spots = [
        found
        for found in re.finditer(rf"\b{token.text}\b", damage.text)
        if re.match(r"\s*([=.,)\]\[]|[-+*/<>!]|$)", damage.text[found.end() :])
        or damage.text[: found.start()].endswith((".", "("))
    ]
    if 1 < len(spots) <= 40:
        splices = tuple(Splice(found.start(), found.end(), f"{token.text}_") for found in spots)
        says = f"`{token.text}` → `{token.text}_` where it is a name"
        yield Patch(splices, 1.5 + far, "reserved word", says)


def _missing_keyword(damage: Damage, row: list[Lexeme], line: int, far: float) -> Iterator[Patch]:
    """A keyword put in, where a head, an import or a comparison lacks one."""
    code = [token for token in row if token.kind != "comment"]
    if not code:
        return
    texts = [token.text for token in code]
    start = code[0].start
    if texts[-1] == ":" and texts[0] not in HEADERS:
        loop = "in" in texts and texts.index("in") <= 6 and code[0].kind == "name"
        call = (len(code) > 3 and texts[1] == "(" and texts[-2] in (")", "]")) or "->" in texts
        for nth, head in enumerate(("if", "while", "elif", "with", "case", "except")):
            yield damage.put("missing keyword", start, f"{head} ", 1.1 + 0.2 * nth + far)
        yield damage.put("missing keyword", start, "for ", (0.7 if loop else 2.0) + far)
        yield damage.put("missing keyword", start, "def ", (0.7 if call else 2.0) + far)
        yield damage.put("missing keyword", start, "class ", 1.9 + far)
    if texts[0] == "for" or "for" in texts:
        for index, token in enumerate(code[:-1]):
            if index and texts[index - 1] == "for" and texts[index + 1] != "in":
                yield damage.put("missing keyword", token.end, " in", 0.8 + far)
                if texts[index + 1] in ("of", ":", "=", "from", "is", "on", "through", "->"):
                    other = code[index + 1]
                    yield damage.swap("keyword", other.start, other.end, " in ", 0.6 + far)
        for index, token in enumerate(code[1:], 1):
            if token.kind == "name" and texts[index - 1] not in ("for", "in", ".", "(", ","):
                yield damage.put("missing keyword", token.start, "in ", 1.0 + far)
    if "import" in texts and texts[0] not in ("from", "import"):
        yield damage.put("missing keyword", start, "from ", 0.8 + far)
    if texts[0] == "from" and "import" not in texts:
        for token in code[2:]:
            yield damage.put("missing keyword", token.start, "import ", 1.0 + far)
    if texts[0] == "except" and "," in texts:
        comma = code[texts.index(",")]
        yield damage.swap("except", comma.start, comma.end, " as", 0.6 + far)
    if texts[0] == "raise" and "," in texts and len(code) > 3:
        comma = code[texts.index(",")]
        splices = (Splice(comma.start, comma.end, "("), Splice(code[-1].end, code[-1].end, ")"))
        yield Patch(splices, 0.7 + far, "raise", "the message in brackets")
    if "if" in texts and texts[0] != "if":
        yield damage.put("missing else", code[-1].end, " else None", 1.9 + far)


def foreign_names(text: str, names: set[str]) -> tuple[Splice, ...]:
    """Names of other languages' constants and calls written as they are called here.

    `names` are those that nothing in the program binds.
    """
    found = []
    for match in re.finditer(r"(?<![\w.'\"])([A-Za-z]\w*)((?:\.\w+)*)", text):
        whole = match.group()
        if match.group(1) in names:
            if whole in _CALLS:
                found.append(Splice(match.start(), match.end(), _CALLS[whole]))
            elif match.group(1) in _SAME:
                end = match.start() + len(match.group(1))
                found.append(Splice(match.start(), end, _SAME[match.group(1)]))
    return tuple(found)


def _distance(one: str, other: str) -> int:
    """Return the edit distance of two words; a swap of neighbours counts as one."""
    if abs(len(one) - len(other)) > 2:
        return 9
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, earlier[j - 2] + 1)
            row.append(best)
    return row[-1]

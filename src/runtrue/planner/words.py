"""Words: the verbs that a task can ask with, and the little English that the grammar needs."""

from __future__ import annotations

import re
from collections.abc import Iterable


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


FETCH = word_set(
    "fetch get retrieve load request call query open visit download read collect gather obtain"
)
TAKE = word_set("extract take pick select grab keep find return give tell note")
SHOW = frozenset({"show", "print", "display", "output", "report", "list", "what", "how"})
SAVE = frozenset({"save", "write", "store", "export", "dump", "append", "add", "record"})
SEND = word_set(
    "post put patch delete send submit create upload login update replace modify edit register "
    "insert set"
)
RUN = frozenset({"run", "execute", "pipe"})
CHANGE = word_set(
    "count sort sum average total filter convert copy deduplicate reverse compute calculate "
    "remove drop exclude omit discard turn change"
)
ASK = frozenset({"ask", "use"})
MODEL = word_set(
    "summarise summarize translate explain draft classify decide rate rewrite analyse analyze "
    "compare describe generate suggest recommend paraphrase compose answer review categorise "
    "categorize evaluate proofread judge think choose brainstorm"
)
VERBS = FETCH | TAKE | SHOW | SAVE | SEND | RUN | CHANGE | ASK | MODEL
#: Verbs that can be names of fields as well: they begin a clause only where an object follows.
ALSO_NOUNS = word_set(
    "post put patch list report display output record store note count sum average total filter "
    "request call query load run rate change turn answer review draft copy update pick dump "
    "export use what how set login edit register"
)
#: Verbs of two words.
PHRASAL = {
    **dict.fromkeys((("log", "in"), ("sign", "in"), ("log", "into"), ("sign", "into")), "login"),
    **{
        ("look", "up"): "find",
        ("add", "up"): "sum",
        ("sum", "up"): "sum",
        ("go", "through"): "get",
    },
    **{("find", "out"): "find", ("work", "out"): "calculate", ("authenticate", "at"): "login"},
}
#: Words that may come before a verb.
POLITE = word_set("please pls plz kindly also first next finally afterwards lastly now go")


#: Words that carry no meaning of their own in a task.
FILLERS = word_set(
    "the a an it its their them his her my our your me us please pls plz just only kindly also "
    "then of is are does do has have there i , ( ) : . and"
)
DETERMINERS = word_set("the a an its their his her my our your this these")
#: Words for whatever there is to talk about.
GENERIC = word_set(
    "all both everything it them this that result results response output outputs content "
    "contents data json answer body page document text reply info information details file whole "
    "entire full complete raw "
    "everything value values one ones"
)

_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman"}
_INVARIABLE = word_set(
    "series news status address data species always this its dns aws sms gps gas lens"
)
_PLURALS = {singular: plural for plural, singular in _IRREGULAR.items()}


def singular(word: str) -> str:
    """Return the singular of a plural, and any other word as it is."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _INVARIABLE or len(word) < 3 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word.removesuffix("s")


def plural(word: str) -> str:
    """Return the plural of a word."""
    if word in _INVARIABLE or singular(word) != word:
        return word
    if word in _PLURALS:
        return _PLURALS[word]
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "sh", "ch", "x")) else f"{word}s"


def is_plural(word: str) -> bool:
    """True if a word is a plural."""
    return singular(word) != word


def name_of(words: Iterable[str], separator: str = "_") -> str:
    """Join words to the name that an API or a workflow would use."""
    parts = re.findall(r"[^\W_]+", " ".join(words))
    # `displayName` is a name already.
    name = separator.join(p if re.search(r"[a-z][A-Z]", p) else p.lower() for p in parts)
    return f"_{name}" if name[:1].isdigit() else name


def singulars(name: str) -> set[str]:
    """Return the words of a name in the singular."""
    return {singular(word) for word in split_name(name)}


def split_name(name: str) -> tuple[str, ...]:
    """Split a name into words: `getCurrentTime`, `repo_path`, `git-log`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(part.lower() for part in re.findall(r"[^\W_]+", spaced))

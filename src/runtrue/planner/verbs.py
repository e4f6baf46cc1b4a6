"""Verbs: what a task can ask to be done, by what it is about."""

from __future__ import annotations


def listed(words: str) -> frozenset[str]:
    """A set of words, as a vocabulary is best written down."""
    return frozenset(words.split())


FETCH = listed("fetch get retrieve load request call query open visit download read")
TAKE = listed("extract take pick select grab keep find return give tell note")
SHOW = frozenset({"show", "print", "display", "output", "report", "list", "what", "how"})
SAVE = frozenset({"save", "write", "store", "export", "dump", "append", "add", "record"})
SEND = frozenset({"post", "put", "patch", "delete", "send", "submit", "create", "upload"})
RUN = frozenset({"run", "execute", "pipe"})
CHANGE = listed(
    "count sort sum average total filter convert copy deduplicate reverse compute calculate "
    "remove drop exclude omit discard turn change"
)
ASK = frozenset({"ask", "use"})
MODEL = listed(
    "summarise summarize translate explain draft classify decide rate rewrite analyse analyze "
    "compare describe generate suggest recommend paraphrase compose answer review categorise "
    "categorize evaluate proofread judge think choose brainstorm"
)
VERBS = FETCH | TAKE | SHOW | SAVE | SEND | RUN | CHANGE | ASK | MODEL
#: Those that can be names of fields as well: they begin a clause only where an object follows.
ALSO_NOUNS = listed(
    "post put patch list report display output record store note count sum average total filter "
    "request call query load run rate change turn answer review draft copy update pick dump "
    "export use what how"
)
#: What may stand before a verb.
POLITE = listed("please kindly also first next finally afterwards lastly now go")

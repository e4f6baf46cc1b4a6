"""Coroutines are waited for."""

from __future__ import annotations

import pytest

from tests.fixers.search.trying import offers, proposed

HEAD = "async def load(url): ...\n\n\n"
TABLE = {
    "a call": (
        "await",
        HEAD + "async def main(url):\n    page = load(url)\n    return page\n",
        HEAD + "async def main(url):\n    page = await load(url)\n    return page\n",
    ),
    "a call whose result is used at once": (
        "await",
        HEAD + "async def main(url):\n    return load(url).text\n",
        HEAD + "async def main(url):\n    return (await load(url)).text\n",
    ),
    "a value that is there": (
        "await",
        "async def main(xs):\n    return await len(xs)\n",
        "async def main(xs):\n    return len(xs)\n",
    ),
    "a context": (
        "async",
        "async def main(session):\n    with session.get() as page:\n        return page\n",
        "async def main(session):\n    async with session.get() as page:\n        return page\n",
    ),
    "a stream": (
        "async",
        "async def main(lines):\n    for line in lines:\n        use(line)\n",
        "async def main(lines):\n    async for line in lines:\n        use(line)\n",
    ),
}


@pytest.mark.parametrize("rule", TABLE)
def test_it_is_waited_for(rule: str) -> None:
    kind, before, after = TABLE[rule]
    offers(kind, before, after)


def test_nothing_waits_outside_of_a_coroutine() -> None:
    source = (
        "async def main(xs):\n    return sorted(xs, key=lambda x: f(x))\n\n\ndef g():\n    h()\n"
    )
    waiting = [text for text, edit in proposed(source).items() if edit.kind == "await"]
    assert all("await f" not in text and "await h" not in text for text in waiting)

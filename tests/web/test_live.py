"""Live updates: no event is lost or sent twice, and a stream ends with the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from runtrue.flow import Claim, Journal
from runtrue.loop import CheckStarted
from tests.web.site import Site, claimed


def _emit(journal: Journal, claim: Claim, *numbers: int) -> None:
    for n in numbers:
        journal.emit(claim, CheckStarted(check=f"c{n}"))


async def _until(stream: AsyncIterator[str], wanted: str) -> list[str]:
    """Read until something is said, and return all of it."""
    said: list[str] = []
    async for text in stream:
        said.append(text)
        if wanted in text:
            return said
    raise AssertionError(f"the stream ended without {wanted!r}: {said}")


def _numbers(said: list[str]) -> list[int]:
    lines = "".join(said).splitlines()
    return [int(line.removeprefix("id: ")) for line in lines if line.startswith("id: ")]


def test_a_stream_has_every_event_once_and_in_order(site: Site, journal: Journal) -> None:
    claim = claimed(journal)
    _emit(journal, claim, *range(1, 4))

    async def follow() -> None:
        stream = site.live.follow(claim.run_id, 0)
        assert _numbers(await _until(stream, "c3")) == [1, 2, 3]
        _emit(journal, claim, 4, 5)
        said = await _until(stream, "c5")
        assert _numbers(said) == [4, 5]
        assert "event: change" in "".join(said)
        data = [line for line in "".join(said).splitlines() if line.startswith('data: {"tone')]
        assert json.loads(data[0].removeprefix("data: "))["text"] == "c4 runs"

    asyncio.run(follow())
    site.live.close()


def test_a_browser_that_comes_back_gets_what_it_missed(site: Site, journal: Journal) -> None:
    claim = claimed(journal)
    _emit(journal, claim, *range(1, 6))

    async def follow() -> None:
        assert _numbers(await _until(site.live.follow(claim.run_id, 3), "c5")) == [4, 5]

    asyncio.run(follow())
    site.live.close()


def test_more_events_than_are_read_at_once_all_arrive(site: Site, journal: Journal) -> None:
    claim = claimed(journal)
    _emit(journal, claim, *range(1, 1201))

    async def follow() -> None:
        said = await _until(site.live.follow(claim.run_id, 0), "c1200 ")
        assert _numbers(said) == list(range(1, 1201))

    asyncio.run(follow())
    site.live.close()


def test_the_list_hears_of_a_new_run(site: Site, journal: Journal) -> None:
    claimed(journal)

    async def follow() -> None:
        stream = site.live.follow(None, 0)
        await anext(stream)
        waiting = asyncio.ensure_future(_until(stream, "event: change"))
        await site.live.looked.wait()
        claimed(journal)
        await waiting

    asyncio.run(follow())
    site.live.close()


def test_a_stream_ends_when_the_server_stops(site: Site, journal: Journal) -> None:
    async def follow() -> None:
        stream = site.live.follow(None, 0)
        await anext(stream)
        site.live.stop()
        assert [text async for text in stream] == []

    asyncio.run(follow())
    site.live.close()

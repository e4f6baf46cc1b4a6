"""A process that holds sessions with tiny servers, to be ended by a test in some way or other."""

from __future__ import annotations

import asyncio
import json

from runtrue.workflow.mcp import Sessions
from tests.workflow.mcp.support import tiny


async def hold() -> None:
    servers = {manners: tiny(manners) for manners in ("decent", "stubborn")}
    async with Sessions(servers) as sessions:
        calls = [sessions.call(name, "spawn", {}, timeout=60) for name in servers]
        pids = [pid for answer in await asyncio.gather(*calls) for pid in answer.result]
        print(json.dumps(pids), flush=True)
        await sessions.call("decent", "hang", {}, timeout=600)


asyncio.run(hold())

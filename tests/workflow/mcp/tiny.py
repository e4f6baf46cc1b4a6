"""A tiny MCP server, run as a script: it does what no decent server does.

The first argument says how it behaves from the start, the name of a tool what a call of it does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

Json = dict[str, Any]

MANNERS = sys.argv[1] if len(sys.argv) > 1 else ""

SCHEMA: Json = {
    "type": "object",
    "properties": {"count": {"type": "integer"}},
    "required": ["count"],
}
NUMBER: Json = {
    "type": "object",
    "properties": {"result": {"type": "integer"}},
    "x-fastmcp-wrap-result": True,
}
LISTED: list[str] = []
DEAF: list[str] = []
#: What the newer protocol has in its lists.
FRESH: Json = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
#: By name: the schema of the arguments, and of what is given.
TOOLS: dict[str, tuple[Json | None, Json | None]] = {
    "pid": (None, None),
    "environment": (None, None),
    "noise": (None, None),
    "spawn": (None, None),
    "exit": (None, None),
    "die": (None, None),
    "hang": (None, None),
    "fall_silent": (None, None),
    "stop_listening": (None, None),
    "abandon": (None, None),
    "malformed": (None, None),
    "answer_another": (None, None),
    "answer_nobody": (None, None),
    "nest": (None, None),
    "flood": (None, None),
    "flood_without_end": (None, None),
    "refuse_params": (None, None),
    "refuse_otherwise": (None, None),
    "refuse_like_a_closed_connection": (None, None),
    "refuse_bad_count": (SCHEMA, None),
    "fail": (SCHEMA, None),
    "break_promise_with_text": (SCHEMA, SCHEMA),
    "break_promise_with_structure": (SCHEMA, SCHEMA),
    "ask_back": (None, None),
    "wrap": (None, NUMBER),
    "promise_nonsense": (None, {"type": "object", "properties": {"any": {"type": "no such type"}}}),
    "promise_elsewhere": (
        None,
        {"type": "object", "$ref": "https://schemas.invalid/never-fetched.json"},
    ),
}


class Refused(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


def text(value: str, **more: Any) -> Json:
    return {"content": [{"type": "text", "text": value}], **more}


def spawn() -> int:
    """Start something that leaves the process group."""
    argv = [sys.executable, "-S", "-c", "import signal; signal.pause()"]
    return subprocess.Popen(argv, start_new_session=True).pid


def call(name: str) -> Json:
    match name:
        case "pid":
            return text(json.dumps([os.getpid()]))
        case "environment":
            return text(json.dumps(dict(os.environ)))
        case "noise":
            print("Loading, please wait…", flush=True)
            print('{"is": "json", "but": "no message"}', flush=True)
            return text("done")
        case "spawn":
            return text(json.dumps([os.getpid(), spawn()]))
        case "exit":
            print("out of ideas", file=sys.stderr, flush=True)
            os._exit(7)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "abandon":
            spawn()  # which holds our output open
            os._exit(9)
        case "hang":
            if flag := os.environ.get("FLAG"):
                open(flag, "w").close()  # noqa: PTH123
            signal.pause()
        case "fall_silent":
            os.close(1)
            signal.pause()
        case "stop_listening":
            os.close(0)
            DEAF.append(name)
            return text("done")
        case "malformed":
            return {"content": "no list"}
        case "refuse_params":
            raise Refused(-32602)
        case "refuse_otherwise" | "refuse_bad_count":
            raise Refused(-32099)
        case "refuse_like_a_closed_connection":
            raise Refused(-32000)
        case "fail":
            return text("it did not work", isError=True)
        case "break_promise_with_text":
            return text("an error occurred")
        case "break_promise_with_structure":
            return text("{}", structuredContent={"count": "many"})
        case "ask_back":
            return {"resultType": "input_required", "requestState": "?"}
        case "wrap":
            return text("3", structuredContent={"result": 3})
    return text("fine", structuredContent={"any": "thing"})


def listed(name: str) -> Json:
    given, promised = TOOLS[name]
    tool: Json = {"name": name, "inputSchema": given or {"type": "object"}}
    return tool | ({"outputSchema": promised} if promised else {})


def page(cursor: str | None) -> Json:
    """All tools at once, or one on each page."""
    names = list(TOOLS)
    if MANNERS not in ("pages", "circle"):
        fresh = FRESH if MANNERS == "modern" else {}
        return {"tools": [listed(name) for name in names], **fresh}
    at = int(cursor or 0)
    following = (at + 1) % len(names) if MANNERS == "circle" else at + 1
    more = {"nextCursor": str(following)} if following < len(names) else {}
    return {"tools": [listed(names[at])], **more}


def answer(method: str, params: Json) -> Json:
    match method:
        case "server/discover" if MANNERS == "modern":
            return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **FRESH}
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "tiny", "version": "1"},
            }
        case "tools/list":
            if MANNERS == "no_tools" or (MANNERS == "lists_once" and LISTED):
                raise Refused(-32601)
            LISTED.append(method)
            if MANNERS == "grows" and "late" not in TOOLS:
                TOOLS["late"] = (None, None)
                return {"tools": []}
            return page(params.get("cursor"))
        case "tools/call":
            return call(params["name"])
    raise Refused(-32601)


def main() -> None:
    if MANNERS == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if MANNERS == "mute":
        print(os.getpid(), file=sys.stderr, flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        if MANNERS == "mute" or "id" not in message:
            continue
        if MANNERS == "strict" and message["method"] == "server/discover":
            sys.exit("expected initialize")
        reply: Json = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(message["method"], message.get("params", {}))
        except Refused as refused:
            reply["error"] = {"code": refused.code, "message": "no"}
        asked = message.get("params", {}).get("name", "")
        if asked == "answer_another":
            reply["id"] = 4711
        elif asked == "answer_nobody":
            reply = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}}
        if asked == "nest":
            reply["result"] = "HERE"
            deep = "[" * 50_000 + "]" * 50_000
            print(json.dumps(reply).replace('"HERE"', deep), flush=True)
            continue
        if asked.startswith("flood"):
            sys.stdout.write('{"jsonrpc": "2.0", "text": "')
            for _ in range(64 if asked == "flood" else 10**9):
                sys.stdout.write("x" * 2**20)
            print('"}', flush=True)
            continue
        print(json.dumps(reply), flush=True)
        if DEAF:
            signal.pause()
    if MANNERS == "stubborn":
        signal.pause()


main()

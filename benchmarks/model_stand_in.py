"""A stand-in for the models behind coding agents: it speaks their wire protocols on the loopback.

It says that it is done, repairs the file when it is held back, and says that it is done again.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: What the gate says to an agent that it holds back.
HELD_BACK = "the change is not ready"
DONE, REPAIRED = "I am done.", "Now it is done."
Event = tuple[str | None, dict[str, Any]]


class ModelStandIn(ThreadingHTTPServer):
    """Answers the Messages API, the Responses API and Gemini's, each as a stream."""

    def __init__(self, file: str, content: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        #: The file that the agent is to write when it is held back, and what into it.
        self.file, self.content = file, content
        #: How often an agent came with what had held it back.
        self.held_back = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def model_stand_in(file: str, content: str) -> Iterator[ModelStandIn]:
    server = ModelStandIn(file, content)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelStandIn

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        self._send(b'{"object": "list", "data": [], "models": []}', "application/json")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        if ":streamGenerateContent" in self.path:
            events = self._gemini(body)
        elif self.path.startswith("/v1/responses"):
            events = self._responses(body)
        elif self.path.startswith("/v1/messages") and body.get("stream"):
            events = self._messages(body)
        else:
            return self._send(b"{}", "application/json")
        lines = [
            (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"
            for name, data in events
        ]
        return self._send("".join(lines).encode(), "text/event-stream")

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _is_held_back(self, last: Any) -> bool:
        found = HELD_BACK in json.dumps(last)
        self.server.held_back += found
        return found

    def _messages(self, body: dict[str, Any]) -> Iterator[Event]:
        """https://docs.claude.com/en/api/messages-streaming"""
        last = body["messages"][-1]
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": DONE}
        stop = "end_turn"
        if "tool_result" in json.dumps(last):
            delta["text"] = REPAIRED
        elif body.get("tools") and self._is_held_back(last):
            stop = "tool_use"
            wanted = {"file_path": self.server.file, "content": self.server.content}
            block = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(wanted)}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
        usage = {"input_tokens": 1, "output_tokens": 1}
        start = {**message, "model": body["model"], "stop_reason": None, "usage": usage}
        ended = {"stop_reason": stop, "stop_sequence": None}
        yield from (
            (kind, {"type": kind, **data})
            for kind, data in (
                ("message_start", {"message": start}),
                ("content_block_start", {"index": 0, "content_block": block}),
                ("content_block_delta", {"index": 0, "delta": delta}),
                ("content_block_stop", {"index": 0}),
                ("message_delta", {"delta": ended, "usage": usage}),
                ("message_stop", {}),
            )
        )

    def _responses(self, body: dict[str, Any]) -> Iterator[Event]:
        """https://platform.openai.com/docs/api-reference/responses-streaming"""
        last = body["input"][-1]
        if str(last.get("type", "")).endswith("_output"):
            item = _message(REPAIRED)
        elif self._is_held_back(last):
            script = f"cat > {self.server.file} <<'END'\n{self.server.content}END\n"
            arguments = json.dumps({"cmd": script})
            item = {"type": "function_call", "id": "fc_1", "call_id": "call_1"}
            item |= {"name": "exec_command", "arguments": arguments}
        else:
            item = _message(DONE)
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        ended = {"id": "resp_1", "usage": usage}
        yield from (
            (kind, {"type": kind, **data})
            for kind, data in (
                ("response.created", {"response": {"id": "resp_1"}}),
                ("response.output_item.done", {"output_index": 0, "item": item}),
                ("response.completed", {"response": ended}),
            )
        )

    def _gemini(self, body: dict[str, Any]) -> Iterator[Event]:
        """https://ai.google.dev/api/generate-content"""
        last = body["contents"][-1]
        part: dict[str, Any] = {"text": DONE}
        if "functionResponse" in json.dumps(last):
            part = {"text": REPAIRED}
        elif self._is_held_back(last):
            wanted = {"file_path": self.server.file, "content": self.server.content}
            part = {"functionCall": {"name": "write_file", "args": wanted}}
        content = {"role": "model", "parts": [part]}
        yield None, {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}


def _message(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content}

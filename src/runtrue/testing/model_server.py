"""A language model that answers from a script: it speaks OpenAI's wire protocol on loopback."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-loopback-0123456789abcdef"


@dataclass(frozen=True)
class ModelRequest:
    """One request, as received."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the conversation so far."""
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages

    @property
    def prompt(self) -> str:
        """Return what the user said last."""
        texts = [m["content"] for m in self.messages if m["role"] == "user"]
        return str(texts[-1])


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What an answer says of itself. Without `input_tokens` it says nothing of what it used."""

    input_tokens: int | None = 10
    output_tokens: int = 5
    finish_reason: str | None = None
    #: The model that answered, where it is another than the one that was asked.
    model: str | None = None


@dataclass(frozen=True)
class Say(Counted):
    """Answer with a text."""

    text: str | None


@dataclass(frozen=True)
class CallTool(Counted):
    """Answer by calling the tool that was offered, with data or with a text as it is."""

    arguments: Any


@dataclass(frozen=True)
class Refuse:
    """Answer with an error, in the form the protocol has for it."""

    status: int
    message: str = "the provider's own words"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Answer with exactly these bytes."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"


class Silence:
    """Never answer."""


class HangUp:
    """Close the connection instead of answering."""


Step = Say | CallTool | Refuse | Raw | Silence | HangUp
Script = Step | Callable[[ModelRequest], Step]


class ModelServer:
    """Serves a script, one step for each request. Leaving the `with` ends requests that still wait.

        with ModelServer() as server:
            server.script(Say("Paris"), CallTool({"n": 1}), lambda asked: Say(asked.prompt))

    `requests` holds the requests received, `environment` the variables that make runtrue use it.
    """

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []
        self._script: deque[Script] = deque()
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def url(self) -> str:
        """The address for OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that name the server as the model to use."""
        return {
            "RUNTRUE_MODEL": "openai:gpt-4o",
            "OPENAI_BASE_URL": self.url,
            "OPENAI_API_KEY": KEY,
        }

    def script(self, *steps: Script) -> None:
        """Add to what will be answered, one step for each request."""
        self._script.extend(steps)

    def _next(self, request: ModelRequest) -> Step:
        self.requests.append(request)
        step = self._script.popleft() if self._script else Refuse(400, "nothing more is scripted")
        return step(request) if callable(step) else step

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                step = server._next(ModelRequest(self.path, headers, body))
                if isinstance(step, Silence):
                    server._closing.wait()
                if isinstance(step, Silence | HangUp):
                    self.close_connection = True
                    return
                # The client may have given up by now.
                with contextlib.suppress(ConnectionError):
                    self._send(*_response(step, body))

            def _send(
                self, status: int, content_type: str, headers: Mapping[str, str], body: bytes
            ) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def _response(
    step: Say | CallTool | Refuse | Raw, asked: dict[str, Any]
) -> tuple[int, str, Mapping[str, str], bytes]:
    if isinstance(step, Raw):
        return step.status, step.content_type, {}, step.body
    if isinstance(step, Refuse):
        error = {"message": step.message, "type": "error", "param": None, "code": step.code}
        return step.status, "application/json", step.headers, json.dumps({"error": error}).encode()
    return 200, "application/json", {}, json.dumps(_completion(step, asked)).encode()


def _completion(step: Say | CallTool, asked: dict[str, Any]) -> dict[str, Any]:
    if isinstance(step, Say):
        reason = step.finish_reason or "stop"
        message: dict[str, Any] = {"role": "assistant", "content": step.text, "refusal": None}
    else:
        reason = step.finish_reason or "tool_calls"
        given = step.arguments
        called = {
            "name": asked["tools"][0]["function"]["name"],
            "arguments": given if isinstance(given, str) else json.dumps(given),
        }
        call = {"id": f"call_{len(asked['messages'])}", "type": "function", "function": called}
        message = {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None}
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": asked["model"] if step.model is None else step.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
    }
    if step.input_tokens is not None:
        completion["usage"] = {
            "prompt_tokens": step.input_tokens,
            "completion_tokens": step.output_tokens,
            "total_tokens": step.input_tokens + step.output_tokens,
        }
    return completion

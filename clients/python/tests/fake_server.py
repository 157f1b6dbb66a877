"""A server that responds as a test says, and notes the requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Response:
    status: int = 200
    body: Any = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


class Cut(Response):
    """The connection ends before the response is complete."""


def error(status: int, code: str, **headers: str) -> Response:
    body = {"error": {"code": code, "message": "a message", "details": {"field": "x"}}}
    return Response(status, body, {name.replace("_", "-"): text for name, text in headers.items()})


class FakeServer:
    """Responds to requests for tokens with token-1, token-2 and so on, and to others by respond."""

    def __init__(self, *responses: Response) -> None:
        self.requests: list[Request] = []
        self.tokens = 0
        self.lifetime = 3600
        self.token_responses: list[Response] = []
        self._responses = list(responses)
        self._lock = threading.Lock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = json.loads(text) if text else None
                request = Request(self.command, self.path, dict(self.headers), body)
                fake._answer(self, fake._respond(request))

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.respond: Callable[[Request], Response] = lambda _: self._responses.pop(0)

    def __enter__(self) -> FakeServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _respond(self, request: Request) -> Response:
        with self._lock:
            if not request.path.endswith("/token"):
                self.requests.append(request)
                return self.respond(request)
            if self.token_responses:
                return self.token_responses.pop(0)
            self.tokens += 1
            token = f"token-{self.tokens}"
            names = {"token": token, "expiresIn": self.lifetime}
            return Response(200, names | {"access_token": token, "expires_in": self.lifetime})

    @staticmethod
    def _answer(handler: BaseHTTPRequestHandler, response: Response) -> None:
        text = response.body if isinstance(response.body, bytes) else json.dumps(response.body).encode()
        handler.send_response(response.status)
        for name, value in response.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(text) + isinstance(response, Cut)))
        handler.end_headers()
        handler.wfile.write(text)

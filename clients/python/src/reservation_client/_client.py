"""Requests with authentication and retries."""

from __future__ import annotations

import gzip
import http.client
import json
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import zlib
from collections.abc import Mapping
from email.message import Message
from typing import Any

from ._retries import Limits, Retries
from ._values import Resource, decode, encode
from ._version import VERSION
from .errors import APIError, ConnectionFailed

_RENEW_BEFORE = 300.0  # seconds before the end of a token at which it is renewed


class Client:
    """Sends the requests of one interface. Several threads can use it.

    timeout limits each wait for the network, in seconds. attempts and longest_wait limit the
    retries of a request. context has the certificate authorities to trust, if they are not those
    of the system.
    """

    _token_path = ""

    def __init__(
        self,
        base_url: str,
        *,
        timeout: float = 30.0,
        attempts: int = 5,
        longest_wait: float = 120.0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._base = base_url.rstrip("/")
        self._timeout = timeout
        self._limits = Limits(attempts, longest_wait)
        self._opener = urllib.request.build_opener(
            _NoRedirect, urllib.request.HTTPSHandler(context=context)
        )
        self._lock = threading.Lock()  # held while a token is fetched
        self._token = ""
        self._token_end = 0.0
        self._sleep = time.sleep
        self._clock = time.monotonic

    def _token_request(self) -> dict[str, str]:
        """Return the body of a token request."""
        raise NotImplementedError

    def _token_response(self, response: dict[str, Any]) -> tuple[str, float]:
        """Return the token of a response and the seconds for which it is valid."""
        raise NotImplementedError

    def _call(
        self,
        method: str,
        path: str,
        ids: tuple[str, ...],
        kind: Any,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Call an operation and return the JSON object of its response."""
        headers: dict[str, str] = {}
        if method != "GET":
            headers["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        if if_match is not None:
            headers["If-Match"] = if_match
        url = self._base + path.format(*(urllib.parse.quote(text, safe="") for text in ids))
        if arguments := _arguments(query or {}):
            url += "?" + arguments
        data = None if body is None else encode(body)
        return self._send(method, url, headers, data, kind, authorized=True)

    def _send(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        data: bytes | None,
        kind: Any,
        *,
        authorized: bool,
    ) -> Any:
        """Send a request until it succeeds or cannot be retried."""
        retries = Retries(self._limits)
        refused = False
        while True:
            token = ""
            if authorized:
                token = self._current_token()
                headers["Authorization"] = "Bearer " + token
            try:
                return self._attempt(method, url, headers, data, kind)
            except APIError as error:
                if error.status == 401 and authorized and not refused:
                    refused = True
                    self._forget(token)
                    continue
                wait = retries.wait_after(error)
            except ConnectionFailed as error:
                wait = retries.wait_after(error)
            self._sleep(wait)

    def _attempt(
        self, method: str, url: str, headers: dict[str, str], data: bytes | None, kind: Any
    ) -> Any:
        request = urllib.request.Request(url, data, headers, method=method)
        request.add_header("Accept-Encoding", "gzip")
        request.add_header("User-Agent", "reservation-client-python/" + VERSION)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        try:
            try:
                with self._opener.open(request, timeout=self._timeout) as response:
                    received, text = response.headers, _body(response)
            except urllib.error.HTTPError as response:
                with response:
                    raise _api_error(response.code, response.headers, _body(response)) from None
        except (OSError, EOFError, zlib.error, http.client.HTTPException) as error:
            raise ConnectionFailed(f"{method} {url}: {error}") from error
        try:
            resource = Resource(decode(text, kind))
        except (ValueError, TypeError) as error:
            raise ConnectionFailed(f"{method} {url}: the response is not a JSON object") from error
        resource.etag = received.get("ETag")
        resource.request_id = received.get("X-Request-Id", "")
        return resource

    def _current_token(self) -> str:
        """Return a token that is valid for some minutes. One thread fetches it for all."""
        with self._lock:
            if self._clock() >= self._token_end:
                url = self._base + self._token_path
                body = encode(self._token_request())
                response = self._send("POST", url, {}, body, dict, authorized=False)
                token, lifetime = self._token_response(response)
                self._token = token
                self._token_end = self._clock() + lifetime - min(_RENEW_BEFORE, lifetime / 2)
            return self._token

    def _forget(self, token: str) -> None:
        """Discard a token that was refused, unless there is a newer one."""
        with self._lock:
            if self._token == token:
                self._token_end = 0.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, so that the token goes to no other server."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


def _arguments(query: Mapping[str, Any]) -> str:
    texts: dict[str, str] = {}
    for name, value in query.items():
        if value is not None:
            texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return urllib.parse.urlencode(texts)


def _body(response: Any) -> bytes:
    text: bytes = response.read()
    return gzip.decompress(text) if response.headers.get("Content-Encoding") == "gzip" else text


def _api_error(status: int, headers: Message, text: bytes) -> APIError:
    try:
        found = json.loads(text)["error"]
        code, message, details = found["code"], found["message"], found.get("details", {})
    except (ValueError, TypeError, KeyError):
        code, message, details = "", http.client.responses.get(status, "unknown status"), {}
    wait = headers.get("Retry-After", "")
    return APIError(
        status,
        code,
        message,
        details,
        headers.get("X-Request-Id", ""),
        int(wait) if wait.isascii() and wait.isdigit() else None,
    )

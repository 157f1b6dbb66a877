"""Verification of webhooks.

Every webhook is signed twice: in the headers of Standard Webhooks, and with a JWT. receive
verifies one of them. Pass two secrets while a secret is being rotated.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NotRequired, Protocol, TypedDict

from .errors import ReservationError

TOLERANCE = 300  # seconds by which the time of a Standard Webhooks signature can differ from now
LEEWAY = 60  # seconds by which the sender's clock can differ, for a JWT


class Headers(Protocol):
    """The headers of a request, as frameworks have them. Their names can have any case."""

    def items(self) -> Iterable[tuple[str, str]]: ...


class Message(TypedDict):
    """A webhook. Amounts in data are Decimal or int. mode is "test" in test mode, and missing in live mode.
    test is true for samples."""

    id: str
    event: str
    timestamp: str
    mode: NotRequired[str]
    test: NotRequired[bool]
    data: dict[str, Any]


class SignatureError(ReservationError):
    """The webhook is not genuine, or it is too old."""


def receive(
    headers: Headers,
    body: bytes,
    secrets: Iterable[str],
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> Message:
    """Verify a webhook and return its message, or raise SignatureError.

    body is the received bytes, unchanged. secrets are the valid ones (whsec_…). tolerance is in
    seconds, and now is in Unix seconds.
    """
    known = list(secrets)
    if "webhook-signature" in _ascii(headers):
        genuine = verify_standard(headers, body, known, tolerance=tolerance, now=now)
    else:
        genuine = verify_jwt(headers, body, known, now=now)
    if not genuine:
        raise SignatureError("the webhook has no valid signature")
    message: Message = json.loads(body, parse_float=Decimal)
    return message


def verify_standard(
    headers: Headers,
    body: bytes,
    secrets: Iterable[str],
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> bool:
    """Report whether the signature of Standard Webhooks is valid."""
    found, keys = _ascii(headers), _keys(secrets)
    now = time.time() if now is None else now
    message, timestamp = found.get("webhook-id", ""), found.get("webhook-timestamp", "")
    if not message or not timestamp.isdigit() or len(timestamp) > 12:
        return False
    if abs(now - int(timestamp)) > tolerance:
        return False
    text = f"{message}.{timestamp}.".encode() + body
    wanted = [b"v1," + base64.b64encode(_sign(key, text)) for key in keys]
    entries = [entry.encode() for entry in found.get("webhook-signature", "").split(" ")]
    return any(hmac.compare_digest(entry, want) for entry in entries for want in wanted)


def verify_jwt(
    headers: Headers,
    body: bytes,
    secrets: Iterable[str],
    *,
    now: float | None = None,
) -> bool:
    """Report whether X-Service-Signature or X-Service-Signature-Previous is valid."""
    found, keys = _ascii(headers), _keys(secrets)
    now = time.time() if now is None else now
    names = ("x-service-signature", "x-service-signature-previous")
    tokens = [found[name] for name in names if name in found]
    return any(_valid(token, body, key, now) for key in keys for token in tokens)


def _valid(token: str, body: bytes, key: bytes, now: float) -> bool:
    try:
        head, payload, signature = token.split(".")
        # The signature comes first, so that nothing is parsed that the platform did not write.
        if not hmac.compare_digest(_decode(signature), _sign(key, f"{head}.{payload}".encode())):
            return False
        claims = json.loads(_decode(payload))
        return bool(
            json.loads(_decode(head))["alg"] == "HS256"
            and claims["iat"] - LEEWAY <= now <= claims["exp"] + LEEWAY
            and claims["body_sha256"] == hashlib.sha256(body).hexdigest()
        )
    except (ValueError, KeyError, TypeError):
        return False  # not three parts, not base64, not JSON, or a claim is missing


def _keys(secrets: Iterable[str]) -> list[bytes]:
    """Return the keys that the texts after whsec_ encode."""
    try:
        return [base64.b64decode(s.removeprefix("whsec_"), validate=True) for s in secrets]
    except binascii.Error as error:
        raise ValueError("a webhook secret is whsec_ and base64") from error


def _sign(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")


def _decode(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _ascii(headers: Headers) -> dict[str, str]:
    """Return the headers in ASCII, by their names in lower case. Genuine ones are in ASCII."""
    return {name.lower(): value for name, value in headers.items() if value.isascii()}

"""Conversion between JSON and Python values."""

from __future__ import annotations

import functools
import json
import types
import typing
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo


class Resource(dict[str, Any]):
    """A JSON object of a response, with headers of the response."""

    etag: str | None = None
    request_id: str = ""


def etag(resource: object) -> str | None:
    """Return the ETag of a resource that this package returned, for if_match."""
    return getattr(resource, "etag", None)


def request_id(resource: object) -> str:
    """Return the X-Request-Id of the response that a resource is from."""
    return getattr(resource, "request_id", "")


def parse_time(text: str) -> datetime:
    """Return a time of Interface B or of a webhook as an aware datetime."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"{text!r} has no offset; use parse_local_time")
    return time


def parse_local_time(text: str, tz: str) -> datetime:
    """Return a local time of Interface A as an aware datetime. tz is the object's time zone."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(tz))


def format_time(time: datetime) -> str:
    """Return an aware datetime as text for a request, in UTC and in whole seconds."""
    if time.tzinfo is None:
        raise ValueError("the datetime has no time zone")
    return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def encode(body: object) -> bytes:
    """Return a value as JSON. Amounts can be Decimal."""
    return json.dumps(body, default=_number, ensure_ascii=False).encode()


def _number(value: object) -> int | float:
    if isinstance(value, Decimal):
        # A float prints up to 15 digits unchanged, and amounts have two decimals.
        return int(value) if value == value.to_integral_value() else float(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def decode(text: bytes, kind: Any) -> Any:
    """Return the value of a JSON text. Members that kind declares as Decimal are Decimal."""
    return _exact(kind, json.loads(text, parse_float=Decimal))


def _exact(kind: Any, value: Any) -> Any:
    union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    for option in typing.get_args(kind) if union else (kind,):
        if option is Decimal and type(value) is int:
            return Decimal(value)
        if typing.is_typeddict(option) and isinstance(value, dict):
            for name, member in _members(option).items():
                if name in value:
                    value[name] = _exact(member, value[name])
        elif typing.get_origin(option) is list and isinstance(value, list):
            value = [_exact(typing.get_args(option)[0], item) for item in value]
    return value


@functools.cache
def _members(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)

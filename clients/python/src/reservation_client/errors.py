"""The exceptions of this package."""

from __future__ import annotations

from typing import Any


class ReservationError(Exception):
    """The base class of the exceptions of this package."""


class ConnectionFailed(ReservationError):
    """There was no response, or it was cut short. A write may or may not have been done."""


class APIError(ReservationError):
    """The interface responded with an error. Decide by code; the message is for people.

    code is empty if the response is not from the interface, for example from a proxy.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: dict[str, Any],
        request_id: str,
        retry_after: int | None,
    ) -> None:
        text = f"{status} {code}: {message}" if code else f"{status}: {message}"
        super().__init__(f"{text} (request {request_id})" if request_id else text)
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.request_id = request_id
        self.retry_after = retry_after

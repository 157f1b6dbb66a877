"""A client of the reservation platform's Interfaces A and B.

The modules a and b have the types of the interfaces, and webhooks verifies webhooks.
"""

from ._interfaces import InterfaceA, InterfaceB
from ._values import etag, format_time, parse_local_time, parse_time, request_id
from ._version import VERSION as __version__
from .errors import APIError, ConnectionFailed, ReservationError

__all__ = [
    "APIError",
    "ConnectionFailed",
    "InterfaceA",
    "InterfaceB",
    "ReservationError",
    "__version__",
    "etag",
    "format_time",
    "parse_local_time",
    "parse_time",
    "request_id",
]

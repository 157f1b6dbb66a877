"""The rules for retries, which docs/ERRORS.md of the platform describes."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .errors import APIError, ReservationError


@dataclass(frozen=True)
class Limits:
    """Limits of the retries of one request.

    attempts includes the first attempt. longest_wait limits the sum of all waits, in seconds.
    """

    attempts: int = 5
    longest_wait: float = 120.0


class Retries:
    """Decides after each failure of one request whether to retry, and how long to wait."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._failures = 0
        self._internal_errors = 0
        self._waited = 0.0

    def wait_after(self, error: ReservationError) -> float:
        """Return the seconds to wait before the next attempt, or raise the error."""
        self._failures += 1
        if self._failures >= self._limits.attempts or not self._can_retry(error):
            raise error
        backoff = min(0.5 * 2 ** (self._failures - 1), 8.0)
        required = getattr(error, "retry_after", None) or 0
        wait = max(required, backoff / 2) + random.uniform(0, backoff / 2)
        if self._waited + wait > self._limits.longest_wait:
            raise error
        self._waited += wait
        return wait

    def _can_retry(self, error: ReservationError) -> bool:
        if not isinstance(error, APIError):
            return True  # there was no response, and every write has an Idempotency-Key
        if error.status == 500:
            self._internal_errors += 1
            return self._internal_errors == 1
        # A proxy in front of the platform can respond with 502 and 504.
        return error.status in (429, 502, 503, 504) or error.code == "IDEMPOTENCY_IN_PROGRESS"

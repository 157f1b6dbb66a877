"""Iterators over the pages of lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def by_cursor(page_at: Callable[[str | None], Any], member: str) -> Iterator[Any]:
    """Yield the items of a list of Interface B. page_at returns the page of a cursor."""
    cursor = None
    while True:
        page = page_at(cursor)
        yield from page[member]
        cursor = page.get("nextCursor")
        if not cursor or page.get("hasMore") is False:
            return


def by_page(page_at: Callable[[int], Any], member: str) -> Iterator[Any]:
    """Yield the items of a list of Interface A. page_at returns the page of a number."""
    number = 0
    while True:
        page = page_at(number)
        yield from page[member]
        number += 1
        if number * page["pageSize"] >= page["total"]:
            return

import unittest
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from reservation_client import _values, format_time, parse_local_time, parse_time


class Times(unittest.TestCase):
    def test_in_utc(self) -> None:
        want = datetime(2026, 3, 29, 8, 30, tzinfo=timezone.utc)
        self.assertEqual(parse_time("2026-03-29T08:30:00Z"), want)
        self.assertEqual(format_time(want.astimezone(timezone(timedelta(hours=2)))), "2026-03-29T08:30:00Z")

    def test_in_a_time_zone(self) -> None:
        time = parse_local_time("2026-03-29T09:30:00", "Europe/London")
        self.assertEqual(format_time(time), "2026-03-29T08:30:00Z")

    def test_without_a_time_zone_are_refused(self) -> None:
        for convert, value in ((parse_time, "2026-03-29T08:30:00"), (format_time, datetime(2026, 3, 29))):
            with self.assertRaises(ValueError):
                convert(value)


class Amounts(unittest.TestCase):
    def test_are_sent_exactly(self) -> None:
        for text in ("0.1", "12.10", "999999999999.99", "-3"):
            sent = _values.encode({"amount": Decimal(text)})
            received = _values.decode(sent, dict)["amount"]
            self.assertEqual(Decimal(received), Decimal(text))

    def test_other_values_are_refused(self) -> None:
        with self.assertRaises(TypeError):
            _values.encode({"at": datetime(2026, 3, 29)})

#!/usr/bin/python3
"""Writes vectors.json: recurrence rules, and the instants to which another
implementation expands them. TestVectors reads them.

    python3 vectors.py > vectors.json
    python3 vectors.py --seed 7 --count 5000 > /tmp/more.json
    RECURRENCE_VECTORS=/tmp/more.json go test ./services/booking/recurrence -run TestVectors

It needs python-dateutil. Each vector is [zone, start, rule, exceptions, dates]:
start and exceptions are wall time, dates are UTC.

dateutil expands wall time without a zone, and zoneinfo applies the clock changes
of the zone (PEP 495). With fold=0, a time that occurs twice is its first instant.
A skipped time keeps the offset from before the gap, which moves it forward by the
gap. dateutil differs from RFC 5545 in these cases, so the script does not pass it
the rule unchanged:

* BYSETPOS with FREQ=WEEKLY: dateutil counts from the start within the first week,
  so it is called with the beginning of that week.
* BYDAY with numbered and plain days: dateutil returns only days that match both,
  so it is called for each part, and the results are joined.
* BYWEEKNO: dateutil finds days of week 53 at the wrong end of some years, so it is
  called for all days, and the weeks are those of date.isocalendar.
"""

import argparse
import json
import random
import signal
import sys
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from dateutil import rrule

# Zones with the first and the last year in which a rule can start. For zones whose
# rules change often, only past years are used.
ZONES = {
    "Europe/London": (2019, 2028),
    "Europe/Dublin": (2019, 2028),  # tzdata gives it negative daylight saving in winter
    "America/New_York": (2019, 2028),
    "America/St_Johns": (2000, 2009),  # the clock changed at 00:01
    "Australia/Lord_Howe": (2019, 2028),  # by half an hour
    "Asia/Kolkata": (2019, 2028),
    "UTC": (2019, 2028),
    "America/Sao_Paulo": (2012, 2019),  # at midnight, so some days start at 01:00
    "Africa/Casablanca": (2012, 2021),  # four changes in some years
    "Pacific/Apia": (2009, 2014),  # 30 December 2011 was skipped
    "Antarctica/Troll": (2012, 2021),  # by two hours
    "Asia/Tehran": (2012, 2020),  # at midnight
    "America/Caracas": (2005, 2017),  # two permanent changes by half an hour
}
FREQUENCIES = ["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"]
DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
WALL = "%Y-%m-%dT%H:%M:%S"


def some(r, values, chance=3, most=3):
    """None in most cases, otherwise one to most of the values, each once."""
    if r.randrange(chance):
        return None
    return sorted(set(r.choice(values) for _ in range(r.randint(1, most))))


def changes(zone, first, last):
    """The wall times before the clock changes of some years."""
    found = []
    at = datetime(first, 1, 1, tzinfo=timezone.utc)
    while at.year <= last:
        later = at + timedelta(hours=6)
        if at.astimezone(zone).utcoffset() != later.astimezone(zone).utcoffset():
            while (at + timedelta(minutes=15)).astimezone(zone).utcoffset() == at.astimezone(zone).utcoffset():
                at += timedelta(minutes=15)
            found.append(at.astimezone(zone).replace(tzinfo=None))
        at = later
    return found


class Rule:
    """A rule as its parts, so that it can be written and asked for."""

    def __init__(self, r, start):
        self.freq = r.choices(FREQUENCIES, [4, 5, 6, 5, 3, 2, 1])[0]
        self.interval = r.choice([1, 1, 1, 2, 3, 4, 7, 13])
        self.wkst = r.choice([None, None] + list(range(7)))
        within_days = self.freq in ("HOURLY", "MINUTELY", "SECONDLY")
        self.by = {
            "BYMONTH": some(r, range(1, 13), 4, 4),
            "BYMONTHDAY": some(r, [1, 2, 13, 15, 28, 29, 30, 31, -1, -2, -3, -31], 4) if self.freq != "WEEKLY" else None,
            "BYYEARDAY": some(r, [1, 2, 59, 60, 61, 100, 365, 366, -1, -2, -366], 8) if self.freq == "YEARLY" or within_days else None,
            "BYWEEKNO": some(r, [1, 2, 20, 51, 52, 53, -1, -2, -53], 6) if self.freq == "YEARLY" else None,
            "BYHOUR": some(r, [0, 1, 2, 3, 9, 12, 23]),
            "BYMINUTE": some(r, [0, 1, 15, 30, 45, 59]),
            "BYSECOND": some(r, [0, 1, 30, 59], 8),
        }
        if self.by["BYWEEKNO"]:
            self.wkst = None  # isocalendar weeks start on Monday
        self.days = []
        if r.randrange(2):
            numbers = [0]
            if self.freq in ("MONTHLY", "YEARLY") and not self.by["BYWEEKNO"]:
                numbers = [0, 0, 1, 2, 3, 4, 5, -1, -2, -5]
                if self.freq == "YEARLY" and not self.by["BYMONTH"]:
                    numbers += [20, 52, 53, -53]
            self.days = list(dict.fromkeys((r.choice(numbers), r.randrange(7)) for _ in range(r.randint(1, 4))))
        self.positions = None
        if self.days or any(self.by.values()):
            self.positions = some(r, [1, 2, 3, -1, -2, -3], 4)
        if self.freq in ("MINUTELY", "SECONDLY") and not self.by["BYHOUR"]:
            self.by["BYHOUR"] = [r.choice([0, 1, 2, 3])]  # so that the rule covers many days
        self.count, self.until = None, None
        kind = r.randrange(4)
        if kind < 2:
            self.count = r.randint(1, 14)
        else:
            end = start + timedelta(days=r.choice([1, 7, 40, 200, 900]), minutes=r.randrange(1440))
            self.until = (end.strftime(r.choice(["%Y%m%d", "%Y%m%dT%H%M%S", "%Y%m%dT%H%M%SZ"])))

    def __str__(self):
        parts = ["FREQ=" + self.freq]
        if self.interval > 1:
            parts.append("INTERVAL=%d" % self.interval)
        if self.wkst is not None:
            parts.append("WKST=" + DAYS[self.wkst])
        for name, values in self.by.items():
            if values:
                parts.append(name + "=" + ",".join(map(str, values)))
        if self.days:
            parts.append("BYDAY=" + ",".join((str(n) if n else "") + DAYS[d] for n, d in self.days))
        if self.positions:
            parts.append("BYSETPOS=" + ",".join(map(str, self.positions)))
        parts.append("COUNT=%d" % self.count if self.count else "UNTIL=" + self.until)
        return ";".join(parts)

    def reach(self):
        """How far dateutil is let search, which goes step by step."""
        return timedelta(days={"HOURLY": 700, "MINUTELY": 45, "SECONDLY": 2}.get(self.freq, 366 * 8))

    def ask(self, start, days, positions):
        """What dateutil finds from start, up to its reach."""
        by = self.by
        return rrule.rrule(
            getattr(rrule, self.freq), dtstart=start, interval=self.interval, wkst=self.wkst, bysetpos=positions,
            bymonth=by["BYMONTH"], bymonthday=by["BYMONTHDAY"], byyearday=by["BYYEARDAY"],
            byhour=by["BYHOUR"], byminute=by["BYMINUTE"], bysecond=by["BYSECOND"],
            byweekday=[rrule.weekday(d, n or None) for n, d in days] or None,
            until=start + self.reach(),
        )

    def walls(self, start):
        """The wall times from start on, by time; None where nobody is to be asked."""
        if self.by["BYWEEKNO"]:
            return self.by_weeks(start)
        numbered = [d for d in self.days if d[0]]
        plain = [d for d in self.days if not d[0]]
        if numbered and plain:
            if self.positions:
                return None
            found = set(self.ask(start, numbered, None)) | set(self.ask(start, plain, None))
            return sorted(found)
        if self.freq == "WEEKLY" and self.positions:
            first = start - timedelta(days=(start.weekday() - (self.wkst or 0)) % 7)
            days = self.days or [(0, start.weekday())]
            return (w for w in self.ask(first, days, self.positions) if w >= start)
        return self.ask(start, self.days, self.positions)

    def by_weeks(self, start):
        """Days of weeks of the year, chosen one by one, in the calendar's years."""
        by = self.by
        times = sorted(
            timedelta(hours=h, minutes=m, seconds=s)
            for h in by["BYHOUR"] or [start.hour] for m in by["BYMINUTE"] or [start.minute] for s in by["BYSECOND"] or [start.second]
        )
        for year in range(start.year, start.year + 9):
            if (year - start.year) % self.interval:
                continue
            length = (datetime(year + 1, 1, 1) - datetime(year, 1, 1)).days
            chosen = []
            for n in range(1, length + 1):
                day = datetime(year, 1, 1) + timedelta(days=n - 1)
                its_year, week, _ = day.isocalendar()
                last = datetime(its_year, 12, 28).isocalendar()[1]
                month = (datetime(year + day.month // 12, day.month % 12 + 1, 1) - datetime(year, day.month, 1)).days
                wanted = week in by["BYWEEKNO"] or week - last - 1 in by["BYWEEKNO"]
                if by["BYMONTH"]:
                    wanted = wanted and day.month in by["BYMONTH"]
                if by["BYMONTHDAY"]:
                    wanted = wanted and (day.day in by["BYMONTHDAY"] or day.day - month - 1 in by["BYMONTHDAY"])
                if by["BYYEARDAY"]:
                    wanted = wanted and (n in by["BYYEARDAY"] or n - length - 1 in by["BYYEARDAY"])
                if self.days:
                    wanted = wanted and (0, day.weekday()) in self.days
                elif not by["BYMONTHDAY"] and not by["BYYEARDAY"]:
                    wanted = wanted and day.weekday() == start.weekday()
                if wanted:
                    chosen.extend(day + t for t in times)
            for i, wall in enumerate(chosen):
                if not self.positions or i + 1 in self.positions or i - len(chosen) in self.positions:
                    if wall >= start:
                        yield wall

    def ended(self, wall, at):
        if not self.until:
            return False
        if self.until.endswith("Z"):
            return at > datetime.strptime(self.until, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
        if "T" in self.until:
            return wall > datetime.strptime(self.until, "%Y%m%dT%H%M%S")
        return wall >= datetime.strptime(self.until, "%Y%m%d") + timedelta(days=1)


def instant(wall, zone):
    return wall.replace(tzinfo=zone, fold=0).astimezone(timezone.utc)


class TooLong(Exception):
    pass


def give_up(*_):
    raise TooLong


def vector(r, name, near, most):
    """One vector, or None where the rule is too long, too far or empty."""
    zone = ZoneInfo(name)
    first, last = ZONES[name]
    if near and r.randrange(4):
        start = r.choice(near) - timedelta(days=r.choice([0, 0, 1, 7, 30, 365]), minutes=r.choice([-45, -15, 0, 15, 30]))
    else:
        start = datetime(r.randint(first, last), r.randint(1, 12), r.randint(1, 28), r.choice([0, 1, 2, 9, 23]), r.choice([0, 15, 30, 59]))
    start = start.replace(second=0)
    rule = Rule(r, start)
    found, seen = [], 0
    # dateutil searches until the year 9999 for dates that do not exist.
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.3)
    walls = rule.walls(start)
    if walls is None:
        return None
    for wall in walls:
        at = instant(wall, zone)
        if rule.ended(wall, at):
            break
        found.append((wall, at))
        seen += 1
        if seen == rule.count:
            break
        if seen > most:
            return None
    else:  # there can be more dates than it searched for
        if rule.until and datetime.strptime(rule.until[:8], "%Y%m%d") > start + rule.reach() - timedelta(days=2):
            return None
    if rule.count and seen < rule.count or rule.until and not found:
        return None
    left_out = []
    if found and not r.randrange(4):
        wall = r.choice(found)[0]
        left_out = [wall.strftime(r.choice(["%Y-%m-%d", WALL]))]
    dates = {at for wall, at in found if not any(wall.strftime(WALL).startswith(x) for x in left_out)}
    if not dates:
        return None
    return [name, start.strftime(WALL), str(rule), left_out, [d.strftime(WALL + "Z") for d in sorted(dates)]]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=400)
    options.add_argument("--most", type=int, default=14, help="dates of a rule, at most")
    options = options.parse_args()
    r = random.Random(options.seed)
    near = {name: changes(ZoneInfo(name), *years) for name, years in ZONES.items()}
    signal.signal(signal.SIGVTALRM, give_up)
    lines = []
    while len(lines) < options.count:
        name = list(ZONES)[len(lines) % len(ZONES)]
        try:
            v = vector(r, name, near[name], options.most)
        except (TooLong, ValueError):  # ValueError: dateutil knows that no date exists
            continue
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if v:
            lines.append(json.dumps(v, separators=(",", ":")))
    sys.stdout.write("[\n" + ",\n".join(lines) + "\n]\n")


main()

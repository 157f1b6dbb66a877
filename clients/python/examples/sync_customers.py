"""Keeps a copy of the customers in an SQLite file. Run it as often as you like.

The first run reads all customers, and later runs read those that have changed. Deleted customers
are in no list, so read all customers once a day with --all.

B=http://127.0.0.1:8081/api/v1 API_KEY=key_… API_SECRET=… python3 sync_customers.py customers.db [--all]
"""

import os
import sqlite3
import sys
from datetime import timedelta

from reservation_client import InterfaceB, format_time, parse_time

# A change is dated before it is committed, so changes of the last minute are read again.
OVERLAP = timedelta(minutes=1)


def sync(client: InterfaceB, database: sqlite3.Connection, everything: bool) -> int:
    """Update the copy and return the number of customers that were read."""
    database.execute("CREATE TABLE IF NOT EXISTS customers (id TEXT PRIMARY KEY, name TEXT, email TEXT, updated_at TEXT)")
    (newest,) = database.execute("SELECT max(updated_at) FROM customers").fetchone()
    since = None
    if newest is not None and not everything:
        since = format_time(parse_time(newest) - OVERLAP)
    customers = [
        (c["id"], f"{c['firstName']} {c['lastName']}", c["email"], c["updatedAt"])
        for c in client.iter_customers(updatedSince=since)
    ]
    with database:  # one transaction, so that the copy is never half replaced
        if since is None:
            database.execute("DELETE FROM customers")
        database.executemany("INSERT OR REPLACE INTO customers VALUES (?, ?, ?, ?)", customers)
    return len(customers)


if __name__ == "__main__":
    interface = InterfaceB(os.environ["B"], os.environ["API_KEY"], os.environ["API_SECRET"])
    print(sync(interface, sqlite3.connect(sys.argv[1]), "--all" in sys.argv), "customers read")

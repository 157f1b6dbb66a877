"""Books the next class that has a free spot, for a new customer.

B=http://127.0.0.1:8081/api/v1 API_KEY=key_… API_SECRET=… python3 book_a_class.py zoe@example.com
"""

import os
import sys
from datetime import datetime, timezone

from reservation_client import APIError, InterfaceB, format_time


def book(client: InterfaceB, email: str) -> str:
    """Book a class and return the registration's id."""
    customer = client.create_customer(firstName="Zoë", lastName="Núñez", email=email)
    now = format_time(datetime.now(timezone.utc))
    for date in client.iter_event_dates(startsFrom=now, type="class", available=True):
        event = client.get_event(date["eventId"])
        try:
            registration = client.create_registration(
                event["id"],
                customerId=customer["id"],
                eventDateId=date["id"],
                pricingOptionId=event["pricingOptions"][0]["id"],
                payment={"method": "CARD", "reference": "pi_1"},
            )
        except APIError as error:
            if error.code == "EVENT_FULL":
                continue  # somebody else booked the last spot
            raise
        print(event["title"], registration["eventDate"], registration["totalPaid"], registration["currency"])
        return registration["id"]
    sys.exit("there is no class with a free spot")


if __name__ == "__main__":
    interface = InterfaceB(os.environ["B"], os.environ["API_KEY"], os.environ["API_SECRET"])
    print(book(interface, sys.argv[1]))

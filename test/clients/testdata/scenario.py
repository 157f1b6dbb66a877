"""Runs a scenario with the Python client: python3 scenario.py a|b <steps.json."""

import json
import keyword
import os
import re
import sys

import reservation_client

face = sys.argv[1]
names = ("CLIENTID", "CLIENTSECRET") if face == "a" else ("APIKEY", "APISECRET")
interface = reservation_client.InterfaceA if face == "a" else reservation_client.InterfaceB
client = interface(os.environ["BASE"], *(os.environ[name] for name in names), attempts=1)
variables: dict[str, str] = {}


def fill(value):
    """Return a value of a step with the values of its variables."""
    match value:
        case str() if value.startswith("$"):
            return variables.get(value[1:]) or os.environ[value[1:].upper()]
        case dict():
            return {name: fill(member) for name, member in value.items()}
        case list():
            return [fill(item) for item in value]
    return value


def call(step):
    """Call the operation of a step, and return the result or the error's status."""
    method = getattr(client, re.sub("([A-Z])", r"_\1", step["operation"]).lower())
    headers = {"Idempotency-Key": "idempotency_key", "If-Match": "if_match"}
    options = {headers[name]: fill(value) for name, value in (step["header"] or {}).items()}
    query = {name + "_" if keyword.iskeyword(name) else name: value for name, value in fill(step["query"] or {}).items()}
    try:
        return method(*fill(step["path"] or []), **query, **fill(step["body"] or {}), **options)
    except reservation_client.APIError as error:
        if error.status != step["status"]:
            raise
        return None


for step in json.load(sys.stdin):
    if step["operation"] == "createToken":
        continue  # the client gets its token without being asked
    result = call(step)
    if (result is None) != (step["status"] >= 300):
        sys.exit(f"{step['operation']} returned {result}, not {step['status']}")
    for name, path in (step["save"] or {}).items():
        found = result
        for part in path.split("."):
            found = found[int(part) if part.isdigit() else part]
        variables[name] = found

"""Prints what verify of the given file makes of the vectors on standard input."""

import json
import runpy
import sys
from email.message import Message

verify = runpy.run_path(sys.argv[1])["verify"]
verdicts = {}
for v in json.load(sys.stdin)["vectors"]:
    headers = Message()
    for name, value in v["headers"].items():
        headers[name] = value
    verdicts[v["name"]] = any(verify(headers, v["body"].encode(), secret, v["time"]) for secret in v["secrets"])
print(json.dumps(verdicts))

"""Prints what the Python example makes of the vectors on standard input."""

import json
import os
import sys
from email.message import Message

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(sys.argv[1]))
from verify import verify_standard, verify_token  # noqa: E402

verdicts = {}
for v in json.load(sys.stdin)["vectors"]:
    headers = Message()
    for name, value in v["headers"].items():
        headers[name] = value
    args = headers, v["body"].encode(), v["secrets"], v["time"]
    verdicts[v["name"]] = [verify_token(*args), verify_standard(*args)]
print(json.dumps(verdicts))

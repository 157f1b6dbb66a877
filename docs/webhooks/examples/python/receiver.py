"""A receiver of webhooks. It serves plain HTTP, so put a proxy with TLS in front of it.

WEBHOOK_SECRETS=whsec_… PORT=3000 python3 receiver.py
"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from verify import verify_token

secrets = os.environ["WEBHOOK_SECRETS"].split()
seen = set()  # keep these in your database, in the transaction that does the work


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if length > 1 << 20:
            return self.answer(413)
        body = self.rfile.read(length)
        if not verify_token(self.headers, body, secrets):
            return self.answer(401)
        envelope = json.loads(body)
        if envelope["id"] not in seen and not envelope.get("test"):
            print(envelope["event"], envelope["data"])  # put it in a queue: answer first, work later
        seen.add(envelope["id"])
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()

"""Receives webhooks. It serves plain HTTP, so put a proxy with TLS in front of it.

WEBHOOK_SECRETS=whsec_… PORT=3000 python3 receive_webhooks.py
"""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from reservation_client import webhooks

secrets = os.environ["WEBHOOK_SECRETS"].split()
seen: set[str] = set()  # keep these in your database, in the transaction that does the work


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        if length > 1 << 20:
            return self.answer(413)
        try:
            message = webhooks.receive(self.headers, self.rfile.read(length), secrets)
        except webhooks.SignatureError:
            return self.answer(401)
        if message["id"] not in seen and not message.get("test"):
            # Put the message in a queue: answer first, work later.
            print(message["event"], message["data"], flush=True)
        seen.add(message["id"])
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()

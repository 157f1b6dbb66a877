import gzip
import json
import threading
import unittest
from decimal import Decimal

from fake_server import Cut, FakeServer, Request, Response, error
from reservation_client import (
    APIError,
    ConnectionFailed,
    InterfaceA,
    InterfaceB,
    etag,
    request_id,
)

CUSTOMER = {"id": "cust_1", "firstName": "Zoë"}


class ClientTest(unittest.TestCase):
    """A test with a server, a client, a clock that does not move, and the waits of the client."""

    def serve(self, *responses: Response) -> FakeServer:
        server = FakeServer(*responses)
        self.enterContext(server)
        return server

    def client(self, server: FakeServer, **options: object) -> InterfaceB:
        client = InterfaceB(server.url + "/api/v1", "key_1", "secret", **options)
        self.waits: list[float] = []
        self.now = 0.0
        client._sleep = self.waits.append
        client._clock = lambda: self.now
        return client


class Authentication(ClientTest):
    def test_gets_one_token_for_many_requests(self) -> None:
        server = self.serve(Response(), Response())
        client = self.client(server)
        client.get_customer("cust_1")
        client.get_customer("cust_1")
        self.assertEqual(server.tokens, 1)
        self.assertEqual([r.headers["Authorization"] for r in server.requests], ["Bearer token-1"] * 2)

    def test_renews_a_token_five_minutes_before_it_expires(self) -> None:
        server = self.serve(Response(), Response(), Response())
        client = self.client(server)
        client.get_customer("cust_1")
        self.now = 3299
        client.get_customer("cust_1")
        self.assertEqual(server.tokens, 1)
        self.now = 3300
        client.get_customer("cust_1")
        self.assertEqual(server.tokens, 2)

    def test_uses_a_token_that_is_valid_for_a_short_time(self) -> None:
        server = self.serve(Response(), Response())
        server.lifetime = 100
        client = self.client(server)
        client.get_customer("cust_1")
        self.now = 49
        client.get_customer("cust_1")
        self.assertEqual(server.tokens, 1)

    def test_fetches_one_token_for_concurrent_requests(self) -> None:
        server = self.serve()
        server.respond = lambda _: Response()
        client = self.client(server)
        start = threading.Barrier(8)

        def read() -> None:
            start.wait()
            client.get_customer("cust_1")

        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((server.tokens, len(server.requests)), (1, 8))

    def test_a_401_leads_to_one_new_token(self) -> None:
        server = self.serve(error(401, "TOKEN_EXPIRED"), Response(200, CUSTOMER))
        self.assertEqual(self.client(server).create_customer(firstName="Zoë"), CUSTOMER)
        first, second = server.requests
        self.assertEqual(second.headers["Authorization"], "Bearer token-2")
        self.assertEqual(first.headers["Idempotency-Key"], second.headers["Idempotency-Key"])
        self.assertEqual(self.waits, [])

    def test_a_second_401_is_raised(self) -> None:
        server = self.serve(error(401, "UNAUTHORIZED"), error(401, "UNAUTHORIZED"))
        with self.assertRaises(APIError) as caught:
            self.client(server).get_customer("cust_1")
        self.assertEqual((caught.exception.code, server.tokens), ("UNAUTHORIZED", 2))

    def test_wrong_credentials_are_raised_without_a_retry(self) -> None:
        server = self.serve()
        server.token_responses = [error(401, "INVALID_CREDENTIALS")]
        with self.assertRaises(APIError) as caught:
            self.client(server).get_customer("cust_1")
        self.assertEqual(caught.exception.code, "INVALID_CREDENTIALS")
        self.assertEqual(server.requests, [])

    def test_token_requests_are_retried(self) -> None:
        server = self.serve(Response(200, CUSTOMER))
        server.token_responses = [error(503, "SERVICE_UNAVAILABLE", Retry_After="2")]
        self.assertEqual(self.client(server).get_customer("cust_1"), CUSTOMER)
        self.assertGreaterEqual(self.waits[0], 2)

    def test_interface_a_uses_client_credentials(self) -> None:
        server = self.serve(Response(200, {"data": []}))
        self.assertEqual(InterfaceA(server.url, "m2m_1", "secret").list_customers(), {"data": []})
        self.assertEqual(server.requests[0].headers["Authorization"], "Bearer token-1")


class Retrying(ClientTest):
    def test_keeps_the_idempotency_key_of_a_write(self) -> None:
        server = self.serve(Cut(201, CUSTOMER), error(409, "IDEMPOTENCY_IN_PROGRESS"), Response(201, CUSTOMER))
        self.assertEqual(self.client(server).create_customer(firstName="Zoë"), CUSTOMER)
        keys = {r.headers["Idempotency-Key"] for r in server.requests}
        self.assertEqual((len(server.requests), len(keys)), (3, 1))

    def test_each_write_has_its_own_key(self) -> None:
        server = self.serve(Response(), Response(), Response())
        client = self.client(server)
        client.create_customer(firstName="Zoë")
        client.create_customer(firstName="Zoë")
        client.create_customer(firstName="Zoë", idempotency_key="mine")
        keys = [r.headers["Idempotency-Key"] for r in server.requests]
        self.assertEqual((len(set(keys)), keys[2]), (3, "mine"))

    def test_reads_have_no_key(self) -> None:
        server = self.serve(Response())
        self.client(server).get_customer("cust_1")
        self.assertNotIn("Idempotency-Key", server.requests[0].headers)

    def test_waits_for_retry_after_and_longer_each_time(self) -> None:
        limited = error(429, "RATE_LIMIT_EXCEEDED", Retry_After="7")
        server = self.serve(limited, error(503, "SERVICE_UNAVAILABLE"), limited, Response())
        self.client(server).get_customer("cust_1")
        for wait, (least, most) in zip(self.waits, [(7, 7.25), (0.5, 1.0), (7, 8)], strict=True):
            self.assertTrue(least <= wait <= most, f"{wait} is not in [{least}, {most}]")

    def test_gives_up_after_the_last_attempt(self) -> None:
        server = self.serve(*[error(503, "SERVICE_UNAVAILABLE")] * 3)
        with self.assertRaises(APIError):
            self.client(server, attempts=3).get_customer("cust_1")
        self.assertEqual((len(server.requests), len(self.waits)), (3, 2))

    def test_gives_up_if_the_wait_is_too_long(self) -> None:
        server = self.serve(error(429, "RATE_LIMIT_EXCEEDED", Retry_After="30"))
        with self.assertRaises(APIError) as caught:
            self.client(server, longest_wait=29).get_customer("cust_1")
        self.assertEqual((caught.exception.retry_after, self.waits), (30, []))

    def test_retries_an_internal_error_once(self) -> None:
        server = self.serve(*[error(500, "INTERNAL_ERROR")] * 2)
        with self.assertRaises(APIError):
            self.client(server).create_customer(firstName="Zoë")
        self.assertEqual(len(server.requests), 2)

    def test_does_not_retry_what_stays_the_same(self) -> None:
        for status, code in [
            (400, "EVENT_FULL"), (403, "FORBIDDEN"), (404, "NOT_FOUND"),
            (409, "IDEMPOTENCY_KEY_REUSED"), (412, "VERSION_MISMATCH"), (413, "PAYLOAD_TOO_LARGE"),
        ]:
            with self.subTest(code):
                server = self.serve(error(status, code))
                with self.assertRaises(APIError) as caught:
                    self.client(server).create_customer(firstName="Zoë")
                self.assertEqual((caught.exception.code, len(server.requests)), (code, 1))

    def test_raises_when_there_is_never_a_response(self) -> None:
        with FakeServer() as server:
            url = server.url
        client = InterfaceB(url, "key_1", "secret", attempts=2)
        client._sleep = lambda _: None
        with self.assertRaises(ConnectionFailed):
            client.get_customer("cust_1")

    def test_retries_a_response_that_is_not_json(self) -> None:
        server = self.serve(Response(200, b"<html>"), Response(200, CUSTOMER))
        self.assertEqual(self.client(server).get_customer("cust_1"), CUSTOMER)

    def test_does_not_follow_redirects(self) -> None:
        server = self.serve(Response(302, {}, {"Location": "/elsewhere"}))
        with self.assertRaises(APIError) as caught:
            self.client(server).get_customer("cust_1")
        self.assertEqual((caught.exception.status, len(server.requests)), (302, 1))


class Errors(ClientTest):
    def test_have_all_that_the_response_says(self) -> None:
        server = self.serve(error(400, "VALIDATION_ERROR", X_Request_Id="req-1"))
        with self.assertRaises(APIError) as caught:
            self.client(server).create_customer()
        e = caught.exception
        found = (e.status, e.code, e.message, e.details, e.request_id)
        self.assertEqual(found, (400, "VALIDATION_ERROR", "a message", {"field": "x"}, "req-1"))
        self.assertEqual(str(e), "400 VALIDATION_ERROR: a message (request req-1)")

    def test_of_a_proxy_have_no_code(self) -> None:
        server = self.serve(Response(403, b"<html>denied</html>"))
        with self.assertRaises(APIError) as caught:
            self.client(server).get_customer("cust_1")
        self.assertEqual((caught.exception.status, caught.exception.code), (403, ""))


class Requests(ClientTest):
    def sent(self, server: FakeServer) -> Request:
        return server.requests[-1]

    def test_encode_paths_and_parameters(self) -> None:
        server = self.serve(Response(), Response(200, {"customers": [], "total": 0}))
        client = self.client(server)
        client.get_registration("evt_1", "a/b")
        self.assertEqual(self.sent(server).path, "/api/v1/events/evt_1/registrations/a%2Fb")
        client.list_customers(q="Zoë & co", archived=False, perPage=5)
        self.assertEqual(self.sent(server).path, "/api/v1/customers?perPage=5&q=Zo%C3%AB+%26+co&archived=false")

    def test_send_amounts_as_decimal_numbers(self) -> None:
        server = self.serve(Response())
        self.client(server).create_pass(title="Ten", price=Decimal("12.10"), totalUses=10)
        self.assertEqual(self.sent(server).body, {"title": "Ten", "price": 12.1, "totalUses": 10})

    def test_send_back_what_was_read(self) -> None:
        server = self.serve(Response(200, CUSTOMER, {"ETag": '"3-x"'}), Response(200, CUSTOMER))
        client = self.client(server)
        customer = client.get_customer("cust_1")
        client.update_customer("cust_1", if_match=etag(customer), **customer)
        self.assertEqual(self.sent(server).headers["If-Match"], '"3-x"')
        self.assertEqual(self.sent(server).body, CUSTOMER)


class Responses(ClientTest):
    def test_have_decimal_amounts(self) -> None:
        body = {"total": 14, "registrations": [{"totalPaid": 4.1, "refundDue": 0, "spots": 2}]}
        server = self.serve(Response(200, body, {"X-Request-Id": "req-1"}))
        transaction = self.client(server).get_transaction("txn_1")
        line = transaction["registrations"][0]
        amounts = [transaction["total"], line["totalPaid"], line["refundDue"]]
        self.assertEqual(amounts, [Decimal(14), Decimal("4.1"), Decimal(0)])
        self.assertEqual([type(a) for a in amounts], [Decimal] * 3)
        self.assertIs(type(line["spots"]), int)
        self.assertEqual(request_id(transaction), "req-1")

    def test_keep_members_that_are_not_known(self) -> None:
        server = self.serve(Response(200, CUSTOMER | {"later": {"a": 1}}))
        self.assertEqual(self.client(server).get_customer("cust_1")["later"], {"a": 1})

    def test_can_be_compressed(self) -> None:
        text = gzip.compress(json.dumps(CUSTOMER).encode())
        server = self.serve(Response(200, text, {"Content-Encoding": "gzip"}))
        self.assertEqual(self.client(server).get_customer("cust_1"), CUSTOMER)

    def test_that_are_compressed_and_cut_short_are_retried(self) -> None:
        text = gzip.compress(json.dumps(CUSTOMER).encode())[:-4]
        server = self.serve(Response(200, text, {"Content-Encoding": "gzip"}), Response(200, CUSTOMER))
        self.assertEqual(self.client(server).get_customer("cust_1"), CUSTOMER)


class Lists(ClientTest):
    def test_of_interface_b_continue_with_the_cursor(self) -> None:
        first = {"customers": [{"id": "1"}, {"id": "2"}], "nextCursor": "abc"}
        server = self.serve(Response(200, first), Response(200, {"customers": [{"id": "3"}]}))
        found = [c["id"] for c in self.client(server).iter_customers(sort="-createdAt")]
        self.assertEqual(found, ["1", "2", "3"])
        self.assertEqual(
            [r.path for r in server.requests],
            ["/api/v1/customers?perPage=100&sort=-createdAt", "/api/v1/customers?perPage=100&cursor=abc&sort=-createdAt"],
        )

    def test_that_always_have_a_cursor_end_when_there_is_no_more(self) -> None:
        page = {"webhookMessages": [{"id": "1"}], "nextCursor": "abc", "hasMore": False}
        server = self.serve(Response(200, page))
        self.assertEqual([m["id"] for m in self.client(server).iter_webhook_messages()], ["1"])

    def test_of_interface_a_continue_with_the_page(self) -> None:
        pages = [{"data": [i], "total": 2, "page": i, "pageSize": 1} for i in range(2)]
        server = self.serve(*[Response(200, page) for page in pages])
        self.assertEqual(list(InterfaceA(server.url, "m2m_1", "s").iter_notes("cust_1")), [0, 1])
        self.assertEqual(server.requests[1].path, "/customer/cust_1/notes?page=1&pageSize=100")


if __name__ == "__main__":
    unittest.main()

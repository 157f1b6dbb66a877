import json
import unittest
from pathlib import Path

from reservation_client import webhooks

VECTORS = Path(__file__).parents[3] / "docs" / "webhooks" / "vectors.json"


class Vectors(unittest.TestCase):
    """The test vectors of the platform."""

    def vectors(self) -> list[dict]:
        found = json.loads(VECTORS.read_text(encoding="utf-8"))["vectors"]
        self.assertGreater(len(found), 10)
        return found

    def arguments(self, vector: dict) -> tuple:
        return vector["headers"], vector["body"].encode(), vector["secrets"]

    def test_of_the_jwt(self) -> None:
        for vector in self.vectors():
            with self.subTest(vector["name"]):
                found = webhooks.verify_jwt(*self.arguments(vector), now=vector["time"])
                self.assertEqual(found, vector["jwt"])

    def test_of_standard_webhooks(self) -> None:
        for vector in self.vectors():
            with self.subTest(vector["name"]):
                found = webhooks.verify_standard(*self.arguments(vector), now=vector["time"])
                self.assertEqual(found, vector["standardWebhooks"])

    def test_are_received_if_they_are_genuine(self) -> None:
        for vector in self.vectors():
            with self.subTest(vector["name"]):
                standard = any(name.lower() == "webhook-signature" for name in vector["headers"])
                if vector["standardWebhooks" if standard else "jwt"]:
                    message = webhooks.receive(*self.arguments(vector), now=vector["time"])
                    self.assertEqual(message["id"], json.loads(vector["body"])["id"])
                else:
                    with self.assertRaises(webhooks.SignatureError):
                        webhooks.receive(*self.arguments(vector), now=vector["time"])

    def test_names_of_headers_ignore_case(self) -> None:
        vector = self.vectors()[0]
        headers = {name.upper(): value for name, value in vector["headers"].items()}
        self.assertTrue(webhooks.verify_standard(headers, *self.arguments(vector)[1:], now=vector["time"]))

    def test_tolerance(self) -> None:
        vector = self.vectors()[0]
        sent = int(vector["headers"]["Webhook-Timestamp"])
        for late, genuine in ((10, True), (11, False), (-10, True), (-11, False)):
            found = webhooks.verify_standard(*self.arguments(vector), tolerance=10, now=sent + late)
            self.assertEqual(found, genuine)


class Attacks(unittest.TestCase):
    def test_are_refused_without_another_exception(self) -> None:
        secrets = ["whsec_DXiuQKr9SmlCgWsA48YhsAIxA1iwM5gOgAPFenvtHFI="]
        for name, headers in {
            "nothing": {},
            "a long number": {"Webhook-Id": "m", "Webhook-Timestamp": "9" * 5000, "Webhook-Signature": "v1,"},
            "a digit that is not ASCII": {"Webhook-Id": "m", "Webhook-Timestamp": "²", "Webhook-Signature": "v1,x"},
            "nested JSON": {"X-Service-Signature": "W1tb" * 20000 + ".W10.x"},
            "a JWT of two parts": {"X-Service-Signature": "a.b"},
            "a signature that is not base64": {"X-Service-Signature": "e30.e30.!"},
        }.items():
            with self.subTest(name), self.assertRaises(webhooks.SignatureError):
                webhooks.receive(headers, b"{}", secrets)

    def test_a_wrong_secret_is_a_mistake_of_the_receiver(self) -> None:
        with self.assertRaises(ValueError):
            webhooks.receive({}, b"{}", ["whsec_not base64"])

import base64
import hashlib
import hmac
import json
import time

TOLERANCE = 300  # seconds: maximum age of a Standard Webhooks timestamp
LEEWAY = 60  # seconds: how much clocks may differ for a JWT


def _sign(secret: str, text: bytes) -> bytes:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return hmac.digest(key, text, "sha256")


def _decode(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def verify_token(headers, body: bytes, secrets, now=None) -> bool:
    """Report whether X-Service-Signature is valid.

    headers is a mapping that ignores case, as in most frameworks; body is the received
    bytes; secrets are the valid ones (two during a rotation); now is in Unix seconds.
    """
    now = time.time() if now is None else now
    tokens = [headers.get("X-Service-Signature"), headers.get("X-Service-Signature-Previous")]
    return any(_verify_token(t, body, s, now) for t in tokens if t for s in secrets)


def _verify_token(token: str, body: bytes, secret: str, now: float) -> bool:
    try:
        head, payload, signature = token.split(".")
        if json.loads(_decode(head))["alg"] != "HS256":  # rejects "none" as well
            return False
        want = _sign(secret, f"{head}.{payload}".encode())
        if not hmac.compare_digest(_decode(signature), want):
            return False
        claims = json.loads(_decode(payload))
        return (
            claims["iat"] - LEEWAY <= now <= claims["exp"] + LEEWAY
            and claims["body_sha256"] == hashlib.sha256(body).hexdigest()
        )
    except (ValueError, KeyError, TypeError):
        return False  # not three parts, not base64, not JSON, or a claim is missing


def verify_standard(headers, body: bytes, secrets, now=None) -> bool:
    """Report whether the headers of the Standard Webhooks specification are valid."""
    now = time.time() if now is None else now
    message, timestamp = headers.get("Webhook-Id"), headers.get("Webhook-Timestamp", "")
    if not message or not (timestamp.isascii() and timestamp.isdigit()):
        return False
    if abs(now - int(timestamp)) > TOLERANCE:
        return False
    text = f"{message}.{timestamp}.".encode() + body
    for signature in headers.get("Webhook-Signature", "").split(" "):
        version, _, encoded = signature.partition(",")
        if version != "v1":
            continue
        for secret in secrets:
            want = base64.b64encode(_sign(secret, text)).decode()
            if hmac.compare_digest(encoded, want):
                return True
    return False

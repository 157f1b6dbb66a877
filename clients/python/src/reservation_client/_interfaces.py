"""The two interfaces and their credentials."""

from __future__ import annotations

from typing import Any

from . import a, b


class InterfaceA(a.Operations):
    """Interface A, with the id and secret of an API client.

    base_url is the address of the interface, for example https://a.example.com. The other
    options are those of Client.
    """

    _token_path = "/token"

    def __init__(self, base_url: str, client_id: str, client_secret: str, **options: Any) -> None:
        super().__init__(base_url, **options)
        self._client_id = client_id
        self._client_secret = client_secret

    def _token_request(self) -> dict[str, str]:
        return {"client_id": self._client_id, "client_secret": self._client_secret}

    def _token_response(self, response: dict[str, Any]) -> tuple[str, float]:
        return response["access_token"], response["expires_in"]


class InterfaceB(b.Operations):
    """Interface B, with an API key and its secret.

    base_url ends in /api/v1, for example https://b.example.com/api/v1. The other options are
    those of Client.
    """

    _token_path = "/auth/token"

    def __init__(self, base_url: str, api_key: str, api_secret: str, **options: Any) -> None:
        super().__init__(base_url, **options)
        self._api_key = api_key
        self._api_secret = api_secret

    def _token_request(self) -> dict[str, str]:
        return {"apiKey": self._api_key, "apiSecret": self._api_secret}

    def _token_response(self, response: dict[str, Any]) -> tuple[str, float]:
        return response["token"], response["expiresIn"]

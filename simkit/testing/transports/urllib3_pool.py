"""urllib3, which the official Python client (``kubernetes``) uses."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import urllib3

from simkit.meta.errors import SimkitError
from simkit.testing.transports import HOST
from simkit.testing.transports.in_process import NEEDS_A_SOCKET, InProcessServer, chunks, headers_of, plain_headers


class InProcessPool:
    """Takes the place of ``urllib3.PoolManager``."""

    def __init__(self, server: InProcessServer) -> None:
        self._server = server

    def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | str | None = None,
        fields: Any = None,
        headers: Any = None,
        preload_content: bool = True,
        **_: Any,
    ) -> urllib3.HTTPResponse:
        """The answer to a request, as urllib3 gives it. Raises urllib3's ProtocolError for a dropped connection."""
        target = f"{url}{'&' if '?' in url else '?'}{urlencode(fields)}" if fields else url
        try:
            answer = self._server.answer(method, target, plain_headers(headers or {}), body)
        except ConnectionError as error:
            raise urllib3.exceptions.ProtocolError("Connection aborted.", error) from error
        content: Any = io.BytesIO(answer.body) if answer.stream is None else _Body(chunks(answer.stream))
        return urllib3.HTTPResponse(
            body=content,
            headers=dict(headers_of(answer)),
            status=answer.status,
            preload_content=preload_content and answer.stream is None,
            request_method=method,
            decode_content=False,
        )

    def clear(self) -> None:
        """There are no connections to close."""


class _Body(io.RawIOBase):
    """A body that is still coming."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        super().__init__()
        self._parts, self._left = parts, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not self._left:
            self._left = next(self._parts, b"")
        if size is None or size < 0:
            rest = b"".join([self._left, *self._parts])
            self._left = b""
            return rest
        found, self._left = self._left[:size], self._left[size:]
        return found

    def read1(self, size: int = -1) -> bytes:
        """The bytes that are there, at most so many."""
        return self.read(size if size is not None and size >= 0 else 65536)

    def close(self) -> None:
        close = getattr(self._parts, "close", None)
        if close is not None:
            close()
        super().close()


def api_client(server: InProcessServer) -> Any:
    """An ``ApiClient`` of the official client that reaches the cluster."""
    from kubernetes import client

    class InProcessApiClient(client.ApiClient):
        """Refuses the WebSockets of ``kubernetes.stream``, which puts a function of its own in the place of these."""

        def __setattr__(self, name: str, value: Any) -> None:
            own = getattr(value, "__self__", None) is self  # what it restores in the end
            if name in ("request", "call_api") and not own:
                raise SimkitError(NEEDS_A_SOCKET)
            super().__setattr__(name, value)

    configuration = client.Configuration(host=HOST)
    configuration.verify_ssl = False
    made = InProcessApiClient(configuration)
    rest: Any = made.rest_client
    rest.pool_manager = InProcessPool(server)
    return made

"""One synchronous HTTPS call."""

from __future__ import annotations

import base64
import http.client
import os
import ssl
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from simkit.engine.outside.clientfile import Endpoint
from simkit.meta.errors import SimkitError

MOST: Final = 16 * 1024 * 1024
"""Bytes of an answer that are read."""


class CallFailed(Exception):
    """A call that got no usable answer; ``status`` is the HTTP status where there was one."""

    def __init__(self, why: str, status: int = 0) -> None:
        super().__init__(why)
        self.status = status

    @property
    def worth_repeating(self) -> bool:
        """Whether the same call may succeed in a moment."""
        return self.status in (429, 500, 503, 504)


class Caller:
    """Calls one endpoint, each time over a connection of its own.

    Parameters
    ----------
    endpoint
        Where, and with what credentials.
    timeout
        Seconds that connecting, and each wait for bytes, may take.
    """

    def __init__(self, endpoint: Endpoint, timeout: float = 30.0) -> None:
        self.endpoint, self.timeout = endpoint, timeout
        self._parts = urlsplit(endpoint.url)

    def __repr__(self) -> str:
        return f"<Caller of {self.endpoint.url}>"

    def post(self, body: bytes) -> bytes:
        """The answer to a JSON document. Raises CallFailed for anything but a success."""
        return self._request("POST", body, {"content-type": "application/json", "accept": "application/json"})

    def get(self) -> bytes:
        """What the endpoint's address holds. Raises CallFailed for anything but a success."""
        return self._request("GET", b"", {"accept": "application/json"})

    def _request(self, method: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        connection = self._connection()
        path = self._parts.path or "/"
        target = f"{path}?{self._parts.query}" if self._parts.query else path
        try:
            connection.request(method, target, body or None, {**headers, **self._credentials})
            response = connection.getresponse()
            content = response.read(MOST + 1)
        except TimeoutError as error:
            raise CallFailed(f'{method} "{self.endpoint.url}": context deadline exceeded') from error
        except (OSError, http.client.HTTPException) as error:
            raise CallFailed(f'{method} "{self.endpoint.url}": {error}') from error
        finally:
            connection.close()
        if not 200 <= response.status < 300:
            raise CallFailed(
                f'{method} "{self.endpoint.url}": the answer has status {response.status}', response.status
            )
        if len(content) > MOST:
            raise CallFailed(f'{method} "{self.endpoint.url}": the answer is larger than {MOST} bytes')
        return content

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self.timeout)
        if not self.endpoint.server_name:
            return http.client.HTTPSConnection(host, port, timeout=self.timeout, context=self._context)
        return _Renamed(host, port, self.timeout, self._context, self.endpoint.server_name)

    @cached_property
    def _context(self) -> ssl.SSLContext:
        """Trust in the endpoint's authorities, or in the machine's; made at the first call."""
        endpoint = self.endpoint
        authorities = endpoint.authorities.decode("ascii", "ignore") or None
        try:
            context = ssl.create_default_context(cadata=authorities)
        except ssl.SSLError as error:
            raise SimkitError(f"the authorities of {endpoint.url} cannot be read: {error}") from error
        if endpoint.insecure:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if endpoint.certificate:
            _load_pair(context, endpoint)
        return context

    @cached_property
    def _credentials(self) -> Mapping[str, str]:
        endpoint = self.endpoint
        if endpoint.token:
            return {"authorization": f"Bearer {endpoint.token}"}
        if endpoint.user:
            pair = base64.b64encode(f"{endpoint.user}:{endpoint.password}".encode()).decode()
            return {"authorization": f"Basic {pair}"}
        return {}


class _Renamed(http.client.HTTPSConnection):
    """A connection to a server whose certificate names another host."""

    def __init__(self, host: str, port: int | None, timeout: float, context: ssl.SSLContext, name: str) -> None:
        super().__init__(host, port, timeout=timeout, context=context)
        self._tls, self._name = context, name

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._name)


def _load_pair(context: ssl.SSLContext, endpoint: Endpoint) -> None:
    """The ssl module reads certificate and key from files only."""
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(endpoint.certificate + b"\n" + endpoint.key)
        context.load_cert_chain(name)
    except (OSError, ssl.SSLError) as error:
        raise SimkitError(f"certificate and key for {endpoint.url} cannot be used: {error}") from error
    finally:
        Path(name).unlink()

"""requests, which pykube-ng uses."""

from __future__ import annotations

from typing import Any

import requests
import urllib3
from requests.adapters import BaseAdapter, HTTPAdapter

from simkit.testing.transports import HOST
from simkit.testing.transports.in_process import InProcessServer, plain_headers
from simkit.testing.transports.urllib3_pool import InProcessPool


class InProcessAdapter(BaseAdapter):
    """Answers the requests of a ``requests.Session``; mount it for the address of the cluster."""

    def __init__(self, server: InProcessServer) -> None:
        super().__init__()
        self._pool, self._builder = InProcessPool(server), HTTPAdapter()

    def send(self, request: requests.PreparedRequest, *args: Any, **given: Any) -> requests.Response:
        """The answer to a request. Raises requests' ConnectionError for a dropped connection."""
        body = request.body if isinstance(request.body, bytes | str) else None
        try:
            answer = self._pool.request(
                request.method or "GET",
                request.url or "/",
                body=body,
                headers=dict(plain_headers(request.headers)),
                preload_content=False,
            )
        except urllib3.exceptions.ProtocolError as error:
            raise requests.ConnectionError(error, request=request) from error
        return self._builder.build_response(request, answer)

    def close(self) -> None:
        """There is no connection to close."""


def session(server: InProcessServer) -> requests.Session:
    """A ``requests.Session`` that reaches the cluster at ``http://simkit.invalid``."""
    made = requests.Session()
    made.mount(HOST, InProcessAdapter(server))
    return made


def pykube_client(server: InProcessServer) -> Any:
    """An ``HTTPClient`` of pykube-ng that reaches the cluster."""
    from pykube import HTTPClient, KubeConfig

    made = HTTPClient(KubeConfig.from_url(HOST))
    made.session.mount(HOST, InProcessAdapter(server))
    return made

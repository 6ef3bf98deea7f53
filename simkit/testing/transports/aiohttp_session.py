"""aiohttp, which the asynchronous Python clients use (``kubernetes_asyncio``, and ``kubernetes.aio`` since 36)."""

from __future__ import annotations

import asyncio
from typing import Any

from simkit.meta.message import Response
from simkit.testing.transports import HOST
from simkit.testing.transports.httpx_transport import async_chunks
from simkit.testing.transports.in_process import InProcessServer, headers_of, plain_headers


class _Content:
    """The body of an answer, read as aiohttp's ``StreamReader`` is."""

    def __init__(self, answer: Response) -> None:
        self._parts = async_chunks(answer.stream) if answer.stream is not None else _once(answer.body)
        self._left = b""

    async def readline(self) -> bytes:
        """The next line, or what is left at the end."""
        while b"\n" not in self._left:
            part = await anext(self._parts, b"")
            if not part:
                found, self._left = self._left, b""
                return found
            self._left += part
        line, _, self._left = self._left.partition(b"\n")
        return line + b"\n"

    async def read(self) -> bytes:
        """All that is left."""
        found, self._left = self._left, b""
        return found + b"".join([part async for part in self._parts])


async def _once(body: bytes) -> Any:
    yield body


class InProcessResponse:
    """An answer, as far as the clients use aiohttp's."""

    def __init__(self, answer: Response) -> None:
        from multidict import CIMultiDict, CIMultiDictProxy

        self.status, self.reason = answer.status, ""
        self.headers = CIMultiDictProxy(CIMultiDict(headers_of(answer)))
        self.content = _Content(answer)
        self._answer = answer

    async def read(self) -> bytes:
        """The whole body."""
        return await self.content.read()

    async def text(self, encoding: str = "utf-8") -> str:
        """The whole body as text."""
        return (await self.read()).decode(encoding)

    def release(self) -> None:
        """End it."""
        self.close()

    def close(self) -> None:
        """End it."""
        if self._answer.stream is not None:
            self._answer.stream.close()


class InProcessSession:
    """Takes the place of ``aiohttp.ClientSession``."""

    def __init__(self, server: InProcessServer) -> None:
        self._server = server
        self._sockets: Any = None

    async def request(
        self, method: str, url: Any, *, headers: Any = None, data: Any = None, params: Any = None, **_: Any
    ) -> InProcessResponse:
        """The answer to a request. Raises aiohttp's ServerDisconnectedError for a dropped connection."""
        import aiohttp

        await asyncio.sleep(0)
        try:
            return InProcessResponse(self._server.answer(method, str(url), plain_headers(headers or {}), data))
        except ConnectionError as error:
            raise aiohttp.ServerDisconnectedError(str(error)) from error

    def ws_connect(self, url: Any, *, headers: Any = None, **given: Any) -> Any:
        """A WebSocket, as aiohttp gives it: it goes to a server with sockets."""
        import aiohttp

        address = self._server.loopback()
        if self._sockets is None:
            self._sockets = aiohttp.ClientSession()
        sent = {"authorization": address.authorization, **(headers or {})}
        target = address.of(str(url).replace("ws://", "http://", 1))
        return self._sockets.ws_connect(target, headers=sent, **given)

    async def close(self) -> None:
        """Close the connections whose protocol changed."""
        if self._sockets is not None:
            await self._sockets.close()


def asyncio_client(server: InProcessServer, *, websockets: bool = False) -> Any:
    """An ``ApiClient`` of ``kubernetes_asyncio``, or of ``kubernetes.aio`` where the former is not installed.

    With ``websockets`` it is the ``WsApiClient`` for exec and attach.
    """
    try:
        from kubernetes_asyncio import client, stream
    except ImportError:
        from kubernetes.aio import client, stream

    configuration = client.Configuration(host=HOST)
    made = (stream.WsApiClient if websockets else client.ApiClient)(configuration)
    made.rest_client.pool_manager = InProcessSession(server)
    return made

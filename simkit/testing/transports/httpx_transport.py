"""httpx, which lightkube and kr8s use; lightkube by the name of httpx2."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import ModuleType
from typing import Any

from simkit.meta.message import Response
from simkit.testing.transports import HOST
from simkit.testing.transports.in_process import InProcessServer, chunks, headers_of

_TURN = 0.05


def transport(server: InProcessServer, httpx: ModuleType) -> Any:
    """A transport for ``httpx.Client`` and ``httpx.AsyncClient`` of a given edition of httpx."""

    class _Frames(httpx.SyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, answer: Response) -> None:
            self._answer = answer

        def __iter__(self) -> Iterator[bytes]:
            yield from chunks(self._answer.stream)

        def close(self) -> None:
            self._answer.stream.close()

    class _AsyncFrames(httpx.AsyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, answer: Response) -> None:
            self._answer = answer

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in async_chunks(self._answer.stream):
                yield part

        async def aclose(self) -> None:
            self._answer.stream.close()

    class InProcessTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):  # type: ignore[misc, name-defined]
        """Answers the requests of a client without a socket."""

        def __init__(self) -> None:
            self._sockets: Any = None
            self._async_sockets: Any = None

        def handle_request(self, request: Any) -> Any:
            """The answer to a request; a change of protocol goes to a server with sockets."""
            if "upgrade" in request.headers:
                self._sockets = self._sockets or httpx.HTTPTransport()
                return self._sockets.handle_request(self._readdressed(request))
            answer = self._answer(request, request.read())
            return _response(answer, _Frames)

        async def handle_async_request(self, request: Any) -> Any:
            """The answer to a request; a change of protocol goes to a server with sockets."""
            if "upgrade" in request.headers:
                self._async_sockets = self._async_sockets or httpx.AsyncHTTPTransport()
                return await self._async_sockets.handle_async_request(self._readdressed(request))
            answer = self._answer(request, await request.aread())
            return _response(answer, _AsyncFrames)

        def _readdressed(self, request: Any) -> Any:
            address = server.loopback()
            request.url = httpx.URL(address.of(str(request.url)))
            request.headers["host"] = request.url.netloc.decode()
            request.headers.setdefault("authorization", address.authorization)
            return request

        def _answer(self, request: Any, body: bytes) -> Response:
            try:
                return server.answer(request.method, str(request.url), list(request.headers.items()), body)
            except ConnectionError as error:
                raise httpx.RemoteProtocolError(str(error), request=request) from error

        def close(self) -> None:
            """Close the connections whose protocol changed."""
            if self._sockets is not None:
                self._sockets.close()

        async def aclose(self) -> None:
            """Close the connections whose protocol changed."""
            if self._async_sockets is not None:
                await self._async_sockets.aclose()

    def _response(answer: Response, frames: Any) -> Any:
        if answer.stream is None:
            return httpx.Response(answer.status, headers=headers_of(answer), content=answer.body)
        return httpx.Response(answer.status, headers=headers_of(answer), stream=frames(answer))

    return InProcessTransport()


async def async_chunks(stream: Any) -> AsyncIterator[bytes]:
    """The frames of a watch as they come, without holding up the event loop."""
    loop, news = asyncio.get_running_loop(), asyncio.Event()
    stream.on_change(lambda: loop.call_soon_threadsafe(news.set))
    end = loop.time() + (300.0 if stream.deadline is None else stream.deadline)
    try:
        while True:
            news.clear()
            frames = stream.poll()
            for frame in frames:
                yield frame
            if not frames:
                if stream.closed or loop.time() >= end:
                    return
                try:
                    await asyncio.wait_for(news.wait(), min(_TURN, max(0.0, end - loop.time())))
                except TimeoutError:
                    continue
    finally:
        stream.close()


def lightkube_client(server: InProcessServer, namespace: str = "default") -> Any:
    """A ``lightkube.Client`` that reaches the cluster."""
    import httpx2
    from lightkube import Client, KubeConfig
    from lightkube.config.models import Cluster, User

    config = KubeConfig.from_one(cluster=Cluster(server=HOST), user=User(), namespace=namespace)
    return Client(config=config, transport=transport(server, httpx2))


def kr8s_api(server: InProcessServer, namespace: str = "default") -> Any:
    """A ``kr8s`` API object that reaches the cluster."""
    import httpx
    import kr8s

    async def create_session(self: Any) -> None:
        self._session = httpx.AsyncClient(
            base_url=HOST, transport=transport(server, httpx), headers={"User-Agent": self.__version__}
        )

    class InProcessApi(kr8s.Api):
        _create_session = create_session

    return InProcessApi(url=HOST, namespace=namespace, bypass_factory=True)

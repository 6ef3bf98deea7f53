"""The connections to etcd of one event loop, whose answers it awaits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpc.aio

from simkit.snapshot.etcd import rpc
from simkit.snapshot.etcd.endpoints import EtcdEndpoints

OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)
"""Those of every connection to etcd."""


class LoopChannels:
    """A connection to each member. Made and used in the thread of a loop that runs."""

    def __init__(self, endpoints: EtcdEndpoints) -> None:
        self._channels = [_channel(endpoints, address) for address in endpoints.addresses]
        self._stubs: dict[tuple[int, str], Callable[..., Awaitable[Any]]] = {}

    def stub(self, member: int, method: tuple[str, str]) -> Callable[..., Awaitable[Any]]:
        """The callable for a method of a member."""
        name, answer = method
        stub = self._stubs.get((member, name))
        if stub is None:
            stub = self._stubs[member, name] = self._channels[member].unary_unary(
                rpc.path(name),
                request_serializer=lambda request: bytes(request.SerializeToString()),
                response_deserializer=rpc.message_class(answer).FromString,
            )
        return stub


def credentials(endpoints: EtcdEndpoints) -> grpc.ChannelCredentials:
    """The certificates with which members and this client trust each other. Raises SimkitError for broken files."""
    return grpc.ssl_channel_credentials(
        endpoints.read(endpoints.cafile), endpoints.read(endpoints.keyfile), endpoints.read(endpoints.certfile)
    )


def _channel(endpoints: EtcdEndpoints, address: str) -> grpc.aio.Channel:
    if not endpoints.secure:
        return grpc.aio.insecure_channel(address, options=OPTIONS)
    return grpc.aio.secure_channel(address, credentials(endpoints), options=OPTIONS)

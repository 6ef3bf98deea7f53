"""Connections to the members of an etcd: of threads, which wait for answers, or of an event loop, which awaits them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

import grpc
import grpc.aio

from simkit.snapshot.etcd import rpc
from simkit.snapshot.etcd.endpoints import EtcdEndpoints

_OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)


class Answers(Enum):
    """The form in which answers come."""

    WAITED_FOR = "waited for"
    """A call returns the answer."""
    AWAITED = "awaited"
    """A call returns an awaitable of the running event loop."""


_INSECURE: Final[Mapping[Answers, Callable[..., Any]]] = {
    Answers.WAITED_FOR: grpc.insecure_channel,
    Answers.AWAITED: grpc.aio.insecure_channel,
}
_SECURE: Final[Mapping[Answers, Callable[..., Any]]] = {
    Answers.WAITED_FOR: grpc.secure_channel,
    Answers.AWAITED: grpc.aio.secure_channel,
}


class Channels:
    """A connection to each member, in the order of the endpoints. Those of an event loop are made while it runs.

    Raises
    ------
    SimkitError
        For certificates that cannot be read.
    """

    def __init__(self, endpoints: EtcdEndpoints, answers: Answers = Answers.WAITED_FOR) -> None:
        self._channels = [_channel(endpoints, address, answers) for address in endpoints.addresses]
        self._stubs: dict[tuple[int, str], Callable[..., Any]] = {}

    def __len__(self) -> int:
        return len(self._channels)

    def __getitem__(self, member: int) -> Any:
        return self._channels[member]

    def stub(self, member: int, method: tuple[str, str]) -> Callable[..., Any]:
        """The callable for a method of a member, which is named with the message of its answer."""
        name, answer = method
        stub = self._stubs.get((member, name))
        if stub is None:
            stub = self._stubs[member, name] = self._channels[member].unary_unary(
                rpc.path(name),
                request_serializer=lambda request: bytes(request.SerializeToString()),
                response_deserializer=rpc.message_class(answer).FromString,
            )
        return stub

    def close(self) -> None:
        """End the connections of threads."""
        for channel in self._channels:
            channel.close()


def _channel(endpoints: EtcdEndpoints, address: str, answers: Answers) -> Any:
    if not endpoints.secure:
        return _INSECURE[answers](address, options=_OPTIONS)
    credentials = grpc.ssl_channel_credentials(
        endpoints.read(endpoints.cafile), endpoints.read(endpoints.keyfile), endpoints.read(endpoints.certfile)
    )
    return _SECURE[answers](address, credentials, options=_OPTIONS)

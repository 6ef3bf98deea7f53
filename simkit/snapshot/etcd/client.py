"""A client of etcd over gRPC: reads, transactions, leases and watches, by whichever member answers.

A read is repeated with another member when one does not answer. A write is sent again only where it cannot have
arrived; otherwise nobody knows whether it was made, and the caller is told so.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any, Final

import grpc
import grpc.aio

from simkit.meta.errors import SimkitError, StatusError, unexplained
from simkit.meta.pausing import PausedStep, pausable_step
from simkit.snapshot.etcd import rpc
from simkit.snapshot.etcd.endpoints import EtcdEndpoints

CALL_SECONDS: Final = 10.0
"""The time limit of a call in seconds; kube-apiserver gives its own calls the time of the request."""
PAGE: Final = 1000
_NOT_SENT: Final = ("failed to connect", "connection refused", "no route", "name resolution", "dns", "empty address")
_TRANSIENT: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


class EtcdClient:
    """One connection to each member of an etcd. Its methods may be called from any thread.

    Raises
    ------
    SimkitError
        For files that cannot be read.
    """

    def __init__(self, endpoints: EtcdEndpoints) -> None:
        self._endpoints = endpoints
        self._channels = Channels(endpoints)
        self._first = 0
        self._token: str | None = None
        self._logging_in = threading.Lock()

    def close(self) -> None:
        """End all connections."""
        self._channels.close()

    def revision(self, key: bytes) -> int:
        """The revision that etcd is at now, by agreement of its members."""
        request = rpc.message("RangeRequest", key=key, limit=1, keys_only=True)
        return int(self._call(rpc.RANGE, request, pauses=True).header.revision)

    def read(self, key: bytes) -> Any:
        """The answer to a read of one key, by agreement of its members."""
        return self._call(rpc.RANGE, rpc.message("RangeRequest", key=key))

    def pages(self, prefix: bytes) -> Iterator[Any]:
        """All keys with a prefix as of one revision, in answers of some keys each."""
        key, end, revision = prefix, rpc.end_of(prefix), 0
        while True:
            request = rpc.message("RangeRequest", key=key, range_end=end, limit=PAGE, revision=revision)
            page = self._call(rpc.RANGE, request)
            revision = revision or page.header.revision
            page.header.revision = revision
            yield page
            if not page.more:
                return
            key = page.kvs[-1].key + b"\0"

    def transact(
        self, compare: Sequence[Any], success: Sequence[Any], failure: Sequence[Any] = (), *, pauses: bool = False
    ) -> Any:
        """The answer to a transaction: what is done where all conditions hold, and what where one does not.

        ``pauses`` says that the caller holds no lock: a step in an event loop is paused until the answer comes.
        """
        request = rpc.message("TxnRequest", compare=compare, success=success, failure=failure)
        return self._call(rpc.TXN, request, repeatable=False, pauses=pauses)

    def put(self, key: bytes, value: bytes) -> None:
        """Write a key, whatever it holds."""
        self.transact([], [rpc.message("RequestOp", request_put=rpc.message("PutRequest", key=key, value=value))])

    def grant(self, seconds: int) -> int:
        """A new lease: what is written under it goes after so many seconds."""
        answer = self._call(rpc.GRANT, rpc.message("LeaseGrantRequest", TTL=seconds))
        return int(answer.ID)

    def compact(self, revision: int) -> None:
        """Forget what was superseded before a revision, on all members."""
        self._call(rpc.COMPACT, rpc.message("CompactionRequest", revision=revision))

    def version(self) -> str:
        """The release of the member that answers."""
        return str(self._call(rpc.STATUS, rpc.message("StatusRequest")).version)

    def watch(self, prefix: bytes, after: int) -> WatchStream:
        """The changes of all keys with a prefix after a revision, as they come."""
        return WatchStream(self._channels[self._first], self._metadata(), prefix, after)

    def turn(self) -> None:
        """Ask the next member first from now on."""
        self._first = (self._first + 1) % len(self._channels)

    def _call(self, method: tuple[str, str], request: Any, *, repeatable: bool = True, pauses: bool = False) -> Any:
        """The answer of the first member that gives one. Raises a 500 StatusError where none does."""
        end, failed = time.monotonic() + CALL_SECONDS, 0
        step = pausable_step() if pauses else None
        while True:
            try:
                share = max((end - time.monotonic()) / len(self._channels), 0.1)
                channels = self._channels if step is None else self._channels_of(step)
                answer = channels.stub(self._first, method)(request, timeout=share, metadata=self._metadata())
                return answer if step is None else step.result_of(answer)
            except grpc.RpcError as error:
                failed += 1
                if _unauthenticated(error) and failed == 1:
                    self._token = None
                    continue
                again = error.code() in _TRANSIENT and (repeatable or _never_sent(error))
                if not again or failed >= max(2 * len(self._channels), 2) or time.monotonic() >= end:
                    raise told(error) from error
                self.turn()

    def _channels_of(self, step: PausedStep) -> Channels:
        """The connections of the event loop of a step."""
        known: Channels | None = step.shared.get(self)
        if known is None:
            known = step.shared[self] = Channels(self._endpoints, Answers.AWAITED)
        return known

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        login = self._endpoints.login
        if login is None:
            return ()
        with self._logging_in:
            if self._token is None:
                request = rpc.message_class("AuthenticateRequest")(name=login[0], password=login[1])
                self._token = self._log_in(request)
            return (("token", self._token),)

    def _log_in(self, request: Any) -> str:
        count = len(self._channels)
        for turn in range(count):
            try:
                stub = self._channels.stub((self._first + turn) % count, rpc.AUTHENTICATE)
                return str(stub(request, timeout=CALL_SECONDS).token)
            except grpc.RpcError as error:
                if error.code() not in _TRANSIENT:
                    raise SimkitError(f"etcd does not take the user and the password: {error.details()}") from error
                failure = error
        raise told(failure) from failure


class WatchStream:
    """An open watch: iterate over its answers; another thread may end it."""

    def __init__(self, channel: grpc.Channel, metadata: tuple[tuple[str, str], ...], prefix: bytes, after: int) -> None:
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        create = rpc.message(
            "WatchCreateRequest",
            key=prefix,
            range_end=rpc.end_of(prefix),
            start_revision=after + 1,
        )
        self._requests.put(rpc.message("WatchRequest", create_request=create))
        name, answer = rpc.WATCH
        call: Any = channel.stream_stream(
            rpc.path(name),
            request_serializer=lambda request: bytes(request.SerializeToString()),
            response_deserializer=rpc.message_class(answer).FromString,
        )
        self._answers = call(iter(self._requests.get, None), metadata=metadata)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._answers)

    def end(self) -> None:
        """End the watch; whoever iterates sees a cancelled call."""
        self._requests.put(None)
        with suppress(ValueError):  # a channel that is closed already
            self._answers.cancel()


def told(error: grpc.RpcError) -> StatusError:
    """The answer to a client whose request etcd did not carry out."""
    return unexplained(str(error.details() or error.code()))


def _unauthenticated(error: grpc.RpcError) -> bool:
    return error.code() == grpc.StatusCode.UNAUTHENTICATED or "auth token" in str(error.details())


def _never_sent(error: grpc.RpcError) -> bool:
    text = str(error.details()).lower()
    return error.code() == grpc.StatusCode.UNAVAILABLE and any(part in text for part in _NOT_SENT)


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

"""The egress policy of a server, and what its calls share: addresses, headers, answers."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlsplit

import orjson

from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError

# Address and credentials of a called server, apart from the client, which loads the HTTP library


class Unreachable(Exception):
    """An exchange without a response that can be used; the text is that of Go's HTTP client.

    ``status`` is the HTTP status if there was a response.
    """

    def __init__(self, why: str, status: int = 0) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class Peer:
    """A server's address and authorities. Certificates and keys are PEM texts; no authorities: the machine's.

    ``name`` is the host that its certificate must have, and that a client calls it.
    """

    host: str
    port: int
    name: str
    authorities: bytes = b""
    insecure: bool = False
    certificate: bytes = b""
    key: bytes = b""
    tls: bool = True
    """True if the server is reached over TLS; without it nothing proves who answers."""

    def __repr__(self) -> str:
        return f"<Peer {self.name} at {self.host}:{self.port}>"


# The headers and letters of a proxied request that do not go on as they came.
# Source: ``hopHeaders`` of Go's net/http/httputil.

HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers about one connection."""
UNQUOTED: Final = "/:@!$&'()*+,;=~"
"""Letters of paths that stay as they are."""


# JSON in the answers of other servers, however large they make it

MOST_VALUES: Final = 500_000
"""Values in an answer that is read."""


def parse_answer(content: bytes) -> Any:
    """The value of a JSON text, which can be written again.

    Raises ``json.JSONDecodeError``, also for one of more than 500,000 values. Numbers of more than 64 bits are floats.

    Examples
    --------
    >>> parse_answer(b'{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    if content.count(b",") >= MOST_VALUES:
        raise json.JSONDecodeError(f"more than {MOST_VALUES:,} values", "", 0)
    return orjson.loads(content)


# Answers of services that are remembered for a time, in a bounded number of bytes

MOST_BYTES: Final = 16 * 1024 * 1024
"""Of the questions and answers of one service together."""
LARGEST: Final = 1024 * 1024
"""Bytes of a question and its answer that are remembered."""
T = TypeVar("T")


class RememberedAnswers(Generic[T]):
    """Answers by their questions, each until its time; the oldest make room for new ones.

    Parameters
    ----------
    clock
        On which answers are forgotten.
    most
        How many there may be.

    Notes
    -----
    Threads may share it. Each operation is in constant time.

    Examples
    --------
    >>> from simkit.meta.clock import SimulatedClock
    >>> answers = RememberedAnswers[str](SimulatedClock(), 2)
    >>> for question in "abc":
    ...     answers.keep(question, question.upper(), seconds=10, size=2)
    >>> answers.get("a"), answers.get("c")
    (None, ('C',))
    """

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock, self._most = clock, most
        self._kept: OrderedDict[Hashable, tuple[float, int, T]] = OrderedDict()
        self._lock = Lock()
        self.size = 0
        """Bytes that are remembered."""

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, question: Hashable) -> tuple[T] | None:
        """The answer, by itself in a tuple; None if there is none, or its time has passed."""
        known = self._kept.get(question)
        return (known[2],) if known is not None and self._clock.now() < known[0] else None

    def keep(self, question: Hashable, answer: T, *, seconds: float, size: int) -> None:
        """Remember an answer, unless it is too large. ``size`` is in bytes, its question included."""
        with self._lock:
            self._forget(question)
            if size > LARGEST:
                return
            self._kept[question] = (self._clock.now() + seconds, size, answer)
            self.size += size
            while len(self._kept) > self._most or self.size > MOST_BYTES:
                self._forget(next(iter(self._kept)))

    def _forget(self, question: Hashable) -> None:
        known = self._kept.pop(question, None)
        if known is not None:
            self.size -= known[1]


# The egress policy of a server: whether calls may leave the process, and the addresses of services

WebhookFunction = Callable[[dict[str, Any]], Any]
"""A function in place of a webhook: from an admission request to its answer."""
ConversionFunction = Callable[[dict[str, Any], str], Any]
"""A function in place of a conversion webhook: from an object and an apiVersion to the converted object."""
_MOST_NOTES: Final = 10_000


@dataclass(frozen=True, slots=True)
class SkippedCall:
    """A call that was not made: its kind, its target and its subject."""

    kind: str
    name: str
    target: str
    about: str


class EgressPolicy:
    """The egress policy of one server.

    Parameters
    ----------
    allowed
        Whether connections may be opened. Where they may not, what would have been called is noted.
    services
        Addresses of services by ``namespace/name`` or ``namespace/name:port``, such as ``127.0.0.1:8443``.
    functions
        Functions that stand in for webhooks, by the webhook's name; they are called in any case.
    conversions
        Functions that stand in for conversion webhooks, by the name of the definition; called in any case too.

    Attributes
    ----------
    uncalled
        Calls that were not made, oldest first; at most ten thousand are kept.
    """

    def __init__(
        self,
        *,
        allowed: bool = True,
        services: Mapping[str, str] | None = None,
        functions: Mapping[str, WebhookFunction] | None = None,
        conversions: Mapping[str, ConversionFunction] | None = None,
    ) -> None:
        self.allowed = allowed
        self.services: dict[str, str] = dict(services or {})
        self.functions: dict[str, WebhookFunction] = dict(functions or {})
        self.conversions: dict[str, ConversionFunction] = dict(conversions or {})
        self.uncalled: list[SkippedCall] = []

    def __repr__(self) -> str:
        return f"<EgressPolicy, {'open' if self.allowed else 'closed'}, {len(self.uncalled)} calls not made>"

    def fork(self) -> EgressPolicy:
        """The policy of a fork, which makes no calls by default."""
        return EgressPolicy(
            allowed=False, services=self.services, functions=self.functions, conversions=self.conversions
        )

    def note(self, call: SkippedCall) -> None:
        """Record a call that was not made."""
        if len(self.uncalled) < _MOST_NOTES:
            self.uncalled.append(call)

    def address(self, namespace: str, name: str, port: int) -> tuple[str, int] | None:
        """Host and port of a service; None if they are unknown. Raises SimkitError for an invalid address.

        Examples
        --------
        >>> EgressPolicy(services={"ops/hook": "127.0.0.1:8443"}).address("ops", "hook", 443)
        ('127.0.0.1', 8443)
        """
        where = f"{namespace}/{name}"
        given = self.services.get(f"{where}:{port}") or self.services.get(where)
        if given is None:
            return None
        parts = urlsplit(given if "//" in given else f"//{given}")
        try:
            found = parts.port
        except ValueError:
            found = None
        if not parts.hostname or found is None:
            raise SimkitError(f"the address {given!r} of service {where} is no host:port")
        return parts.hostname, found

"""The network as a container sees it: names, and connections to ports."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

CLUSTER_DOMAIN: Final = "cluster.local"
SERVICE_DOMAIN: Final = f"svc.{CLUSTER_DOMAIN}"
RESOLVER: Final = "10.96.0.10"
"""The address of the cluster's name server."""
Connection = Callable[[bytes], bytes]
"""The other end of a connection: from the bytes of a client to its answer."""


class Refused(Exception):
    """Nothing listens on a port."""


class Unreachable(Exception):
    """Nobody answers at an address: a connection ends with its time limit."""


@dataclass(slots=True)
class Socket:
    """A port on which a command listens, with what it sends to who connects.

    Attributes
    ----------
    stays
        True if it takes more than one connection.
    arrived
        The bytes that clients have sent, for the command to read.
    over
        True if it takes no more connections.
    """

    sent: bytes
    stays: bool = False
    arrived: list[bytes] = field(default_factory=list)
    over: bool = False

    def accept(self) -> Connection:
        """A connection: it is answered once, and what a client sends later is dropped."""
        first = True
        self.over = not self.stays

        def answer(data: bytes) -> bytes:
            nonlocal first
            if not first:
                return b""
            first = False
            self.arrived.append(data)
            return self.sent

        return answer


class Network(Protocol):
    """Names and connections. An implementation does not wait: it answers with the present state."""

    @property
    def sockets(self) -> MutableMapping[int, Socket]:
        """The ports on which commands of the container listen."""
        ...

    def addresses(self, name: str) -> tuple[str, Sequence[str]]:
        """The full form of a name, and its addresses; none for a name that nobody knows."""
        ...

    def searched(self, name: str) -> Sequence[str]:
        """The full names that are tried for a name, in order."""
        ...

    def own_addresses(self) -> Sequence[str]:
        """The addresses of the container itself."""
        ...

    def listening(self) -> Sequence[int]:
        """The ports on which something in the pod listens."""
        ...

    def answers(self, address: str) -> bool:
        """True if a machine or a pod has an address, and answers an echo."""
        ...

    def connect(self, address: str, port: int) -> Connection:
        """The other end of a connection. Raises Refused, or Unreachable."""
        ...


class NoNetwork:
    """The network of a container outside a cluster: it knows no names, and nobody answers."""

    @property
    def sockets(self) -> MutableMapping[int, Socket]:
        return {}

    def addresses(self, name: str) -> tuple[str, Sequence[str]]:
        return name, ()

    def searched(self, name: str) -> Sequence[str]:
        return (name,)

    def own_addresses(self) -> Sequence[str]:
        return ()

    def listening(self) -> Sequence[int]:
        return ()

    def answers(self, address: str) -> bool:
        return False

    def connect(self, address: str, port: int) -> Connection:
        raise Unreachable(address)

"""Address and credentials of a called server, apart from the client, which loads the HTTP library."""

from __future__ import annotations

from dataclasses import dataclass


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

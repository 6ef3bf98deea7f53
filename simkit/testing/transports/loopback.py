"""A server on loopback for what clients in the same process cannot do without a socket: exec, attach and port-forward.

It is started with the first such connection of a cluster, listens on this machine only, and ends with its cluster.
"""

from __future__ import annotations

import secrets
import weakref
from dataclasses import dataclass, field
from typing import Final

from simkit.cluster.cluster import Cluster
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.authn.union import Union
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.server import Server, ServingOptions
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.testing.transports import HOST


@dataclass(frozen=True, slots=True)
class LoopbackAddress:
    """An address of a cluster, and the token of one identity there."""

    url: str
    token: str

    @property
    def authorization(self) -> str:
        """The value of the header with the token."""
        return f"Bearer {self.token}"

    def of(self, url: str) -> str:
        """The address that stands for one at ``simkit.invalid``."""
        return url.replace(HOST, self.url, 1)


@dataclass(slots=True)
class _Loopback:
    """A running server, and the tokens that it knows."""

    server: Server
    tokens: dict[Identity, str] = field(default_factory=dict)
    has_controllers: bool = False


_RUNNING: Final = weakref.WeakKeyDictionary[Cluster, _Loopback]()


def loopback_address(cluster: Cluster, identity: Identity, *, controllers: bool = False) -> LoopbackAddress:
    """The address of a cluster for one identity; its server is started where it does not run.

    ``controllers`` says that they work in the background from now on, for clients that do not wait for them.
    """
    running = _RUNNING.get(cluster)
    if running is None:
        running = _RUNNING[cluster] = _Loopback(_start(cluster))
        weakref.finalize(cluster, running.server.stop)
    if controllers and not running.has_controllers:
        running.has_controllers = True
        cluster._control_plane.background.start()
    token = running.tokens.get(identity)
    if token is None:
        token = running.tokens[identity] = secrets.token_urlsafe()
        _admit(cluster, token, identity)
    return LoopbackAddress(running.server.url, token)


def close_loopback(cluster: Cluster) -> None:
    """End the server of a cluster, if there is one."""
    running = _RUNNING.pop(cluster, None)
    if running is None:
        return
    if running.has_controllers:
        cluster._control_plane.background.stop()
    running.server.stop()


def _start(cluster: Cluster) -> Server:
    serving = ServingOptions(port=None, insecure_port=0)
    return Server(APIServerHandler(cluster.engine), serving, clock=cluster.engine.clock).start()


def _admit(cluster: Cluster, token: str, identity: Identity) -> None:
    known = cluster.engine.authenticator
    if not isinstance(known, Union):
        raise SimkitError(f"cannot add a token to {known!r}; assemble the cluster with a Union")
    cluster.engine.authenticator = known.preceded_by(StaticTokens({token: identity}))

"""The addresses and credentials of an etcd, as kube-apiserver's ``--etcd-*`` flags give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from simkit.meta.errors import SimkitError

PREFIX: Final = "/registry"
"""The prefix of kube-apiserver's keys (``--etcd-prefix``)."""
_PORT: Final = 2379


@dataclass(frozen=True, slots=True)
class EtcdEndpoints:
    """The addresses and credentials of an etcd.

    Parameters
    ----------
    servers
        URLs of its members, such as ``https://10.0.0.1:2379``. A user and a password may stand in the first of them.
    prefix
        Under which its keys stand.
    cafile
        The authority that signed the certificates of the members.
    certfile, keyfile
        The client certificate, with its key.
    """

    servers: Sequence[str]
    prefix: str = PREFIX
    cafile: str | Path | None = None
    certfile: str | Path | None = None
    keyfile: str | Path | None = None

    def __post_init__(self) -> None:
        if not self.servers:
            raise SimkitError("no etcd server is named; give at least one URL, such as http://127.0.0.1:2379")
        for server in self.servers:
            _address(server)
        if len({urlsplit(server).scheme for server in self.servers}) > 1:
            raise SimkitError("some etcd servers are named with http and some with https; use one of them for all")
        if bool(self.certfile) != bool(self.keyfile):
            raise SimkitError("--etcd-certfile and --etcd-keyfile go together; only one of them is given")

    @property
    def secure(self) -> bool:
        """True if the connections use TLS."""
        return urlsplit(self.servers[0]).scheme == "https"

    @property
    def addresses(self) -> tuple[str, ...]:
        """Host and port of each member."""
        return tuple(_address(server) for server in self.servers)

    @property
    def login(self) -> tuple[str, str] | None:
        """The user and the password, None where none are given."""
        parts = urlsplit(self.servers[0])
        return (unquote(parts.username), unquote(parts.password or "")) if parts.username else None

    @property
    def root(self) -> str:
        """The prefix as keys begin with it: one slash before it, one behind it."""
        inner = self.prefix.strip("/")
        return f"/{inner}/" if inner else "/"

    def read(self, path: str | Path | None) -> bytes | None:
        """The content of one of its files. Raises SimkitError for one that cannot be read."""
        if path is None:
            return None
        try:
            return Path(path).read_bytes()
        except OSError as error:
            raise SimkitError(f"cannot read {path}: {error.strerror or error}") from error


def _address(server: str) -> str:
    try:
        parts = urlsplit(server)
        host, port = parts.hostname, parts.port or _PORT
    except ValueError as error:
        raise SimkitError(f"{server!r} is no URL of an etcd server: {error}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise SimkitError(f"{server!r} is no URL of an etcd server; write http://HOST:{_PORT} or https://HOST:{_PORT}")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

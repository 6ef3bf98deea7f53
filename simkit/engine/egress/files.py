"""Files that a server reads: those that are reloaded when they change, and kubeconfigs."""

from __future__ import annotations

import base64
import hashlib
import logging
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlsplit

from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.small_files import value_of_bytes
from simkit.meta.clock import Clock
from simkit.meta.errors import SimkitError
from simkit.seams import Meter

# A file that is reloaded when it changes, and once a minute.
# References: k8s.io/apiserver/pkg/server/dynamiccertificates/dynamic_cafile_content.go, release 1.30.

_LOG: Final = logging.getLogger("simkit.files")
LOOK_EVERY: Final = 1.0
"""Seconds between checks whether the file has changed."""
READ_EVERY: Final = 60.0
"""Seconds after which the file is read in any case."""
SERVER_HASH: Final = "sha256:" + hashlib.sha256(platform.node().encode()).hexdigest()
"""The name of this server in metrics."""
T = TypeVar("T")


def read_file(path: Path) -> bytes:
    """The content of a file. Raises SimkitError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise SimkitError(f"{path} cannot be read: {error.strerror or error}") from error


class DynamicFile(Generic[T]):
    """The value of a file's content, kept up to date.

    Parameters
    ----------
    path
        The file.
    build
        Makes of its content what is wanted. Raises SimkitError.
    clock
        When the next look is due.
    counters, family
        Where reloads are counted, if anywhere: under this name with the endings of counter and gauge.

    Notes
    -----
    A file that has become unusable changes nothing, with a warning in the log. Nothing runs in the background: the
    look is taken by whoever asks when it is due.
    """

    def __init__(
        self,
        path: str | Path,
        build: Callable[[bytes], T],
        clock: Clock,
        counters: Meter | None = None,
        family: str = "",
    ) -> None:
        self._path, self._build, self._clock = Path(path), build, clock
        self._counters, self._family = counters, family
        self._content = read_file(self._path)
        self._value = build(self._content)
        self._stamp = self._stamped()
        self._looked = self._refreshed = clock.now()
        self._lock = Lock()

    @property
    def known(self) -> T:
        """The value that was read last, without a check of the file."""
        return self._value

    def current(self) -> T:
        """The value of the file, reloaded if that is due."""
        now = self._clock.now()
        if now - self._looked >= LOOK_EVERY and self._lock.acquire(blocking=False):
            try:
                self._look(now)
            finally:
                self._lock.release()
        return self._value

    def _look(self, now: float) -> None:
        self._looked, stamp = now, self._stamped()
        if stamp != self._stamp or now - self._refreshed >= READ_EVERY:
            self._stamp, self._refreshed = stamp, now
            self._reload(now)

    def _reload(self, now: float) -> None:
        try:
            content = read_file(self._path)
            if content == self._content:
                return
            self._value, self._content = self._build(content), content
        except SimkitError as error:
            _LOG.warning("%s: everything stays as it was: %s", self._path, error)
            self._tell("failure", now)
            return
        self._tell("success", now)

    def _tell(self, status: str, now: float) -> None:
        if self._counters is None:
            return
        self._counters.count(f"{self._family}s_total", SERVER_HASH, status)
        self._counters.set(f"{self._family}_last_timestamp_seconds", SERVER_HASH, status, value=now)

    def _stamped(self) -> tuple[int, int, int]:
        """The file's stamp, which changes with the file."""
        try:
            found = self._path.stat()
        except OSError:
            return (0, 0, 0)
        return (found.st_mtime_ns, found.st_size, found.st_ino)


# Client configuration from a kubeconfig file.
# References: k8s.io/client-go/tools/clientcmd, release 1.30.


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """One service: its address, trusted authorities, and own credentials. Certificates and keys are PEM texts."""

    url: str
    authorities: bytes = b""
    certificate: bytes = b""
    key: bytes = b""
    token: str = ""
    user: str = ""
    password: str = ""
    server_name: str = ""
    insecure: bool = False

    def __repr__(self) -> str:
        return f"<ClientConfig {self.url}>"


def load_kubeconfig(path: str | Path) -> ClientConfig:
    """The endpoint of a file's current context. Raises SimkitError with the place of an error."""
    try:
        document = value_of_bytes(Path(path).read_bytes())
    except OSError as error:
        raise SimkitError(f"the client configuration {path} cannot be read: {error.strerror or error}") from error
    except BrokenText as error:
        raise SimkitError(f"the client configuration {path} is no YAML: {error}") from error
    if not isinstance(document, Mapping):
        raise SimkitError(f"the client configuration {path} is no mapping")
    return _Reader(Path(path), document).endpoint()


def _is_address(url: str) -> bool:
    """True if a text is an http or https address with a host."""
    try:
        parts = urlsplit(url)
    except ValueError:  # a bracket that is not closed
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


class _Reader:
    def __init__(self, path: Path, document: Mapping[str, Any]) -> None:
        self._path, self._document = path, document

    def endpoint(self) -> ClientConfig:
        current = self._document.get("current-context") or ""
        found = self._named("contexts", "context", current)
        cluster = self._named("clusters", "cluster", found.get("cluster") or "")
        user = self._named("users", "user", found["user"]) if found.get("user") else {}
        url = str(cluster.get("server") or "")
        if not _is_address(url):
            raise self._wrong(f"the server {url!r} is no http or https address")
        for unsupported in ("exec", "auth-provider"):
            if user.get(unsupported):
                raise self._wrong(f"users may not use {unsupported!r} here; give a certificate or a token")
        return ClientConfig(
            url,
            self._content(cluster, "certificate-authority"),
            self._content(user, "client-certificate"),
            self._content(user, "client-key"),
            self._token(user),
            str(user.get("username") or ""),
            str(user.get("password") or ""),
            str(cluster.get("tls-server-name") or ""),
            bool(cluster.get("insecure-skip-tls-verify")),
        )

    def _wrong(self, why: str) -> SimkitError:
        return SimkitError(f"the client configuration {self._path}: {why}")

    def _named(self, section: str, field: str, name: str) -> Mapping[str, Any]:
        entries = self._document.get(section) or ()
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, Mapping) and entry.get("name") == name and isinstance(entry.get(field), Mapping):
                found: Mapping[str, Any] = entry[field]
                return found
        raise self._wrong(f"there is no {field} {name!r}")

    def _content(self, entry: Mapping[str, Any], field: str) -> bytes:
        """A certificate or key: inline and in base64, or in a file named relative to this one."""
        inline, named = entry.get(f"{field}-data"), entry.get(field)
        if inline:
            try:
                return base64.b64decode(str(inline), validate=True)
            except ValueError as error:
                raise self._wrong(f"{field}-data is no base64: {error}") from error
        return self._file(str(named)) if named else b""

    def _token(self, user: Mapping[str, Any]) -> str:
        if user.get("token"):
            return str(user["token"])
        return self._file(str(user["tokenFile"])).decode().strip() if user.get("tokenFile") else ""

    def _file(self, name: str) -> bytes:
        try:
            return read_file(self._path.parent / name)
        except SimkitError as error:
            raise self._wrong(str(error)) from error

"""The certificates and keys of a server, made at its first start and kept in a folder."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from simkit.engine.http import certificate_record
from simkit.meta.clock import Clock, SystemClock
from simkit.meta.errors import SimkitError
from simkit.meta.identity import MASTERS
from simkit.meta.whole_file import PRIVATE, write_whole

if TYPE_CHECKING:
    from simkit.engine.http.keypair import KeyPair

SERVICE_NAMES: Final = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
ADMINISTRATOR: Final = "kubernetes-admin"
"""The user of client configurations, whom kubeadm calls so too."""
_AUTHORITY: Final = "simkit-ca"
_PUBLIC: Final = 0o644
_DAY: Final = timedelta(days=1)
_MONTH: Final = 30 * _DAY
_CENTURY: Final = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Paths of a server's files: the authority, its own certificate, an administrator's, the key that signs tokens."""

    authority: Path
    certificate: Path
    key: Path
    admin_certificate: Path
    admin_key: Path
    token_key: Path


def default_folder() -> Path:
    """The folder of this user's certificates: under ``$XDG_STATE_HOME``, else ``~/.local/state``."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "simkit" / "certificates"


def ensure_certificates(
    folder: Path | None = None, *, hosts: Sequence[str] = (), clock: Clock | None = None
) -> CertificateFiles:
    """The files of a folder, created where they are missing, do not belong together or expire within a month.

    Parameters
    ----------
    folder
        Made with mode 0700 where it does not exist. Defaults to a folder of the user.
    hosts
        Names and addresses at which the server is reached, besides those it always has.
    clock
        On which client certificates are judged; they are made valid for it as well as for the machine's clock.

    Raises
    ------
    SimkitError
        For a folder that cannot be written.

    Notes
    -----
    Keys are of the curve P-256 and have mode 0600. Files are replaced as a whole, under a lock between processes. A
    new authority makes everything else new; it spans a century, so that a turned clock seldom matters.
    """
    folder = default_folder() if folder is None else folder
    now = [datetime.now(UTC), datetime.fromtimestamp((clock or SystemClock()).now(), UTC)]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(folder):
            return _Folder(folder, min(now), max(now)).ensure(server_names(hosts))
    except OSError as error:
        raise SimkitError(
            f"cannot keep certificates in {folder}: {error}; choose another folder (--cert-dir)"
        ) from error


def server_names(hosts: Sequence[str]) -> tuple[list[str], list[str]]:
    """The DNS names and the addresses of a serving certificate.

    Examples
    --------
    >>> names, addresses = server_names(["10.0.0.7", "box.example"])
    >>> "box.example" in names, "10.0.0.7" in addresses, "127.0.0.1" in addresses
    (True, True, True)
    """
    names = ["localhost", *SERVICE_NAMES]
    addresses = ["127.0.0.1", "::1"]
    for host in (*hosts, socket.gethostname()):
        try:
            address = str(ipaddress.ip_address(host.strip("[]")))
        except ValueError:
            if host and host.isascii() and len(host) < 64:
                names.append(host)
        else:
            addresses.append(address)
    return list(dict.fromkeys(names)), list(dict.fromkeys(addresses))


class _Folder:
    """One folder of certificates, and the span of time in which all of them must be valid."""

    def __init__(self, path: Path, first: datetime, last: datetime) -> None:
        self._path, self._first, self._last = path, first, last

    def ensure(self, names: tuple[list[str], list[str]]) -> CertificateFiles:
        if not certificate_record.holds(self._path, names, self._first, self._last + _MONTH):
            self._check(names)
        return self._paths()

    def _check(self, names: tuple[list[str], list[str]]) -> None:
        """Read the files, make those that do not serve, and record what they hold."""
        from simkit.engine.authn.jws import load_private_key
        from simkit.engine.http import keypair

        authority = self._read("ca")
        if authority is None or not authority.covers(self._first, self._last + _MONTH):
            authority = keypair.make_authority(
                _AUTHORITY, (min(self._first - _DAY, _CENTURY[0]), max(self._last + 3650 * _DAY, _CENTURY[1]))
            )
            self._write("ca", authority)
        span = (self._first - _DAY, self._last + 365 * _DAY)
        serving = self._read("apiserver")
        if serving is None or not self._fits(serving, authority) or not serving.names_include(*names):
            serving = authority.sign_server(SERVICE_NAMES[0] + "-apiserver", names, span)
            self._write("apiserver", serving)
        admin = self._read("admin")
        if admin is None or not self._fits(admin, authority) or not admin.belongs_to(ADMINISTRATOR):
            admin = authority.sign_client(ADMINISTRATOR, [MASTERS], span)
            self._write("admin", admin)
        signing = self._path / "sa.key"
        if not signing.exists():
            write_whole(signing, keypair.new_key_pem(), mode=PRIVATE)
        load_private_key(signing.read_bytes(), str(signing))
        spans = [pair.span() for pair in (authority, serving, admin)]
        record = certificate_record.made(self._path, serving.names(), *zip(*spans, strict=True))
        write_whole(self._path / certificate_record.NAME, record, mode=PRIVATE)

    def _fits(self, pair: KeyPair, authority: KeyPair) -> bool:
        return pair.issued_by(authority) and pair.covers(self._first, self._last + _MONTH)

    def _read(self, name: str) -> KeyPair | None:
        from simkit.engine.http.keypair import KeyPair

        try:
            return KeyPair.load((self._path / f"{name}.crt").read_bytes(), (self._path / f"{name}.key").read_bytes())
        except (FileNotFoundError, ValueError):
            return None

    def _write(self, name: str, pair: KeyPair) -> None:
        write_whole(self._path / f"{name}.key", pair.key_pem(), mode=PRIVATE)
        write_whole(self._path / f"{name}.crt", pair.certificate_pem(), mode=_PUBLIC)

    def _paths(self) -> CertificateFiles:
        at = self._path
        own, admin = (at / "apiserver.crt", at / "apiserver.key"), (at / "admin.crt", at / "admin.key")
        return CertificateFiles(at / "ca.crt", *own, *admin, at / "sa.key")


if sys.platform == "win32":

    def _locked(folder: Path) -> contextlib.AbstractContextManager[None]:
        """A context without a lock, for platforms that have no locks between processes; files are still replaced
        atomically."""
        return contextlib.nullcontext()

else:
    import fcntl

    @contextlib.contextmanager
    def _locked(folder: Path) -> Iterator[None]:
        """Hold the folder against other processes that make certificates at the same time."""
        with (folder / ".lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

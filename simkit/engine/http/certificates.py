"""The certificates and keys of a server, made at its first start and kept in a folder."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import ipaddress
import os
import socket
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from simkit.meta.clock import Clock, SystemClock
from simkit.meta.errors import SimkitError
from simkit.meta.identity import MASTERS
from simkit.meta.whole_file import PRIVATE, home_folder, write_whole

if TYPE_CHECKING:
    from simkit.engine.http.keypair import KeyPair

# The record of what the files of a certificate folder were found to hold, so that a start need not parse them

FILES: Final = ("ca.crt", "ca.key", "apiserver.crt", "apiserver.key", "admin.crt", "admin.key", "sa.key")
NAME: Final = "checked.json"
"""The file of the record."""
Names = tuple[Sequence[str], Sequence[str]]


def holds(folder: Path, names: Names, first: datetime, last: datetime) -> bool:
    """True if the files were found good as they are now, for these DNS names and addresses and this span of time.

    Notes
    -----
    Whoever may write to the folder may replace the keys, so the record is trusted as they are.
    """
    try:
        record = orjson.loads((folder / NAME).read_bytes())
        return bool(
            record["files"] == digests(folder)
            and set(record["names"]).issuperset([*names[0], *names[1]])
            and datetime.fromisoformat(record["begins"]) <= first
            and last <= datetime.fromisoformat(record["ends"])
        )
    except (OSError, ValueError, KeyError, TypeError):  # no record, or one of something else: the files are read
        return False


def made(folder: Path, names: Iterable[str], begins: Iterable[datetime], ends: Iterable[datetime]) -> bytes:
    """The record of files that have just been found good.

    Parameters
    ----------
    names
        The DNS names and addresses of the serving certificate.
    begins, ends
        The moments from which and until which each of the certificates is valid.
    """
    record: dict[str, Any] = {
        "files": digests(folder),
        "names": sorted(names),
        "begins": max(begins).isoformat(),
        "ends": min(ends).isoformat(),
    }
    return orjson.dumps(record)


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 digests of the files, by name. Raises OSError for a missing one."""
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}


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
_LOCK: Final = ".lock"
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
    return (Path(state) if state else home_folder() / ".local" / "state") / "simkit" / "certificates"


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
        For a folder that cannot be written, that belongs to another user or that others may write to, and for keys
        of another user or that others may read or write: whoever made them would be an administrator here.

    Notes
    -----
    Keys are of the curve P-256 and have mode 0600. Files are replaced as a whole, under a lock between processes. A
    new authority makes everything else new; it spans a century, so that a turned clock seldom matters.
    """
    folder = default_folder() if folder is None else folder
    now = [datetime.now(UTC), datetime.fromtimestamp((clock or SystemClock()).now(), UTC)]
    try:
        _make_private(folder)
        _check_trust(folder)
        with _locked(folder):
            return _Folder(folder, min(now), max(now)).ensure(server_names(hosts))
    except OSError as error:
        raise SimkitError(
            f"cannot keep certificates in {folder}: {error}; choose another folder (--cert-dir)"
        ) from error


def _make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, for this user alone under any umask."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
        each.chmod(0o700)


def _check_trust(folder: Path) -> None:
    """Raise SimkitError for a folder, or files in it, that another user has made or may change.

    Certificates count as keys do: the server believes whom the authority in them has signed.
    """
    if not hasattr(os, "geteuid"):
        return
    for path in (folder, *sorted(each for each in folder.iterdir() if each.name != _LOCK)):
        found, closed = path.lstat(), 0o077 if path.suffix == ".key" else 0o022
        if found.st_uid != os.geteuid():
            raise SimkitError(
                f"{path} belongs to another user (uid {found.st_uid}), who would be an administrator of this server; "
                "choose a folder of your own (--cert-dir)"
            )
        if stat.S_IMODE(found.st_mode) & closed:
            mode = "700" if path == folder else "600"
            raise SimkitError(f"others may change or read {path}; next: chmod {mode} {path}, or another --cert-dir")


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
        if not holds(self._path, names, self._first, self._last + _MONTH):
            self._check(names)
        return self._paths()

    def _check(self, names: tuple[list[str], list[str]]) -> None:
        """Read the files, make those that do not serve, and record what they hold."""
        from simkit.engine.authn.signing_keys import load_private_key
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
        record = made(self._path, serving.names(), *zip(*spans, strict=True))
        write_whole(self._path / NAME, record, mode=PRIVATE)

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
        with (folder / _LOCK).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


# The kubeconfig that a server writes for its administrator


def kubeconfig_document(
    server: str, *, authority: bytes = b"", certificate: bytes = b"", key: bytes = b""
) -> dict[str, Any]:
    """A client configuration with one server and one user; authority, certificate and key are PEM texts."""
    cluster = {"server": server, **_data(certificate_authority_data=authority)}
    user = _data(client_certificate_data=certificate, client_key_data=key)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "simkit", "cluster": cluster}],
        "users": [{"name": ADMINISTRATOR, "user": user}],
        "contexts": [{"name": "simkit", "context": {"cluster": "simkit", "user": ADMINISTRATOR}}],
        "current-context": "simkit",
        "preferences": {},
    }


def write_kubeconfig(path: Path, content: dict[str, Any]) -> None:
    """Write a client configuration as JSON (which is YAML too), readable by its owner only. Raises SimkitError."""
    try:
        write_whole(path, orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n", mode=PRIVATE)
    except OSError as error:
        raise SimkitError(f"cannot write the client configuration to {path}: {error}") from error


def _data(**entries: bytes) -> dict[str, str]:
    filled = {name.replace("_", "-"): content for name, content in entries.items() if content}
    return {name: base64.b64encode(content).decode() for name, content in filled.items()}

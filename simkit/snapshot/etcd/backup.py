"""Backups of etcd as dumps: a snapshot file or a data directory, read through etcd's own tools.

The backup itself is not touched: it is restored, or copied, into a temporary folder, over which an etcd is started on
loopback for as long as it is read.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from simkit.meta.distribution import install_hint
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.free_port import free_port
from simkit.meta.names import GroupResource
from simkit.schema.catalogue import Catalogue
from simkit.snapshot.etcd.endpoints import EtcdEndpoints
from simkit.snapshot.etcd.layout import Layout
from simkit.snapshot.report import Report

_MAGIC: Final = 0xED0CDAED
_MAGIC_AT: Final = 16
"""The mark of bbolt in the first page of a file; etcd writes it in the order of the machine's bytes."""
_DATA: Final = Path("member", "snap", "db")
_SECTOR: Final = 512
_HASH: Final = 32
"""Bytes at the end of a snapshot, behind whole sectors."""
START_SECONDS: Final = 60.0


def is_backup(path: Path) -> bool:
    """True if a path is a snapshot or a data directory of etcd.

    Examples
    --------
    >>> is_backup(Path("/dev/null"))
    False
    """
    if path.is_dir():
        return (path / _DATA).is_file()
    with path.open("rb") as file:
        head = file.read(_MAGIC_AT + 4)
    return len(head) == _MAGIC_AT + 4 and struct.unpack_from("<I", head, _MAGIC_AT)[0] == _MAGIC


def read_backup(path: Path, report: Report, *, release: str, prefix: str = "/registry") -> Iterator[dict[str, Any]]:
    """The objects of a backup as one list for each resource; a built-in resource without objects has an empty one.

    Objects that cannot be read, such as encrypted ones, are told in the report.

    Raises
    ------
    SimkitError
        Where etcd's tools or the Python packages are missing, or the tools cannot read the file.
    """
    try:
        from simkit.snapshot.etcd.client import EtcdClient
        from simkit.snapshot.etcd.values import Values
    except ModuleNotFoundError as error:
        raise SimkitError(f"reading {path}, a backup of etcd, needs {error.name}: {install_hint('etcd')}") from error
    catalogue = Catalogue.for_release(release, everything=True)
    with _running(path) as url:
        endpoints = EtcdEndpoints([url], prefix)
        layout = Layout.of(endpoints.root, catalogue)
        found = _objects(EtcdClient(endpoints), layout, Values(catalogue), str(path), report)
    kinds = {each.storage: each.storage_gvk for each in catalogue.stored()}
    for resource, kind in kinds.items():
        items = found.pop(resource, [])
        yield {"apiVersion": kind.api_version, "kind": f"{kind.kind}List", "items": items}
    for items in found.values():
        yield {"apiVersion": "v1", "kind": "List", "items": items}


def _objects(client: Any, layout: Any, values: Any, file: str, report: Report) -> dict[GroupResource, list[Any]]:
    found: dict[GroupResource, list[Any]] = {}
    try:
        for page in client.pages(layout.root):
            for pair in page.kvs:
                key = layout.key(pair.key)
                if key is None:
                    continue
                try:
                    obj = values.decode(key, pair.key, pair.value, pair.mod_revision)
                except StatusError as error:
                    report.add(file, None, str(error))
                    continue
                found.setdefault(key.resource, []).append(obj)
    finally:
        client.close()
    return found


@contextmanager
def _running(path: Path) -> Iterator[str]:
    """The URL of an etcd that serves what a backup holds."""
    program = _tool("etcd")
    with tempfile.TemporaryDirectory(prefix="simkit-etcd-") as temporary:
        data = Path(temporary, "data")
        if path.is_dir():
            shutil.copytree(path / "member", data / "member")
        else:
            _restore(path, data)
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        command = [program, "--data-dir", str(data), "--force-new-cluster", "--log-level", "error"]
        command += ["--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer]
        log = Path(temporary, "log")
        with log.open("wb") as told:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=told, stderr=told)  # noqa: S603 - etcd
        try:
            _wait(client, process, path, log)
            yield client
        finally:
            process.kill()
            process.wait()


def _restore(path: Path, data: Path) -> None:
    tool = shutil.which("etcdutl") or _tool("etcdctl")
    command = [tool, "snapshot", "restore", str(path.absolute()), "--data-dir", str(data)]
    behind = path.stat().st_size % _SECTOR
    if behind not in (0, _HASH):
        raise SimkitError(f"{path} is no whole snapshot of etcd: its end is missing; copy it again")
    done = _run(command if behind else [*command, "--skip-hash-check"])  # the database of a data directory has none
    if done.returncode:
        told = done.stderr.strip().splitlines()
        raise SimkitError(f"{Path(tool).name} cannot restore {path}: {told[-1] if told else 'no reason given'}")


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {"ETCDCTL_API": "3", "PATH": ""}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # noqa: S603 - its own tool


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise SimkitError(
            f"reading a backup of etcd needs {name}, which is not installed; Debian has it in etcd-server and "
            "etcd-client. Or make a dump of the running cluster: simkit dump"
        )
    return found


def _wait(url: str, process: subprocess.Popen[bytes], path: Path, log: Path) -> None:
    from simkit.snapshot.etcd.client import EtcdClient

    client, end = EtcdClient(EtcdEndpoints([url])), time.monotonic() + START_SECONDS
    try:
        while True:
            try:
                client.revision(b"/")
                return
            except StatusError:
                if process.poll() is not None or time.monotonic() > end:
                    last = log.read_text(errors="replace").strip().splitlines()
                    raise SimkitError(
                        f"etcd does not start on {path}: {last[-1] if last else 'no reason given'}"
                    ) from None
                time.sleep(0.1)
    finally:
        client.close()

"""``simkit testing``: executables that envtest of controller-runtime starts in the place of kube-apiserver and etcd.

References
----------
sigs.k8s.io/controller-runtime/pkg/internal/testing/controlplane.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from simkit.meta.errors import SimkitError
from simkit.meta.whole_file import PRIVATE, home_folder, write_whole

DESCRIPTION: Final = "Writes stand-ins for kube-apiserver and etcd that envtest can start, and prints their folder."
EXAMPLES: Final = """\
examples:
  export KUBEBUILDER_ASSETS=$(simkit testing assets)     # then: go test ./...
  simkit testing assets --release 1.34 --to bin/

Python tests need no command: see docs/testing.md for the pytest plugin.
"""
NAMES: Final = ("kube-apiserver", "etcd")
_SCRIPT: Final = """#!/bin/sh
exec {python} -m simkit.cli.testing {name} {first}"$@"
"""
_OURS: Final = b" -m simkit.cli.testing"
_EXECUTABLE: Final = 0o755
_DROPPED: Final = ("--etcd-servers", "--insecure-bind-address")
"""Flags that mean the stand-in for etcd, which keeps nothing: objects are in the memory of the server; and the address
of the insecure port, which is always that of this machine."""
_ETCD_HELP: Final = """\
Answers health checks in the place of etcd. It keeps nothing. Other flags are ignored.

  --listen-client-urls 'http://localhost:2379'
    The address of the health checks.
  --advertise-client-urls 'http://localhost:2379'
  --listen-peer-urls 'http://localhost:2380'
  --data-dir ''
  --unsafe-no-fsync 'false'
    These are accepted and have no effect.
"""
"""The help text. envtest looks in it for the flags that it may give."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("what", choices=("assets",), metavar="assets", help="the executables")
    parser.add_argument(
        "--to", type=Path, metavar="DIR", help="the folder to write them to (default: one for each user)"
    )
    parser.add_argument(
        "--release", default="", metavar="X.Y", help="the Kubernetes release to serve (default: as for simkit serve)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the executables, and print their folder."""
    folder = args.to or home_folder() / ".cache" / "simkit" / f"assets{args.release and '-'}{args.release}"
    print(write_assets(folder, args.release).resolve())
    return 0


def write_assets(folder: Path, release: str = "") -> Path:
    """Write the executables into a folder, which is given back. Raises SimkitError where that is not possible.

    ``release`` is the one that kube-apiserver serves.
    """
    try:
        for name in NAMES:
            path = folder / name
            if path.exists() and _OURS not in path.read_bytes():
                raise SimkitError(f"{path} is there already, and is not from simkit; name another folder")
            first = f"{shlex.quote(f'--release={release}')} " if release and name == NAMES[0] else ""
            script = _SCRIPT.format(python=shlex.quote(sys.executable), name=name, first=first)
            write_whole(path, script, mode=_EXECUTABLE)
    except OSError as error:
        raise SimkitError(f"the executables cannot be written to {folder}: {error}") from error
    return folder


def serve_arguments(given: Sequence[str]) -> list[str]:
    """The arguments of ``simkit serve`` for those of kube-apiserver, as envtest gives them.

    Certificates that envtest has put into the folder of certificates are the server's own. No controllers run, since
    there is no kube-controller-manager: tests write the status of workloads, and namespaces are never gone.

    Examples
    --------
    >>> serve_arguments(["--secure-port=8443", "--etcd-servers=http://127.0.0.1:2379"])
    ['--controllers=', '--secure-port=8443']
    """
    found = ["--controllers=", *(each for each in given if not each.startswith(_DROPPED))]
    folder = next((each.partition("=")[2] for each in given if each.startswith("--cert-dir=")), "")
    certificate, key = Path(folder, "apiserver.crt"), Path(folder, "apiserver.key")
    named = any(each.startswith("--tls-cert-file") for each in given)
    if folder and not named and certificate.exists() and key.exists():
        # The server would put certificates of its own authority in their place.
        kept = [Path(folder, f"given-{each.name}") for each in (certificate, key)]
        for source, target in zip((certificate, key), kept, strict=True):
            write_whole(target, source.read_bytes(), mode=PRIVATE)
        found += [f"--tls-cert-file={kept[0]}", f"--tls-private-key-file={kept[1]}"]
    return found


class _Health(BaseHTTPRequestHandler):
    """Says that it is well, which is all that envtest asks of etcd."""

    def do_GET(self) -> None:
        body = b'{"health":"true","reason":""}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


def stand_for_etcd(given: Sequence[str]) -> int:
    """Answer health checks at the address for clients until a signal comes; with ``--help``, print the flags."""
    if {"--help", "-h"} & set(given):
        print(_ETCD_HELP, end="")
        return 0
    urls = [each.partition("=")[2] for each in given if each.startswith("--listen-client-urls=")]
    address = urlsplit(urls[0].split(",")[0] if urls else "http://127.0.0.1:2379")
    server = ThreadingHTTPServer((address.hostname or "127.0.0.1", address.port or 2379), _Health)

    def stop(*_: object) -> None:
        threading.Thread(target=server.shutdown, daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    host, port = server.server_address[:2]
    # Old envtest, such as that of controller-runtime 0.6, waits for this line; later ones ask for the health.
    print(
        f"serving insecure client requests on {host!s}:{port}, this is strongly discouraged!",
        file=sys.stderr,
        flush=True,
    )
    with server:
        server.serve_forever()
    return 0


def main(arguments: Sequence[str]) -> int:
    """Run one of the stand-ins; gives back its exit code."""
    name, *given = arguments
    if name == "etcd":
        return stand_for_etcd(given)
    from simkit.cli import main as simkit

    return simkit(["serve", *serve_arguments(given)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

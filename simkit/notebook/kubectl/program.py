"""The kubectl of this machine, for a cluster in this process: it talks to a server of the cluster on loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary, finalize

from simkit.meta.clock import SystemClock

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster
    from simkit.engine.http.server import Server

_LONGEST: Final = 60
"""Seconds after which a command is ended."""
_FOLLOWING: Final = 10
"""Seconds after which a command is ended that would follow for ever."""
_FOLLOWS: Final = frozenset({"-w", "--watch", "--watch=true", "--watch-only", "-f", "--follow", "--follow=true"})
_NEEDS_TERMINAL: Final[Mapping[str, str]] = {
    "edit": "print the object with `get KIND NAME -o yaml`, and apply the changed text in a cell with %%apply",
    "attach": "run cluster.serve(kubeconfig=...), and kubectl in a terminal",
    "port-forward": "run cluster.serve(kubeconfig=...), and kubectl in a terminal",
    "proxy": "run cluster.serve(kubeconfig=...), and kubectl in a terminal",
}
"""Commands that outlast a cell or need a terminal, with what to do instead."""


class Ended(NamedTuple):
    """The output of a program, and its exit code."""

    text: str
    code: int


class _Served(NamedTuple):
    server: Server
    kubeconfig: Path


_SERVED: Final[WeakKeyDictionary[Cluster, _Served]] = WeakKeyDictionary()
"""The servers that were started for commands, by their cluster."""


def program_for(cluster: Cluster) -> str | None:
    """The path of kubectl, if it is on this machine and the cluster can be served; None otherwise.

    A cluster on a simulated clock is not served, since kubectl waits in real time.
    """
    if not isinstance(cluster.clock, SystemClock):
        return None
    try:
        import uvicorn  # noqa: F401, without it nothing is served
    except ImportError:
        return None
    return shutil.which("kubectl")


def run(program: str, cluster: Cluster, words: Sequence[str], stdin: str, namespace: str) -> Ended:
    """Run kubectl with these words against a cluster.

    Parameters
    ----------
    namespace
        The namespace of commands that name none.

    Notes
    -----
    The first command starts a server of the cluster on loopback, which ends with the process. A command takes a quarter
    of a second or more. One that follows is ended after ten seconds, any other after a minute.
    """
    if words and words[0] in _NEEDS_TERMINAL:
        return Ended(f"error: {words[0]} does not work in a notebook; next: {_NEEDS_TERMINAL[words[0]]}\n", 1)
    seconds = _FOLLOWING if _follows(words) else _LONGEST
    command = [program, f"--kubeconfig={_served(cluster, namespace).kubeconfig}", *words]
    environment = {**os.environ, "KUBECTL_KUBERC": "false"}
    try:
        done = subprocess.run(  # noqa: S603, the words are those of whoever works in the notebook
            command, input=stdin.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
            env=environment, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as over:
        told = f"stopped after {seconds} seconds, since a cell has to end; next: use kubectl in a terminal\n"
        return Ended((over.output or b"").decode("utf-8", "replace") + told, 0 if seconds == _FOLLOWING else 1)
    return Ended(done.stdout.decode("utf-8", "replace"), done.returncode)


def _follows(words: Sequence[str]) -> bool:
    follow = _FOLLOWS if words[:1] == ["logs"] else _FOLLOWS - {"-f"}
    return bool(follow & set(words[: words.index("--")] if "--" in words else words))


def _served(cluster: Cluster, namespace: str) -> _Served:
    found = _SERVED.get(cluster)
    if found is None:
        folder = Path(mkdtemp(prefix="simkit-kubectl-"))
        path = folder / "kubeconfig"
        found = _SERVED[cluster] = _Served(cluster.serve(kubeconfig=path), path)
        finalize(cluster, _stop, found)
    return found


def _stop(served: _Served) -> None:
    served.server.stop()
    shutil.rmtree(served.kubeconfig.parent, ignore_errors=True)

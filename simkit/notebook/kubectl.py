"""The kubectl of this machine for clusters in this process: it talks to a server of the cluster on loopback."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary, finalize

from simkit.meta.errors import SimkitError
from simkit.meta.visible_text import html_text, visible_lines
from simkit.notebook.suggestions import may_be_suggested

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
_MOST: Final = 200
"""The most words that are offered."""
_QUOTES: Final = "'\""


@dataclass(frozen=True, slots=True)
class Printed:
    """The output of a command, and its exit code. True if that is 0."""

    text: str
    code: int = 0

    def __bool__(self) -> bool:
        return self.code == 0

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text.removesuffix("\n")

    def _repr_html_(self) -> str:
        style = "white-space:pre;overflow-x:auto;line-height:1.3;margin:0"
        return f"<pre style='{style}'>{html_text(self.text)}</pre>"


class _Served(NamedTuple):
    server: Server
    kubeconfig: Path


_SERVED: Final[WeakKeyDictionary[Cluster, _Served]] = WeakKeyDictionary()
"""The servers that were started for commands, by their cluster."""


def kubectl(cluster: Cluster, line: str, stdin: str = "") -> Printed:
    """The output of kubectl for a command line.

    Parameters
    ----------
    line
        The words after ``kubectl``: ``get pods -n dev``.
    stdin
        What ``-f -`` reads.

    Returns
    -------
    Printed
        The text with control characters written out, and the exit code.

    Raises
    ------
    SimkitError
        Where kubectl is not on this machine, or what serves HTTPS is not installed.

    Notes
    -----
    The first command starts a server of the cluster on loopback, which ends with the process. A command takes a quarter
    of a second or more. One that follows is ended after ten seconds, any other after a minute.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        return Printed(f"error: {error}\n", 1)
    if words and words[0] in _NEEDS_TERMINAL:
        return Printed(f"error: {words[0]} does not work in a notebook; next: {_NEEDS_TERMINAL[words[0]]}\n", 1)
    seconds = _FOLLOWING if _follows(words) else _LONGEST
    try:
        done = _run(cluster, words, seconds, stdin=stdin, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired as over:
        told = f"stopped after {seconds} seconds, since a cell has to end; next: use kubectl in a terminal\n"
        text = (over.output or b"").decode("utf-8", "replace")
        return Printed(visible_lines(text + told), 0 if seconds == _FOLLOWING else 1)
    return Printed(visible_lines(done.stdout.decode("utf-8", "replace")), done.returncode)


def completions(cluster: Cluster, line: str, begun: str) -> list[str]:
    """The words that kubectl offers in a line such as ``%kubectl get po``, of which ``begun`` is begun."""
    words = line.split()[1:]
    done = words[:-1] if begun and words and line.endswith(words[-1]) else words
    if any(mark in line for mark in _QUOTES):
        return []
    try:
        answer = _run(cluster, ["__complete", *done, begun], _FOLLOWING, stderr=subprocess.DEVNULL)
    except (SimkitError, subprocess.TimeoutExpired):
        return []
    offered = (each.partition("\t")[0] for each in answer.stdout.decode("utf-8", "replace").splitlines())
    found = [each for each in offered if each.startswith(begun) and _is_one_word(each, flag=begun.startswith("-"))]
    return sorted(dict.fromkeys(found))[:_MOST]


def _is_one_word(text: str, *, flag: bool) -> bool:
    """True for a word that can be seen and that a shell takes for one; with ``flag``, also for flags."""
    return shlex.quote(text) == text and may_be_suggested(text.removeprefix("--") if flag else text)


def _run(
    cluster: Cluster, words: Sequence[str], seconds: float, *, stdin: str = "", stderr: int
) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("kubectl")
    if program is None:
        raise SimkitError("kubectl is not on this machine; install it, or use cluster.get, cluster.list, cluster.apply")
    environment = {**os.environ, "KUBECTL_KUBERC": "false", "KUBECONFIG": str(_served(cluster).kubeconfig)}
    return subprocess.run(  # noqa: S603, the words are those of whoever works in the notebook
        [program, *words], input=stdin.encode(), stdout=subprocess.PIPE, stderr=stderr, timeout=seconds,
        env=environment, check=False,
    )  # fmt: skip


def _follows(words: Sequence[str]) -> bool:
    follow = _FOLLOWS if words[:1] == ["logs"] else _FOLLOWS - {"-f"}
    return bool(follow & set(words[: words.index("--")] if "--" in words else words))


def _served(cluster: Cluster) -> _Served:
    found = _SERVED.get(cluster)
    if found is None:
        path = Path(mkdtemp(prefix="simkit-kubectl-")) / "kubeconfig"
        found = _SERVED[cluster] = _Served(cluster.serve(kubeconfig=path), path)
        finalize(cluster, _stop, found)
    return found


def _stop(served: _Served) -> None:
    served.server.stop()
    shutil.rmtree(served.kubeconfig.parent, ignore_errors=True)

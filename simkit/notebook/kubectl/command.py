"""kubectl for clusters in this process: the program of this machine, or the commands that simkit has without it."""

from __future__ import annotations

import argparse
import shlex
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn

from simkit.meta.visible_text import html_text, visible_lines
from simkit.notebook.kubectl import printing, program, reading, writing
from simkit.notebook.kubectl.client import Client, KubectlError

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster


_OWN: Final[Mapping[str, Callable[[Client, Namespace, str], str]]] = {
    "annotate": writing.annotate,
    "api-resources": reading.api_resources,
    "apply": writing.apply,
    "create": writing.create,
    "delete": writing.delete,
    "describe": printing.describe,
    "get": reading.get,
    "label": writing.label,
    "logs": reading.logs,
    "patch": writing.patch,
    "wait": writing.wait,
}
"""The commands that simkit has without kubectl."""
COMMANDS: Final = (
    *_OWN, "api-versions", "auth", "autoscale", "certificate", "config", "cordon", "cp", "diff", "drain", "exec",
    "explain", "expose", "replace", "rollout", "run", "scale", "set", "taint", "top", "uncordon", "version",
)  # fmt: skip
"""The commands that completion offers."""


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


def kubectl(cluster: Cluster, line: str, stdin: str = "", *, namespace: str = "default") -> Printed:
    """The output of kubectl for a command line.

    Parameters
    ----------
    line
        The words after ``kubectl``: ``get pods -n dev``.
    stdin
        What ``-f -`` reads.
    namespace
        The namespace of the context.

    Returns
    -------
    Printed
        The text with control characters written out, and the exit code.

    Notes
    -----
    Where kubectl is on this machine and the cluster's clock is not a simulated one, kubectl runs against a server of
    the cluster on loopback, which the first command starts. Otherwise ``without_program`` answers.

    Examples
    --------
    >>> import simkit
    >>> kubectl(simkit.Cluster(seed=1), "get namespace default -o name")
    namespace/default
    """
    found = program.program_for(cluster)
    if found is None:
        return without_program(cluster, line, stdin, namespace=namespace)
    try:
        words = shlex.split(line)
    except ValueError as error:
        return Printed(f"error: {error}\n", 1)
    ended = program.run(found, cluster, words, stdin, namespace)
    return Printed(visible_lines(ended.text), ended.code)


def without_program(cluster: Cluster, line: str, stdin: str = "", *, namespace: str = "default") -> Printed:
    """The output of a command that simkit has itself: get, describe, apply, create -f, delete, patch and some more."""
    warnings: list[str] = []
    try:
        text, code = _run(cluster, shlex.split(line), stdin, namespace, warnings), 0
    except KubectlError as error:
        text, code = error.text and f"{error.text}\n", error.code
    except ValueError as error:
        text, code = f"error: {error}\n", 1
    return Printed(visible_lines("".join(f"Warning: {each}\n" for each in dict.fromkeys(warnings)) + text), code)


def _run(cluster: Cluster, words: list[str], stdin: str, namespace: str, warnings: list[str]) -> str:
    command = words[0] if words else ""
    if command != "auth" and command not in _OWN:
        known = ", ".join((*_OWN, "auth can-i", "auth whoami"))
        raise KubectlError(
            f'error: "{command}" needs kubectl, which is not on this machine or cannot follow a simulated clock; '
            f"without it simkit has: {known}"
        )
    args = parsed(words[1:] if command != "logs" else words)
    args.words = args.words[1:] if command == "logs" else args.words
    client = Client(cluster, args.namespace or namespace, args.as_, warnings, tuple(args.as_group))
    if command != "auth":
        return _OWN[command](client, args, stdin)
    word, *args.words = args.words or [""]
    if word not in reading.AUTH:
        raise KubectlError(f'error: unknown command "auth {word}"; known: auth can-i, auth whoami')
    return reading.AUTH[word](client, args)


_VALUED = (
    ("-n", "--namespace"), ("-o", "--output"), ("-l", "--selector"), ("-c", "--container"), ("-p", "--patch"),
    ("--sort-by",), ("--timeout",), ("--field-selector",), ("--subresource",), ("--dry-run",), ("--type",),
    ("--api-group",), ("--namespaced",), ("--verbs",), ("--categories",), ("--field-manager",), ("--grace-period",),
    ("--cascade",),
)  # fmt: skip
_REPEATED = (("-f", "--filename"), ("-L", "--label-columns"), ("--as-group",))
_SWITCHES = (
    ("-A", "--all-namespaces"), ("-q", "--quiet"), ("--previous",), ("--timestamps",), ("--list",),
    ("--ignore-not-found",), ("--show-labels",), ("--show-kind",), ("--no-headers",), ("--overwrite",), ("--all",),
    ("--server-side",), ("--force-conflicts",), ("--force",), ("--now",),
)  # fmt: skip


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are kubectl's."""

    def error(self, message: str) -> NoReturn:
        raise KubectlError(f"error: {message}")


@cache
def _parser() -> Any:
    made = _Parser(add_help=False, allow_abbrev=False, prog="kubectl")
    made.add_argument("words", nargs="*")
    for names in _VALUED:
        made.add_argument(*names, default="")
    for names in _REPEATED:
        made.add_argument(*names, action="append", default=[])
    for names in _SWITCHES:
        made.add_argument(*names, action="store_true")
    made.add_argument("--as", dest="as_", default="")
    made.add_argument("--for", dest="for_", default="")
    made.add_argument("--tail", default="-1")
    return made


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The words and flags of a command. Raises KubectlError for a flag that is not known."""
    if words[:1] == ["logs"]:
        words = ["--previous" if word == "-p" else word for word in words]
    switches = {name for names in _SWITCHES for name in names}
    kept = list[str]()
    for word in words:
        flag, _, value = word.partition("=")
        if flag not in switches or value not in ("true", "false"):
            kept.append(word)
        elif value == "true":
            kept.append(flag)
    args, rest = _parser().parse_known_args(kept)
    unknown = [each for each in rest if each.startswith("-")]
    if unknown:
        raise KubectlError(f"error: unknown flag: {unknown[0].partition('=')[0]}")
    if args.as_group and not args.as_:
        raise KubectlError("error: --as-group needs a user; next: --as=NAME --as-group=GROUP")
    args.words = [*args.words, *rest]
    found: argparse.Namespace = args
    return found

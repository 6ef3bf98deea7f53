"""A kubectl for clusters in this process: one line and a text for standard input, to what kubectl would print."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn

from simkit.meta.escaping import html_text
from simkit.notebook.kubectl import (
    approving,
    changing,
    contexts,
    describing,
    diffing,
    draining,
    executing,
    explaining,
    making,
    measuring,
    reading,
    reconciling,
    rollouts,
    scaling,
    tainting,
    waiting,
    writing,
)
from simkit.notebook.kubectl.client import Client, KubectlError

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

READING: Final[dict[str, Callable[[Client, argparse.Namespace], str]]] = {
    "explain": explaining.explain,
    "api-resources": reading.api_resources,
    "logs": reading.logs,
    "patch": writing.patch,
    "label": writing.label,
    "annotate": writing.annotate,
    "scale": writing.scale,
    "rollout": rollouts.rollout,
    "set": changing.set_fields,
    "api-versions": reading.api_versions,
    "wait": waiting.wait,
    "run": making.run,
    "expose": making.expose,
    "cordon": making.cordon,
    "uncordon": making.uncordon,
    "autoscale": scaling.autoscale,
    "taint": tainting.taint,
    "top": measuring.top,
    "drain": draining.drain,
    "config": contexts.config,
    "version": contexts.version,
}
REFUSED: Final = {
    "edit": "a cell is the editor; next: `get KIND NAME -o yaml`, and the changed text in a cell with %%apply",
    **dict.fromkeys(
        ("attach", "cp", "port-forward", "proxy"),
        "it needs a connection that outlasts the cell; next: cluster.serve(kubeconfig=...) and a kubectl in a terminal",
    ),
    "cluster-info": "the cluster has no address; next: cluster.serve() gives it one, and `version` tells its release",
}
"""Commands that cannot be done in a cell, with what to do instead."""
WITH_INPUT: Final[dict[str, Callable[[Client, argparse.Namespace, str], str]]] = {
    "get": reading.get,
    "describe": describing.describe,
    "certificate": approving.certificate,
    "create": writing.create,
    "replace": writing.replace,
    "apply": writing.apply,
    "delete": writing.delete,
    "diff": diffing.diff,
    "exec": executing.execute,
}
_WHICH: Final = (
    'error: You must specify the type of resource to {}. Use "kubectl api-resources" for a complete list of '
)
NAMED: Final = {
    "describe": _WHICH.format("describe") + "supported resources.",
    "explain": _WHICH.format("explain") + "supported resources.",
    "logs": (
        "error: expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\n"
        "POD or TYPE/NAME is a required argument for the logs command\n"
        "See 'kubectl logs -h' for help and examples"
    ),
    "patch": "error: required resource not specified",
    "scale": "error: required resource not specified",
}
"""The error of a command without words."""
COMMANDS: Final = (*WITH_INPUT, *READING, "auth")
"""The commands that are known."""


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


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are kubectl's."""

    def error(self, message: str) -> NoReturn:
        raise KubectlError(f"error: {message}")


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
        The text, standard error after standard output, and the exit code.

    Examples
    --------
    >>> import simkit
    >>> kubectl(simkit.Cluster(seed=1), "auth can-i delete pods --as user:ann")
    no
    """
    warnings: list[str] = []
    try:
        text, code = _run(cluster, shlex.split(line), stdin, namespace, warnings), 0
    except KubectlError as error:
        text, code = error.text and f"{error.text}\n", error.code
    except ValueError as error:
        text, code = f"error: {error}\n", 1
    return Printed("".join(f"Warning: {each}\n" for each in dict.fromkeys(warnings)) + text, code)


def _run(cluster: Cluster, words: list[str], stdin: str, namespace: str, warnings: list[str]) -> str:
    if words and words[0] in REFUSED:
        raise KubectlError(f"error: {words[0]} does not work in a notebook: {REFUSED[words[0]]}")
    words, after = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    if words[:1] == ["logs"]:
        words = ["--previous" if word == "-p" else word for word in words]
    words, off = _without_values(words)
    args, rest = parser().parse_known_args(words)
    args.off = off
    args.after = after
    unknown = [each for each in rest if each.startswith("-")]
    if unknown:
        raise KubectlError(f"error: unknown flag: {unknown[0].partition('=')[0]}")
    args.words = [*args.words, *rest]
    if args.as_group and not args.as_:
        raise KubectlError("error: --as-group needs a user; next: --as=NAME --as-group=GROUP")
    space = args.namespace or contexts.namespace_of(cluster) or namespace
    client = Client(cluster, space, args.as_, warnings, tuple(args.as_group))
    command, *args.words = args.words or [""]
    if command in NAMED and not (args.words or args.filename):
        raise KubectlError(NAMED[command])
    if command == "auth":
        command, *args.words = args.words or [""]
        if command == "reconcile":
            return reconciling.reconcile(client, args, stdin)
        known = {"can-i": reading.can_i, "whoami": reading.whoami}
        if command not in known:
            raise KubectlError(
                f'error: unknown command "auth {command}"; known: auth can-i, auth reconcile, auth whoami'
            )
        return known[command](client, args)
    if command in WITH_INPUT:
        return WITH_INPUT[command](client, args, stdin)
    if command not in READING:
        raise KubectlError(f'error: unknown command "{command}" for "kubectl"; known: {", ".join(COMMANDS)}')
    return READING[command](client, args)


def _without_values(words: list[str]) -> tuple[list[str], set[str]]:
    """Words with ``--flag=true`` as ``--flag``, without ``--flag=false``; and the flags that are switched off."""
    switches = {name for each in parser()._actions if each.nargs == 0 for name in each.option_strings}
    kept, off = [], set()
    for word in words:
        flag, _, value = word.partition("=")
        if flag not in switches or value not in ("true", "false"):
            kept.append(word)
        elif value == "true":
            kept.append(flag)
        else:
            off.add(flag)
    return kept, off


@cache
def parser() -> argparse.ArgumentParser:
    """The parser of all commands: the flags that one of them has."""
    made: Any = _Parser(add_help=False, allow_abbrev=False, prog="kubectl")
    made.add_argument("words", nargs="*")
    for short, name in (("-n", "--namespace"), ("-o", "--output"), ("-l", "--selector"), ("-c", "--container")):
        made.add_argument(short, name, default="")
    for name in ("--sort-by", "--timeout", "--port", "--target-port", "--name", "--protocol", "--labels", "--restart"):
        made.add_argument(name, default="")
    made.add_argument("--for", dest="for_", default="")
    made.add_argument("--from", dest="from_", default="")
    for name in ("--min", "--max", "--cpu-percent", "--revision", "--to-revision", "--duration", "--scopes"):
        made.add_argument(name, default="")
    for name in ("--class", "--default-backend", "--clusterip", "--external-name", "--description"):
        made.add_argument(name, default="")
    for name in (
        "--min-available",
        "--max-unavailable",
        "--aggregation-rule",
        "--node-port",
        "--global-default",
        "--categories",
        "--chunk-size",
        "--wait",
    ):
        made.add_argument(name, default="")
    for name in ("--docker-username", "--docker-password", "--docker-server", "--docker-email"):
        made.add_argument(name, default="")
    for name in ("--schedule", "--hard", "--value", "--raw", "--limits", "--requests", "--verbs"):
        made.add_argument(name, default="")
    for name in ("--current-replicas", "--request-timeout", "--grace-period", "--template", "--cert", "--key"):
        made.add_argument(name, default="")
    made.add_argument("-L", "--label-columns", action="append", default=[])
    for name in ("--field-selector", "--subresource", "--dry-run", "--role", "--clusterrole", "--namespaced"):
        made.add_argument(name, default="")
    made.add_argument("--as", dest="as_", default="")
    made.add_argument("-p", "--patch", default="")
    made.add_argument("--type", default="")
    made.add_argument("--replicas", default="")
    made.add_argument("--tail", default="-1")
    made.add_argument("--api-group", default=None)
    for name in (
        "--from-literal",
        "--from-file",
        "--from-env-file",
        "--env",
        "--image",
        "--verb",
        "--resource",
        "--resource-name",
        "--user",
        "--group",
        "--serviceaccount",
        "--as-group",
        "--audience",
        "--annotation",
        "--rule",
        "--tcp",
        "--non-resource-url",
    ):
        made.add_argument(name, action="append", default=[])
    made.add_argument("-f", "--filename", action="append", default=[])
    made.add_argument("-A", "--all-namespaces", action="store_true")
    made.add_argument("-w", "--watch", action="store_true")
    made.add_argument("-q", "--quiet", action="store_true")
    made.add_argument("-i", "--stdin", action="store_true")
    made.add_argument("-t", "--tty", action="store_true")
    for name in ("--resolve", "--previous", "--timestamps", "--all-containers", "--prefix"):
        made.add_argument(name, action="store_true")
    for name in ("--watch-only", "--force", "--recursive", "--current", "--client", "--minify"):
        made.add_argument(name, action="store_true")
    for name in ("--ignore-daemonsets", "--delete-emptydir-data", "--disable-eviction"):
        made.add_argument(name, action="store_true")
    for name in ("--remove-extra-permissions", "--remove-extra-subjects"):
        made.add_argument(name, action="store_true")
    for name in ("--list", "--command", "--ignore-not-found", "--containers", "--show-kind"):
        made.add_argument(name, action="store_true")
    for name in ("--show-labels", "--no-headers", "--overwrite", "--all", "--server-side", "--force-conflicts"):
        made.add_argument(name, action="store_true")
    parsed: argparse.ArgumentParser = made
    return parsed

"""kubectl exec in a container of a simulated node, without a terminal.

Upstream: k8s.io/kubectl/pkg/cmd/exec/exec.go, release 1.32.
"""

from __future__ import annotations

import time
from argparse import Namespace
from typing import Any, Final
from urllib.parse import urlencode

from simkit.meta.clock import SystemClock
from simkit.meta.objects import at
from simkit.notebook.kubectl.client import Client, KubectlError, after
from simkit.notebook.kubectl.pod_of import container_of, pods_of
from simkit.notebook.kubectl.waiting import seconds_of

_USAGE: Final = (
    "error: exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead\n"
    "See 'kubectl exec -h' for help and examples"
)
_NO_TERMINAL: Final = "Unable to use a TTY - input is not a terminal or the right kind of file\n"
_SECONDS: Final = "10s"
"""The time that a command may take unless ``--request-timeout`` says otherwise."""
_PAUSE: Final = 0.05
_LOOKS: Final = 10_000
"""The looks at an endless command on a simulated clock, where its pauses take no time."""


def execute(client: Client, args: Namespace, stdin: str) -> str:
    """The output of a command in a container; with ``-i`` the cell is its input. A cell is no terminal.

    Raises KubectlError with the command's exit code, and for one that does not end within ``--request-timeout``.
    """
    if len(args.words) > 1:
        raise KubectlError(_USAGE)
    if not args.words:
        raise KubectlError("error: pod, type/name or --filename must be specified")
    if not args.after:
        raise KubectlError("error: you must specify at least one command for the container")
    pod = pods_of(client, args.words[0])[0]
    phase = at(pod, "status", "phase")
    if phase in ("Succeeded", "Failed"):
        raise KubectlError(f"error: cannot exec into a container in a completed pod; current phase is {phase}")
    container, chosen = container_of(pod, args.container)
    told = "" if args.quiet else chosen
    told += _NO_TERMINAL if args.tty and args.stdin else ""
    with after(told):
        process = _opened(client, pod, container, args)
    if args.stdin:
        process.feed(stdin.encode())
        process.end_input()
    seconds = seconds_of(args.request_timeout, _SECONDS, "--request-timeout")
    output, ended = _run(process, seconds, waits=isinstance(client.cluster.clock, SystemClock))
    text = output["stdout"] + told + output["stderr"]
    if not ended:
        raise KubectlError(f"{text}error: the command has not ended; next: --request-timeout=60s gives it more time")
    if process.failure:
        what = f"Internal error occurred: error executing command in container: {process.failure}"
        raise KubectlError(f"{text}error: {what}")
    if process.exit_code:
        raise KubectlError(f"{text}command terminated with exit code {process.exit_code}", process.exit_code)
    return text


def _opened(client: Client, pod: Any, container: str, args: Namespace) -> Any:
    """The process that the server starts. Raises KubectlError with its refusal."""
    query = [("container", container), *(("command", word) for word in args.after)]
    query += [("stdout", "true"), ("stderr", "true"), *([("stdin", "true")] if args.stdin else [])]
    path = client.path(client.resource("pods"), client.namespace, pod["metadata"]["name"], "exec")
    headers = {"connection": "Upgrade", "upgrade": "SPDY/3.1"}
    return client.ask("POST", f"{path}?{urlencode(query)}", headers=headers).upgrade.process


def _run(process: Any, seconds: float, *, waits: bool) -> tuple[dict[str, str], bool]:
    """The output of a process on both streams within a time, and True if it has ended."""
    output, ends = {"stdout": b"", "stderr": b""}, time.monotonic() + seconds
    for _ in range(_LOOKS):
        for stream, data in process.poll():
            output[stream] += data
        if process.exit_code is not None or process.pause() is None or (waits and time.monotonic() > ends):
            break
        if waits:
            time.sleep(min(process.pause() or 0.0, _PAUSE))
    return {name: data.decode("utf-8", "replace") for name, data in output.items()}, process.exit_code is not None

"""What simulated nodes and controllers of a fork have done: pods that run, what commands print, steps of others."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from simkit.analysis.escalation.prove.proving_fork import NotExecutable, ProvingFork
from simkit.analysis.escalation.prove.session import reviewed
from simkit.analysis.escalation.prove.variables import body_of, fill_path
from simkit.analysis.escalation.table.primitive import Operation
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.identity import administrator
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object, at, name_of

if TYPE_CHECKING:
    from simkit.analysis.escalation.prove.attacker import Attacker

_ATTACKERS_PODS: Final = ("pod", "privileged-pod")
_UNTIL_CRON_JOBS_RUN: Final = 61
"""Seconds after which images are pulled too."""


class RunningPods:
    """The pods of a fork as its simulated nodes run them; without such nodes none runs.

    Parameters
    ----------
    sandbox
        The fork.
    """

    def __init__(self, sandbox: ProvingFork) -> None:
        self._sandbox, self._runner = sandbox, sandbox.runner

    def settle(self) -> bool:
        """Let controllers and kubelets do what is to be done; False without simulated nodes."""
        if self._runner is None:
            return False
        self._runner.settle()
        return True

    def log(self, namespace: str, pod: str, container: str = "") -> tuple[str, Response]:
        """The request of an administrator for what a container has printed, and the answer.

        Notes
        -----
        While the container has not started, time goes on until its image is pulled, if the clock is a simulated one.
        """
        chosen = f"?container={container}" if container else ""
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log{chosen}"
        request = Request.of("GET", path)
        answer = self._sandbox.perform(request, identity=administrator())
        if not (answer.succeeded and answer.body) and self._has_waited():
            answer = self._sandbox.perform(request, identity=administrator())
        return path, answer

    def of_workload(self, operation: Operation, values: Mapping[str, Any]) -> Object | None:
        """The running pod of the attacker's workload, in place of the one that an operation would create.

        Notes
        -----
        Where there is none yet, time goes on until cron jobs have run, if the clock is a simulated one.
        """
        if self._runner is None or operation.body not in _ATTACKERS_PODS:
            return None
        wanted = body_of(operation.body, values)["spec"]["containers"][0]
        found = self._made_by_workload(values, wanted)
        if found is None and self._has_waited():
            found = self._made_by_workload(values, wanted)
        return found

    def _has_waited(self) -> bool:
        """Let time go on; False where only the machine's clock can."""
        if self._runner is None:
            return False
        try:
            self._runner.advance(_UNTIL_CRON_JOBS_RUN)
        except SimkitError:  # the clock is the machine's
            return False
        return True

    def _made_by_workload(self, values: Mapping[str, Any], wanted: Mapping[str, Any]) -> Object | None:
        """A running pod whose name begins with the workload's, and that runs the attacker's container."""
        answer = self._sandbox.perform(
            Request.of("GET", f"/api/v1/namespaces/{values['namespace']}/pods"), identity=administrator()
        )
        prefix = f"{values.get('workload') or values['fresh']}-"
        for pod in answer.object.get("items") or () if answer.succeeded else ():
            first = at(pod, "spec", "containers", 0) or {}
            same = all(first.get(key) == wanted.get(key) for key in ("image", "command"))
            owned = bool(at(pod, "metadata", "ownerReferences"))
            if same and owned and name_of(pod).startswith(prefix) and at(pod, "status", "phase") == "Running":
                found: Object = pod
                return found
        return None


PRINTED: Final = "a token that a command has printed"
WRITTEN: Final = "a token that the token controller has written"
_READER: Final = "an administrator, who looks at what the attacker's container prints"


def has_happened(attacker: Attacker, operation: Operation) -> bool:
    """True if an operation of another actor has really been done on the fork; its result is then the attacker's."""
    ran = attacker.running.settle()
    if operation.by == "kubelet" and operation.take:
        return _has_output(attacker, operation)
    if not ran:
        return False
    if operation.by == "token-controller":
        return _has_written_token(attacker)
    if operation.by == "controller" and operation.accept and isinstance(operation.body, dict):
        path = f"{fill_path(operation.do, attacker.values).partition(' ')[2]}/{name_of(operation.body)}"
        return attacker.session.sandbox.perform(Request.of("GET", path), identity=administrator()).succeeded
    if operation.by == "controller" and operation.do:
        pod = attacker.running.of_workload(operation, attacker.values)
        if pod is not None:
            attacker.values |= {"pod": name_of(pod), "pod_uid": at(pod, "metadata", "uid") or ""}
            attacker.session.note(f"pod {name_of(pod)} runs", "")
        return pod is not None
    return False


def _has_output(attacker: Attacker, operation: Operation) -> bool:
    """True if a container has printed the credential."""
    place = attacker.values["namespace"], attacker.values["pod"]
    if operation.output:
        see_output(attacker, secret=operation.take == "secret")
    printed = attacker.session.printed.get(place)
    if not printed:
        return False
    if operation.take == "token":
        token = reviewed(attacker.session.sandbox, printed, PRINTED)
        if token is None:
            return False
        attacker.session.note(f"has the token of pod {place[1]}", "")
        attacker.session.obtain(token)
    return True


def see_output(attacker: Attacker, container: str = "", *, secret: bool = False) -> None:
    """Keep what a container of the attacker has printed, if a simulated node runs it and it is a credential."""
    place = attacker.values["namespace"], attacker.values["pod"]
    if not attacker.running.settle():
        return
    path, answer = attacker.running.log(*place, container)
    if not answer.succeeded or answer.stream is not None:
        return
    printed = answer.body.decode("utf-8", "replace").strip()
    if printed and (_is_mounted(attacker) if secret else reviewed(attacker.session.sandbox, printed, PRINTED)):
        attacker.session.printed[place] = printed
        attacker.session.keep(answer, f"GET {path}", "the script has read it", _READER)


def _is_mounted(attacker: Attacker) -> bool:
    """True if the pod runs, which it does not before its secret is mounted."""
    namespace, pod = attacker.values["namespace"], attacker.values["pod"]
    found = attacker.session.stored(f"/api/v1/namespaces/{namespace}/pods/{pod}")
    return bool(at(found, "status", "phase") == "Running")


def _has_written_token(attacker: Attacker) -> bool:
    """True if the token controller has filled the attacker's secret."""
    namespace, name = attacker.values["namespace"], attacker.values["fresh"]
    try:
        secret = attacker.session.stored(f"/api/v1/namespaces/{namespace}/secrets/{name}")
    except NotExecutable:
        return False
    written = b64decode(at(secret, "data", "token") or "").decode("utf-8", "replace")
    token = reviewed(attacker.session.sandbox, written, WRITTEN) if written else None
    if token is None:
        return False
    attacker.session.note(f"secret {name} has a token", "")
    attacker.session.obtain(token)
    return True


_OPENED: Final = 101
_MOST_TURNS: Final = 100
_REQUEST: Final = b"GET / HTTP/1.1\r\nHost: pod\r\nConnection: close\r\n\r\n"


class _Process(Protocol):
    """The process behind a connection."""

    @property
    def exit_code(self) -> int | None: ...

    def poll(self) -> Sequence[tuple[str, bytes]]: ...

    def feed(self, data: bytes) -> None: ...


def output_of(answer: Response, given: str = "") -> str | None:
    """The output of a command that ran to its end without a fault; None where none ran.

    Parameters
    ----------
    answer
        That to the request which ran the command.
    given
        A line that is typed to a process which goes on after it.

    Examples
    --------
    >>> output_of(Response(200, b"root\\n")), output_of(Response(503, b"no route to host"))
    ('root', None)
    """
    if answer.status != _OPENED:
        return answer.body.decode("utf-8", "replace").strip() if answer.succeeded else None
    process = _process_of(answer)
    if process is None:
        return None
    if given:
        list(_printed(process))  # what was printed before answers no line
        process.feed(given.encode())
    printed = b"".join(_printed(process)).decode("utf-8", "replace").strip()
    return printed if process.exit_code == 0 or (given and process.exit_code is None) else None


def is_carried_out(answer: Response, port: int = 80) -> bool:
    """True if what a request asks of a node or pod is done: it is answered, a command has ended, or a port answers.

    Examples
    --------
    >>> is_carried_out(Response(200, b"a line of the log")), is_carried_out(Response(503, b"no route to host"))
    (True, False)
    """
    if answer.status != _OPENED:
        return answer.succeeded
    process, listener = _process_of(answer), getattr(answer.upgrade, "handler", None)
    if listener is not None:
        try:
            return bool(listener(port)(_REQUEST))
        except StatusError:  # nothing listens there
            return False
    return process is not None and process.exit_code is not None


def _process_of(answer: Response) -> _Process | None:
    found: _Process | None = getattr(answer.upgrade, "process", None)
    return found


def _printed(process: _Process) -> Iterator[bytes]:
    for _ in range(_MOST_TURNS):
        yield from (data for stream, data in process.poll() if stream == "stdout")
        if process.exit_code is not None:
            return

"""Steps of others that need not be played, since simulated nodes and controllers of the fork have taken them."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Final

from simkit.analysis.escalation.prove.credentials import reviewed
from simkit.analysis.escalation.prove.proving_fork import NotExecutable
from simkit.analysis.escalation.prove.templates import fill
from simkit.analysis.escalation.table.primitive import Operation
from simkit.meta.objects import at, name_of

if TYPE_CHECKING:
    from simkit.analysis.escalation.prove.attacker import Attacker

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
    if operation.by == "controller" and operation.accept:
        path = fill(operation.do, attacker.values).partition(" ")[2]
        return isinstance(operation.body, dict) and attacker.running.exists(f"{path}/{name_of(operation.body)}")
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

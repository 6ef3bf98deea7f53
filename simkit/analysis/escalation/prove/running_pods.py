"""The running pods of a fork with simulated nodes, in place of pods that another actor would be played to make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.analysis.escalation.prove.proving_fork import ProvingFork
from simkit.analysis.escalation.prove.templates import body_of
from simkit.analysis.escalation.table.primitive import Operation
from simkit.meta.errors import SimkitError
from simkit.meta.identity import administrator
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object, at, name_of

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

    def exists(self, path: str) -> bool:
        """True if there is an object at a path."""
        return self._sandbox.perform(Request.of("GET", path), identity=administrator()).succeeded

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

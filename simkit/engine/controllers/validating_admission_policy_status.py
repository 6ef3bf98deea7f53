"""Type-checks the expressions of ValidatingAdmissionPolicies and writes warnings into their status.

Upstream: pkg/controller/validatingadmissionpolicystatus, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import quote

from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.one_by_one import one_by_one
from simkit.engine.seams import Change
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.message import Request
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, metadata, name_of
from simkit.schema.catalogue import Catalogue
from simkit.snapshot.protocol import Snapshot

_POLICIES: Final = GroupResource(ADMISSION_GROUP, "validatingadmissionpolicies")
_MANAGER: Final = "validatingadmissionpolicy-status"


class PolicyStatusController:
    """Checks each generation of a policy once, against the kinds that its rules name."""

    name = "validatingadmissionpolicy-status-controller"
    account = "validatingadmissionpolicy-status-controller"
    next_time: float | None = None

    def __init__(self, catalogue: Callable[[], Catalogue]) -> None:
        self._catalogue = catalogue

    def concerns(self, change: Change) -> bool:
        """A policy that was written."""
        return change.entry.key.resource == _POLICIES and change.type != "DELETED"

    def reset_backoff(self) -> None:
        """Nothing is remembered."""

    def resume_from(self, other: Any) -> None:
        """Nothing is remembered that a fork would have to know."""

    def sync(self, client: Client, snapshot: Snapshot, changes: Sequence[Change] | None = None) -> None:
        """Check the policies whose present generation was not checked yet."""

        def check(policy: Object) -> None:
            generation = metadata(policy).get("generation") or 0
            if generation > (at(policy, "status", "observedGeneration") or 0):
                client.perform(self._report(policy, generation))

        one_by_one(list(snapshot.scan(_POLICIES)), check)

    def _report(self, policy: Object, generation: int) -> Request:
        from simkit.logic.policy.typecheck import expression_warnings

        warnings = expression_warnings(policy, self._catalogue())
        checking = {"expressionWarnings": warnings} if warnings else {}
        body = {
            "apiVersion": f"{ADMISSION_GROUP}/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name_of(policy)},
            "status": {"observedGeneration": generation, "typeChecking": checking},
        }
        path = f"/apis/{ADMISSION_GROUP}/v1/{_POLICIES.resource}/{quote(name_of(policy))}/status"
        target = f"{path}?fieldManager={_MANAGER}&force=true"
        return Request.of("PATCH", target, body, content_type="application/apply-patch+yaml")

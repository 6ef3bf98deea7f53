"""Type-checks the expressions of ValidatingAdmissionPolicies and writes warnings into their status.

Upstream: pkg/controller/validatingadmissionpolicystatus, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final
from urllib.parse import quote

from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister
from simkit.engine.seams import Change
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, metadata, name_of
from simkit.schema.catalogue import Catalogue

_POLICIES: Final = GroupResource(ADMISSION_GROUP, "validatingadmissionpolicies")
_MANAGER: Final = "validatingadmissionpolicy-status"


class PolicyStatusController:
    """Checks each generation of a policy once, against the kinds that its rules name."""

    name = "validatingadmissionpolicy-status-controller"
    account = "validatingadmissionpolicy-status-controller"
    watches: frozenset[GroupResource] = frozenset()

    def __init__(self, catalogue: Callable[[], Catalogue]) -> None:
        self._catalogue = catalogue

    def concerns(self, change: Change) -> bool:
        """True for policies that were written."""
        return change.entry.key.resource == _POLICIES and change.type != "DELETED"

    def resume_from(self, other: Any) -> None:
        """No effect: a fork needs no state."""

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return (change.entry.key,)

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return [Key(_POLICIES, "", name_of(policy)) for policy in lister.scan(_POLICIES)]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> float | None:
        """Check a policy whose present generation was not checked yet."""
        policy = lister.get(key)
        generation = metadata(policy).get("generation") or 0 if policy is not None else 0
        if policy is not None and generation > (at(policy, "status", "observedGeneration") or 0):
            client.perform(self._report(policy, generation))
        return None

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

"""Writes of pods and workloads that a log shows, as far as the objects are still there to tell what was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from simkit.analysis.escalation.cut.policies import RefuseAccounts
from simkit.analysis.escalation.find.pod_specs import POD_SPECS, account_named
from simkit.analysis.least_privilege.recorded_access import Action
from simkit.analysis.rbac.subject import identity_of
from simkit.logic.rbac.binding import GROUP
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.seams.snapshot import Sandbox, Snapshot

Use = tuple[Identity, Action]
_WRITES: Final = ("create", "update", "patch")
_OF_SERVERS: Final = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "ownerReferences", "selfLink")
_PATCH: Final = "application/merge-patch+json"


class RecordedWrite(NamedTuple):
    """A write that a log shows, with the object as it is now; None where it is not there, or has no recorded name."""

    use: Use
    obj: Object | None

    def runs_as(self, accounts: Iterable[str]) -> bool:
        """True if the pods of the object run as one of some accounts."""
        resource = GroupResource(self.use[1].api_group, self.use[1].resource)
        return self.obj is not None and account_named(self.obj, POD_SPECS[resource]) in accounts


def writes_of(one: RefuseAccounts, used: Iterable[Use], snapshot: Snapshot) -> Iterator[RecordedWrite]:
    """The writes of a subject that an admission policy looks at."""
    for use in used:
        identity, action = use
        concerned = (
            one.subject.name in identity.groups
            if one.subject.kind == GROUP
            else identity.user == identity_of(one.subject).user
        )
        if concerned and action.namespace == one.namespace and makes_pods(action):
            yield RecordedWrite(use, written(action, snapshot))


def makes_pods(action: Action) -> bool:
    """True if an action writes a pod, or what makes pods."""
    resource = GroupResource(action.api_group, action.resource)
    return resource in POD_SPECS and action.verb in _WRITES and not action.subresource


def written(action: Action, snapshot: Snapshot) -> Object | None:
    """The object that an action wrote, as it is now."""
    resource = GroupResource(action.api_group, action.resource)
    if not action.name or resource not in snapshot.captured():
        return None
    return snapshot.get(resource, action.name, action.namespace)


def passes(sandbox: Sandbox, use: Use, obj: Object) -> bool:
    """True if a cluster takes the same write of an object again, as a trial; a creation under another name."""
    identity, action = use
    api = f"/apis/{action.api_group}/v1" if action.api_group else "/api/v1"
    path = f"{api}/namespaces/{action.namespace}/{action.resource}"
    metadata: Mapping[str, Any] = obj.get("metadata") or {}
    body = {**obj, "metadata": {name: value for name, value in metadata.items() if name not in _OF_SERVERS}}
    if action.verb == "create":
        body["metadata"]["name"] = f"{action.name[:200]}-again"
        request = Request.of("POST", f"{path}?dryRun=All", body)
    elif action.verb == "update":
        request = Request.of("PUT", f"{path}/{action.name}?dryRun=All", body)
    else:
        request = Request.of("PATCH", f"{path}/{action.name}?dryRun=All", {}, content_type=_PATCH)
    return sandbox.perform(request, identity=identity).succeeded

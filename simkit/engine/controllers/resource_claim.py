"""Makes the resource claims of pods from templates, and frees those that no pod uses any more.

Upstream: pkg/controller/resourceclaim, release 1.34.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from simkit.client.controller import Client
from simkit.client.event_recorder import EventRecorder
from simkit.client.lister import Lister, is_terminating, uid_of
from simkit.client.requests import create, expect, key_of, keys_of, path_to, remove, replace
from simkit.client.resource_watcher import ResourceWatcher
from simkit.client.resources import CLAIM_TEMPLATES, PODS, RESOURCE_CLAIMS
from simkit.client.work_queue import RequeueError
from simkit.logic.workloads.pods import has_ended, owner_reference
from simkit.logic.workloads.resource_claims import CLAIM_FINALIZER, claim_name
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import Clock
from simkit.meta.domain import api_group, label
from simkit.meta.fielderror import quoted
from simkit.meta.message import Request
from simkit.meta.names import Key
from simkit.meta.objects import Object, annotations_of, at, controller_of, labels_of, metadata, name_of, namespace_of
from simkit.seams import Change

_POD_CLAIM: Final = label("pod-claim-name", "resource")
_MANAGER: Final = "ResourceClaimController"
_LONGEST_BASE: Final = 57


class ResourceClaimController(ResourceWatcher):
    """Pods get a claim for each template that they name; a claim without users loses its devices.

    Parameters
    ----------
    behaviour
        What the release does: without dynamic resource allocation, nothing happens.
    """

    name = "resourceclaim-controller"
    account = "resource-claim-controller"

    def __init__(self, clock: Clock, behaviour: ServedBehaviour) -> None:
        super().__init__(PODS, RESOURCE_CLAIMS, CLAIM_TEMPLATES)
        self._runs = {"claims-of-devices", "scheduler-allocates-devices"} <= behaviour.ids
        self._admin = "scheduler-allows-admin-access" in behaviour.ids
        self._events = EventRecorder(clock, "resource_claim")

    def concerns(self, change: Change) -> bool:
        return self._runs and super().concerns(change)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        key, obj = change.entry.key, change.entry.object
        if key.resource == PODS:
            return _keys_of_pod(obj)
        if key.resource == CLAIM_TEMPLATES:
            return keys_of(PODS, [each for each in lister.scan(PODS, key.namespace) if _names(each, key.name)])
        owner = controller_of(obj) or {}
        gone = change.type == "DELETED" and owner.get("kind") == "Pod"
        return [key, *([Key(PODS, key.namespace, owner["name"])] if gone else ())]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        if not self._runs:
            return []
        pods = [each for each in lister.scan(PODS) if at(each, "spec", "resourceClaims")]
        return [*keys_of(PODS, pods), *keys_of(RESOURCE_CLAIMS, lister.scan(RESOURCE_CLAIMS))]

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        obj = lister.get(key)
        if obj is None:
            return
        if key.resource == RESOURCE_CLAIMS:
            self._sync_claim(client, lister, obj)
        elif not is_terminating(obj) and not has_ended(obj):
            self._sync_pod(client, lister, obj)

    # Pods

    def _sync_pod(self, client: Client, lister: Lister, pod: Object) -> None:
        names: dict[str, str] = {}
        for reference in at(pod, "spec", "resourceClaims") or ():
            try:
                made = self._claim_for(client, lister, pod, reference)
            except RequeueError as error:
                text = f"PodResourceClaim {reference.get('name')}: {error}"
                self._events.event(client, pod, "FailedResourceClaimCreation", text, warning=True)
                raise
            if made:
                names[reference["name"]] = made
        if names:
            self._tell(client, pod, names)
        if at(pod, "spec", "nodeName"):
            self._reserve(client, lister, pod)

    def _claim_for(self, client: Client, lister: Lister, pod: Object, reference: Mapping[str, Any]) -> str:
        """The name of a claim that was made, or found, for a pod that does not tell it yet; empty where none is due."""
        template_name, known = reference.get("resourceClaimTemplateName"), claim_name(pod, reference)
        if not template_name or known == "":
            return ""
        present = lister.get(Key(RESOURCE_CLAIMS, namespace_of(pod), known)) if known else None
        if present is not None and _is_of(present, pod):
            return ""
        for each in lister.controlled(RESOURCE_CLAIMS, namespace_of(pod), uid_of(pod)):
            if annotations_of(each).get(_POD_CLAIM) == reference["name"]:
                return name_of(each)
        template = lister.get(Key(CLAIM_TEMPLATES, namespace_of(pod), template_name))
        if template is None:
            missing = f"resourceclaimtemplate.{api_group('resource')} {quoted(template_name)} not found"
            raise RequeueError(f"resource claim template {quoted(template_name)}: {missing}")
        if not self._admin and _needs_admin(template):
            raise RequeueError("admin access is requested, but the feature is disabled")
        wanted = _claim(pod, reference["name"], template)
        response = create(client, RESOURCE_CLAIMS, namespace_of(pod), wanted)
        if not response.succeeded:
            raise RequeueError(f"create ResourceClaim : {response.object['message']}")
        return name_of(response.object)

    def _tell(self, client: Client, pod: Object, names: Mapping[str, str]) -> None:
        """Apply the names of claims to the status of their pod; those that it tells already stay."""
        told = {
            each["name"]: each.get("resourceClaimName") for each in at(pod, "status", "resourceClaimStatuses") or ()
        }
        statuses = [{"name": name, "resourceClaimName": claim} for name, claim in (told | dict(names)).items()]
        meta = {"name": name_of(pod), "namespace": namespace_of(pod)}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "status": {"resourceClaimStatuses": statuses}}
        target = f"{path_to(PODS, pod, 'status')}?fieldManager={_MANAGER}&force=true"
        expect(client.perform(Request.of("PATCH", target, body, content_type="application/apply-patch+yaml")), 404)

    def _reserve(self, client: Client, lister: Lister, pod: Object) -> None:
        """Reserve allocated claims for a pod that has its node from somebody else than the scheduler."""
        for reference in at(pod, "spec", "resourceClaims") or ():
            named = claim_name(pod, reference)
            claim = lister.get(Key(RESOURCE_CLAIMS, namespace_of(pod), named)) if named else None
            status = (claim or {}).get("status") or {}
            users = status.get("reservedFor") or ()
            if claim is None or not status.get("allocation") or any(each["uid"] == uid_of(pod) for each in users):
                continue
            user = {"resource": "pods", "name": name_of(pod), "uid": uid_of(pod)}
            _write_status(client, claim, {**status, "reservedFor": [*users, user]})

    # Claims

    def _sync_claim(self, client: Client, lister: Lister, claim: Object) -> None:
        status = claim.get("status") or {}
        users = status.get("reservedFor") or ()
        left = [each for each in users if _stays(each, claim, lister)]
        if len(left) < len(users):
            kept = {name: value for name, value in status.items() if name not in ("reservedFor", "allocation")}
            freed = not left and CLAIM_FINALIZER in (metadata(claim).get("finalizers") or ())
            allocation = {} if freed or not status.get("allocation") else {"allocation": status["allocation"]}
            claim = _write_status(client, claim, {**kept, **allocation, **({"reservedFor": left} if left else {})})
            if freed:
                claim = _without_finalizer(client, claim)
        elif not left and is_terminating(claim) and CLAIM_FINALIZER in (metadata(claim).get("finalizers") or ()):
            if status.get("allocation"):
                kept = {name: value for name, value in status.items() if name != "allocation"}
                claim = _write_status(client, claim, kept)
            claim = _without_finalizer(client, claim)
        if not left:
            _remove_unused(client, lister, claim)


def _keys_of_pod(pod: Object) -> list[Key]:
    """A pod that names claims, and those claims."""
    references = at(pod, "spec", "resourceClaims") or ()
    extended = at(pod, "status", "extendedResourceClaimStatus", "resourceClaimName")
    if not references and not extended:
        return []
    names = [extended, *(claim_name(pod, each) for each in references)]
    return [key_of(PODS, pod), *(Key(RESOURCE_CLAIMS, namespace_of(pod), each) for each in names if each)]


def _names(pod: Object, template: str) -> bool:
    return any(each.get("resourceClaimTemplateName") == template for each in at(pod, "spec", "resourceClaims") or ())


def _is_of(claim: Object, pod: Object) -> bool:
    return (controller_of(claim) or {}).get("uid") == uid_of(pod)


def _needs_admin(template: Object) -> bool:
    requests = at(template, "spec", "spec", "devices", "requests") or ()
    return any(at(each, "exactly", "adminAccess") for each in requests)


def _claim(pod: Object, reference: str, template: Object) -> dict[str, Any]:
    given = at(template, "spec", "metadata") or {}
    meta: dict[str, Any] = {
        "generateName": _base(name_of(pod), reference),
        "annotations": {**annotations_of({"metadata": given}), _POD_CLAIM: reference},
        "ownerReferences": [owner_reference("v1", "Pod", pod)],
    }
    if given.get("labels"):
        meta["labels"] = dict(labels_of({"metadata": given}))
    api_version = f"{RESOURCE_CLAIMS.group}/v1"
    return {"apiVersion": api_version, "kind": "ResourceClaim", "metadata": meta, "spec": template["spec"]["spec"]}


def _base(pod: str, reference: str) -> str:
    """The beginning of a generated name: both names, each cut in proportion where they are too long.

    Examples
    --------
    >>> _base("web-0", "gpu")
    'web-0-gpu-'
    """
    whole = f"{pod}-{reference}-"
    if len(whole) <= _LONGEST_BASE:
        return whole
    first = pod[: len(pod) * _LONGEST_BASE // len(whole)]
    return f"{first}-{reference[: len(reference) * _LONGEST_BASE // len(f'{first}-')]}"


def _stays(user: Mapping[str, Any], claim: Object, lister: Lister) -> bool:
    """True if whom a claim is reserved for may still need it. Raises RequeueError for what is no pod."""
    if user.get("apiGroup") or user.get("resource") != "pods":
        raise RequeueError(f"unsupported ReservedFor entry: {user}")
    pod = lister.get(Key(PODS, namespace_of(claim), user.get("name", "")))
    return pod is not None and uid_of(pod) == user.get("uid") and not _is_done(pod)


def _is_done(pod: Object) -> bool:
    """True if no container of a pod runs, or will."""
    return has_ended(pod) or (is_terminating(pod) and not at(pod, "spec", "nodeName"))


def _write_status(client: Client, claim: Object, status: Mapping[str, Any]) -> Object:
    found: Object = expect(replace(client, RESOURCE_CLAIMS, {**claim, "status": status}, "status")).object
    return found


def _without_finalizer(client: Client, claim: Object) -> Object:
    left = [each for each in metadata(claim).get("finalizers") or () if each != CLAIM_FINALIZER]
    wanted = {**claim, "metadata": {**metadata(claim), "finalizers": left}}
    found: Object = expect(replace(client, RESOURCE_CLAIMS, wanted), 404).object
    return found


def _remove_unused(client: Client, lister: Lister, claim: Object) -> None:
    """Delete a claim that was made for a pod which has ended, or was replaced."""
    owner = controller_of(claim) or {}
    if owner.get("kind") != "Pod" or owner.get("apiVersion") != "v1" or is_terminating(claim):
        return
    pod = lister.get(Key(PODS, namespace_of(claim), owner.get("name", "")))
    if pod is not None and (uid_of(pod) != owner.get("uid") or _is_done(pod)):
        remove(client, RESOURCE_CLAIMS, claim)

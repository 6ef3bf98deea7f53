"""The audiences that a pod's volumes name: a node may ask for tokens of its pod for no others.

Upstream: plugin/pkg/admission/noderestriction/admission.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.engine.admission.plugin_attributes import CLAIMS, VOLUMES
from simkit.engine.seams import Authorizer, Reader, Review
from simkit.logic.workloads.volumes import CSI_DRIVERS
from simkit.meta.attributes import Attributes
from simkit.meta.domain import api_group
from simkit.meta.errors import StatusError, not_found
from simkit.meta.fielderror import aggregate_errors, quoted
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, at, metadata, name_of

VERB: Final = "request-serviceaccounts-token-audience"
"""The verb of a node that may ask for tokens with an audience (the resource) of an account (the name)."""
_DRIVERS: Final = GroupResource(api_group("storage"), "csidrivers")
_CLAIM, _VOLUME = GroupResource("", "persistentvolumeclaim"), GroupResource("", "persistentvolume")
_DRIVER: Final = GroupResource(api_group("storage"), "csidriver")
"""The resources under which kube-apiserver's plugin reports missing objects."""


def audience_error(store: Reader, authorizer: Authorizer, review: Review, pod: Object) -> str:
    """The reason why a node may not ask for this token of its pod; empty if it may.

    An audience must be that of a token in a projected volume of the pod, or of a token that the driver of one of its
    volumes asks for; else the node needs a right of its own (``VERB``). O(volumes).
    """
    asked: Sequence[str] = at(review.object, "spec", "audiences") or ()
    if len(asked) > 1:
        return "node may only request 0 or 1 audiences"
    audience, errors = next(iter(asked), ""), list[str]()
    for volume in at(pod, "spec", "volumes") or ():
        try:
            if _names(store, pod, volume, audience):
                return ""
        except StatusError as error:
            errors.append(error.message)
    if errors:
        return f"error validating audience {quoted(audience)}: {aggregate_errors(errors)}"
    who = review.identity
    ask = Attributes(who, VERB, version="v1", resource=audience, namespace=review.namespace, name=review.name)
    if authorizer.authorize(ask).allowed:
        return ""
    start = f"audience {quoted(audience)} not found in pod spec volume"
    return f"{start}, {who.user} is not authorized to request tokens for this audience"


def _names(store: Reader, pod: Object, volume: Object, audience: str) -> bool:
    """True if a volume names an audience. Raises 404 for a claim, a volume or a driver that is missing."""
    for source in at(volume, "projected", "sources") or ():
        token = source.get("serviceAccountToken")
        if token is not None and (token.get("audience") or "") == audience:
            return True
    driver = _driver_of(store, pod, volume)
    if not driver:
        return False
    requests = at(_found(store, Key(_DRIVERS, "", driver), _DRIVER), "spec", "tokenRequests") or ()
    return any((each.get("audience") or "") == audience for each in requests)


def _driver_of(store: Reader, pod: Object, volume: Object) -> str:
    namespace = metadata(pod).get("namespace") or ""
    if at(volume, "ephemeral", "volumeClaimTemplate") is not None:
        return _driver_of_claim(store, namespace, f"{name_of(pod)}-{volume['name']}")
    if volume.get("persistentVolumeClaim") is not None:
        return _driver_of_claim(store, namespace, volume["persistentVolumeClaim"].get("claimName") or "")
    return _driver_in(volume)


def _driver_of_claim(store: Reader, namespace: str, name: str) -> str:
    claim = _found(store, Key(CLAIMS, namespace, name), _CLAIM)
    bound = at(claim, "spec", "volumeName") or ""
    return _driver_in(_found(store, Key(VOLUMES, "", bound), _VOLUME).get("spec") or {})


def _driver_in(source: Object) -> str:
    if source.get("csi") is not None:
        return str(source["csi"].get("driver") or "")
    return next((driver for kind, driver in CSI_DRIVERS.items() if source.get(kind) is not None), "")


def _found(store: Reader, key: Key, told: GroupResource) -> Object:
    entry = store.get(key)
    if entry is None:
        raise not_found(told, key.name)
    return entry.object

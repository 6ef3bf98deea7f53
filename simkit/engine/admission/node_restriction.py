"""NodeRestriction limits what a kubelet may change to its own node and pods.

Upstream: plugin/pkg/admission/noderestriction, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.client.resources import CLAIMS, LEASES, NODES, PODS, SERVICE_ACCOUNTS, VOLUMES
from simkit.engine.admission.plugin_attributes import CHANGES, Handler, admission_forbidden, written
from simkit.engine.admission.service_account import references_config_maps, references_secrets
from simkit.logic.workloads.volumes import CSI_DRIVERS
from simkit.meta.attributes import Attributes
from simkit.meta.domain import API_DOMAIN, LABEL_DOMAIN, MIRROR_POD, NODE_LEASE_NAMESPACE, api_group, label
from simkit.meta.errors import StatusError
from simkit.meta.fielderror import aggregate_errors, quoted
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, annotations_of, at, labels_of, metadata, name_of
from simkit.seams import Authorizer, Reader, Review, existing

# The audiences that a pod's volumes name: a node may ask for tokens of its pod for no others.
# Upstream: plugin/pkg/admission/noderestriction/admission.go, release 1.36.

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
    requests = at(existing(store, Key(_DRIVERS, "", driver), _DRIVER).object, "spec", "tokenRequests") or ()
    return any((each.get("audience") or "") == audience for each in requests)


def _driver_of(store: Reader, pod: Object, volume: Object) -> str:
    namespace = metadata(pod).get("namespace") or ""
    if at(volume, "ephemeral", "volumeClaimTemplate") is not None:
        return _driver_of_claim(store, namespace, f"{name_of(pod)}-{volume['name']}")
    if volume.get("persistentVolumeClaim") is not None:
        return _driver_of_claim(store, namespace, volume["persistentVolumeClaim"].get("claimName") or "")
    return _driver_in(volume)


def _driver_of_claim(store: Reader, namespace: str, name: str) -> str:
    claim = existing(store, Key(CLAIMS, namespace, name), _CLAIM).object
    bound = at(claim, "spec", "volumeName") or ""
    return _driver_in(existing(store, Key(VOLUMES, "", bound), _VOLUME).object.get("spec") or {})


def _driver_in(source: Object) -> str:
    if source.get("csi") is not None:
        return str(source["csi"].get("driver") or "")
    return next((driver for kind, driver in CSI_DRIVERS.items() if source.get(kind) is not None), "")


_CSI_NODES: Final = GroupResource(api_group("storage"), "csinodes")
_POD, _NODE = GroupResource("", "pod"), GroupResource("", "node")
"""The resources under which kube-apiserver's plugin reports missing objects."""
_NODES_GROUP: Final = "system:nodes"
_USER_PREFIX: Final = "system:node:"
_RESTRICTED: Final = f"node-restriction.{LABEL_DOMAIN}"
_OWN_LABELS: Final = frozenset(
    {
        *(label("hostname"), label("os"), label("arch"), label("os", "beta"), label("arch", "beta")),
        *(label(name, "topology") for name in ("zone", "region")),
        *(label(name, "failure-domain.beta") for name in ("zone", "region")),
        *(label("instance-type", prefix) for prefix in ("node", "beta")),
    }
)
_OWN_DOMAINS: Final = tuple(f"{prefix}.{LABEL_DOMAIN}" for prefix in ("kubelet", "node"))


class NodeRestriction(
    Handler, operations=CHANGES, resources={PODS, NODES, CLAIMS, SERVICE_ACCOUNTS, LEASES, _CSI_NODES}
):
    """Identifies nodes by their group and user name."""

    def __init__(self, store: Reader, authorizer: Authorizer) -> None:
        self._store, self._authorizer = store, authorizer

    def mutate(self, review: Review) -> Object:
        """The object unchanged. Raises 403 for a write that the node may not make."""
        identity = review.identity
        if identity.user.startswith(_USER_PREFIX) and _NODES_GROUP in identity.groups:
            node = identity.user.removeprefix(_USER_PREFIX)
            if not node:
                raise admission_forbidden(review, f'could not determine node from user "{identity.user}"')
            self._check(review, node)
        return written(review)

    def _check(self, review: Review, node: str) -> None:
        match review.resource:
            case resource if resource == PODS:
                self._pod(review, node)
            case resource if resource == NODES:
                _node(review, node)
            case resource if resource == CLAIMS:
                _claim(review, node)
            case resource if resource == SERVICE_ACCOUNTS:
                self._token(review, node)
            case resource if resource == LEASES:
                _lease(review, node)
            case _:
                if _named(review) != node:
                    raise admission_forbidden(
                        review, "can only access CSINode with the same name as the requesting node"
                    )

    def _pod(self, review: Review, node: str) -> None:
        part, operation = review.subresource, review.operation
        if part not in ("", "status", "eviction"):
            why = f"unexpected pod subresource \"{part}\", only 'status' and 'eviction' are allowed"
            raise admission_forbidden(review, why)
        if part == "status":
            _pod_status(review, node)
        elif part == "eviction":
            if at(self._live_pod(review, review.name), "spec", "nodeName") != node:
                raise admission_forbidden(review, f"node {node} can only evict pods with spec.nodeName set to itself")
        elif operation == "CREATE":
            self._pod_create(review, node)
        elif operation != "DELETE":
            why = f'unexpected operation "{operation}", node "{node}" can only create and delete mirror pods'
            raise admission_forbidden(review, why)
        elif at(self._live_pod(review, review.name), "spec", "nodeName") != node:
            raise admission_forbidden(review, f'node "{node}" can only delete pods with spec.nodeName set to itself')

    def _live_pod(self, review: Review, name: str) -> Object:
        return existing(self._store, Key(PODS, review.namespace, name), _POD).object

    def _pod_create(self, review: Review, node: str) -> None:
        pod = written(review)
        if MIRROR_POD not in annotations_of(pod):
            raise admission_forbidden(
                review, f'pod does not have "{MIRROR_POD}" annotation, node "{node}" can only create mirror pods'
            )
        if at(pod, "spec", "nodeName") != node:
            raise admission_forbidden(review, f'node "{node}" can only create pods with spec.nodeName set to itself')
        self._owner(review, node, metadata(pod).get("ownerReferences") or ())
        if at(pod, "spec", "serviceAccountName"):
            raise admission_forbidden(review, f'node "{node}" can not create pods that reference a service account')
        volumes = at(pod, "spec", "volumes") or ()
        sources = [source for volume in volumes for source in at(volume, "projected", "sources") or ()]
        found = {
            "secrets": references_secrets(pod),
            "configmaps": references_config_maps(pod),
            "clustertrustbundles": any("clusterTrustBundle" in source for source in sources),
            "persistentvolumeclaims": any("persistentVolumeClaim" in volume for volume in volumes),
        }
        for what, mentioned in found.items():
            if mentioned:
                raise admission_forbidden(review, f'node "{node}" can not create pods that reference {what}')

    def _owner(self, review: Review, node: str, owners: Any) -> None:
        start = f'node "{node}" can only create pods with'
        if len(owners) > 1:
            raise admission_forbidden(review, f"{start} a single owner reference set to itself")
        owner: Mapping[str, Any] = owners[0] if owners else {}
        if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
            raise admission_forbidden(review, f"{start} an owner reference set to itself")
        if not owner.get("controller"):
            raise admission_forbidden(review, f"{start} a controller owner reference set to itself")
        if owner.get("blockOwnerDeletion"):
            raise admission_forbidden(review, f'node "{node}" must not set blockOwnerDeletion on an owner reference')
        uid = metadata(existing(self._store, Key(NODES, "", node), _NODE).object).get("uid", "")
        if owner.get("uid") != uid:
            raise admission_forbidden(review, f"node {node} UID mismatch: expected {owner.get('uid', '')} got {uid}")

    def _token(self, review: Review, node: str) -> None:
        if review.operation != "CREATE" or review.subresource != "token":
            return
        bound = at(written(review), "spec", "boundObjectRef") or {}
        if (bound.get("apiVersion"), bound.get("kind")) != ("v1", "Pod") or not bound.get("name"):
            raise admission_forbidden(review, "node requested token not bound to a pod")
        uid = bound.get("uid")
        if not uid:
            raise admission_forbidden(review, "node requested token with a pod binding without a uid")
        pod = self._live_pod(review, bound["name"])
        if metadata(pod).get("uid") != uid:
            why = f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            raise admission_forbidden(review, f"{why}The object might have been deleted and then recreated")
        if at(pod, "spec", "nodeName") != node:
            raise admission_forbidden(review, "node requested token bound to a pod scheduled on a different node")
        if review.behaviour.applies("audiences-of-nodes-limited"):
            error = audience_error(self._store, self._authorizer, review, pod)
            if error:
                raise admission_forbidden(review, error)


def _named(review: Review) -> str:
    return name_of(written(review)) if review.operation == "CREATE" else review.name


def _unexpected(review: Review) -> StatusError:
    return admission_forbidden(review, f'unexpected operation "{review.operation}"')


def _pod_status(review: Review, node: str) -> None:
    if review.operation != "UPDATE":
        raise _unexpected(review)
    old, new = review.old or {}, written(review)
    if at(old, "spec", "nodeName") != node:
        own = "for pods with spec.nodeName set to itself"
        raise admission_forbidden(review, f'node "{node}" can only update pod status {own}')
    if labels_of(old) != labels_of(new):
        raise admission_forbidden(review, f'node "{node}" cannot update labels through pod status')
    if at(old, "status", "resourceClaimStatuses") != at(new, "status", "resourceClaimStatuses"):
        raise admission_forbidden(review, f'node "{node}" cannot update resource claim statues')


def _node(review: Review, node: str) -> None:
    if review.name != node:
        raise admission_forbidden(review, f'node "{node}" is not allowed to modify node "{review.name}"')
    if review.operation == "DELETE":
        return
    new, old = written(review), review.old or {}
    source = at(new, "spec", "configSource")
    changed = {key for key, _ in labels_of(new).items() ^ labels_of(old).items()}
    forbidden = ", ".join(sorted(filter(_forbidden, changed)))
    if review.operation == "CREATE":
        if source is not None:
            raise admission_forbidden(
                review, f'node "{node}" is not allowed to create pods with a non-nil configSource'
            )
        if forbidden:
            raise admission_forbidden(review, f'node "{node}" is not allowed to set the following labels: {forbidden}')
        return
    if source is not None and source != at(old, "spec", "configSource"):
        raise admission_forbidden(
            review, f'node "{node}" is not allowed to update configSource to a new non-nil configSource'
        )
    if (at(new, "spec", "taints") or []) != (at(old, "spec", "taints") or []):
        raise admission_forbidden(review, f'node "{node}" is not allowed to modify taints')
    if forbidden:
        raise admission_forbidden(review, f"is not allowed to modify labels: {forbidden}")


def _forbidden(key: str) -> bool:
    """True if a label is not for nodes to set: one that steers pods, or an unknown one of the project's own."""
    domain = key.rpartition("/")[0].split("/")[0]
    if _within(domain, _RESTRICTED):
        return True
    own = _within(domain, LABEL_DOMAIN) or _within(domain, API_DOMAIN)
    return own and key not in _OWN_LABELS and not any(_within(domain, each) for each in _OWN_DOMAINS)


def _within(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")


def _claim(review: Review, node: str) -> None:
    if review.subresource != "status":
        raise admission_forbidden(review, "may only update PVC status")
    if review.operation != "UPDATE":
        raise _unexpected(review)
    if _unchanging(review.old or {}) != _unchanging(written(review)):
        why = f'node "{node}" is not allowed to update fields other than status.capacity and status.conditions: '
        raise admission_forbidden(review, why)


def _unchanging(claim: Object) -> dict[str, Any]:
    meta = {key: value for key, value in metadata(claim).items() if key not in ("resourceVersion", "managedFields")}
    status = {key: value for key, value in (claim.get("status") or {}).items() if key not in ("capacity", "conditions")}
    return {**claim, "metadata": meta, "status": status}


def _lease(review: Review, node: str) -> None:
    if review.namespace != NODE_LEASE_NAMESPACE:
        raise admission_forbidden(review, f'can only access leases in the "{NODE_LEASE_NAMESPACE}" system namespace')
    if _named(review) != node:
        raise admission_forbidden(review, "can only access node lease with the same name as the requesting node")

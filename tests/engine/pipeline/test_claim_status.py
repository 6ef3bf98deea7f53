"""Rights that a write of the status of a resource claim needs, and what the server removes from it."""

from __future__ import annotations

from typing import Any, Final

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request

_CLAIMS: Final = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
_GROUP: Final = "rbac.authorization.k8s.io"
_ALICE: Final = Identity("alice")
_ROBOT: Final = Identity(
    "system:serviceaccount:default:robot",
    ("system:serviceaccounts",),
    extra={"authentication.kubernetes.io/node-name": ("n",)},
)
_ON_NODE: Final = {
    "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]
}
_DEVICES: Final = (
    {"request": "r", "driver": "a.b", "pool": "p", "device": "d1"},
    {"request": "r", "driver": "c.d", "pool": "p", "device": "d2"},
)
_ALLOCATION: Final = {"devices": {"results": list(_DEVICES)}, "nodeSelector": _ON_NODE}
_BINDING: Final = (
    'changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="patch" '
    'permission: resourceclaims.resource.k8s.io is forbidden: User "alice" cannot patch resource '
    '"resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope'
)


def _granted(cluster: simkit.Cluster, name: str, resource: str, verb: str, *names: str) -> None:
    """Let both users do something with a resource of the group of claims."""
    rule: dict[str, Any] = {"apiGroups": ["resource.k8s.io"], "resources": [resource], "verbs": [verb]}
    if names:
        rule["resourceNames"] = list(names)
    version = f"{_GROUP}/v1"
    cluster.create({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]})
    binding = {
        "apiVersion": version,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [
            {"kind": "User", "name": "alice", "apiGroup": _GROUP},
            {"kind": "ServiceAccount", "name": "robot", "namespace": "default"},
        ],
    }
    cluster.create(binding)


def _cluster(release: str = "1.36", gates: dict[str, bool] | None = None) -> simkit.Cluster:
    """A cluster with a claim whose status both users may write, as far as its subresource goes."""
    cluster = simkit.Cluster(options=Options(release=release, seed=1, feature_gates=gates or {}))
    _granted(cluster, "status", "resourceclaims/status", "*")
    request = {"name": "r", "exactly": {"deviceClassName": "x", "count": 2}}
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}}
    cluster.create({**claim, "spec": {"devices": {"requests": [request]}}})
    return cluster


def _write(cluster: simkit.Cluster, status: dict[str, Any], identity: Identity = _ALICE) -> dict[str, Any]:
    """The answer to a patch of the status."""
    headers = {"content-type": "application/merge-patch+json"}
    path = f"{_CLAIMS}/c/status"
    asked = Request.of("PATCH", path, {"status": status}, headers=headers)
    answer: dict[str, Any] = cluster.perform(asked, identity=identity).object
    return answer


def _told(driver: str, device: str, **more: Any) -> dict[str, Any]:
    return {"driver": driver, "pool": "p", "device": device, **more}


def test_an_allocation_needs_the_right_to_bind() -> None:
    """Who may write the status alone may not allocate or reserve; the administrator may."""
    cluster = _cluster()
    refused = _write(cluster, {"allocation": _ALLOCATION})
    assert refused["details"]["causes"] == [
        {"reason": "FieldValueForbidden", "message": f"Forbidden: {_BINDING}", "field": "status.allocation"}
    ]
    assert _write(cluster, {"allocation": _ALLOCATION}, administrator())["kind"] == "ResourceClaim"
    reserved = _write(cluster, {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]})
    assert [cause["field"] for cause in reserved["details"]["causes"]] == ["status.allocation"]
    _granted(cluster, "bind", "resourceclaims/binding", "patch")
    assert _write(cluster, {"allocation": None})["kind"] == "ResourceClaim"


@pytest.mark.parametrize(
    ("release", "gates"), [("1.35", {}), ("1.36", {"DRAResourceClaimGranularStatusAuthorization": False})]
)
def test_before_the_status_alone_was_enough(release: str, gates: dict[str, bool]) -> None:
    """Up to 1.35, and without the gate, the right to the status is enough."""
    cluster = _cluster(release, gates)
    assert _write(cluster, {"allocation": _ALLOCATION})["kind"] == "ResourceClaim"
    assert _write(cluster, {"devices": [_told("c.d", "d2")]})["kind"] == "ResourceClaim"


def test_devices_need_a_right_for_their_driver() -> None:
    """Each driver whose devices change is asked for; an equal device in other words is none."""
    cluster = _cluster()
    _write(cluster, {"allocation": _ALLOCATION}, administrator())
    refused = _write(cluster, {"devices": [_told("c.d", "d2"), _told("a.b", "d1")]})["message"]
    needed = 'requires resource="resourceclaims/driver", verb="[arbitrary-node:patch]" permission'
    assert refused.count(needed) == 2
    assert refused.index('"a.b" is forbidden') < refused.index('"c.d" is forbidden')
    _granted(cluster, "driver", "resourceclaims/driver", "arbitrary-node:patch", "c.d")
    made = _write(cluster, {"devices": [_told("c.d", "d2")]})
    assert made["status"]["devices"] == [_told("c.d", "d2", conditions=None)]
    assert '"a.b" is forbidden' in _write(cluster, {"devices": [_told("c.d", "d2"), _told("a.b", "d1")]})["message"]


def test_a_driver_on_the_node_of_the_claim_needs_less() -> None:
    """A service account with a token of the claim's node may use the verb of its own node."""
    cluster = _cluster()
    _write(cluster, {"allocation": _ALLOCATION}, administrator())
    verbs = 'verb="[associated-node:patch arbitrary-node:patch]"'
    assert verbs in _write(cluster, {"devices": [_told("c.d", "d2")]}, _ROBOT)["message"]
    _granted(cluster, "driver", "resourceclaims/driver", "associated-node:patch", "c.d")
    assert _write(cluster, {"devices": [_told("c.d", "d2")]}, _ROBOT)["kind"] == "ResourceClaim"
    same = _write(cluster, {"devices": [_told("c.d", "d2", conditions=[])]})
    assert same["status"]["devices"] == [_told("c.d", "d2", conditions=None)]
    other = _write(cluster, {"devices": [_told("c.d", "d2", networkData={"interfaceName": "e"})]})
    assert 'verb="[arbitrary-node:patch]"' in other["message"]


def test_what_is_told_of_freed_devices_goes() -> None:
    """A claim that is freed loses what drivers told about its devices, though the write keeps it."""
    cluster = _cluster()
    _write(cluster, {"allocation": _ALLOCATION, "devices": [_told("c.d", "d2")]}, administrator())
    freed = _write(cluster, {"allocation": None, "devices": [_told("c.d", "d2")]}, administrator())
    assert freed["status"] == {}


def test_admin_access_of_an_allocation_needs_the_label_of_the_namespace() -> None:
    """A device in use is allocated only in a namespace that is labelled for it, whoever asks."""
    cluster = _cluster()
    results = [{**_DEVICES[0], "adminAccess": True}]
    refused = _write(cluster, {"allocation": {"devices": {"results": results}}}, administrator())
    assert [cause["field"] for cause in refused["details"]["causes"]] == [
        "status.allocation.devices.results[0].adminAccess"
    ]


def test_a_device_that_is_not_allocated_is_shown() -> None:
    """The error about a device that the claim does not have shows its parts."""
    cluster = _cluster()
    _write(cluster, {"allocation": _ALLOCATION}, administrator())
    shown = '{"Driver":"c.d","Pool":"p","Device":"z","ShareID":""}'
    assert shown in _write(cluster, {"devices": [_told("c.d", "z")]}, administrator())["message"]

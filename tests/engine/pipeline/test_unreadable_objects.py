"""Objects that are stored but cannot be read: with the gate lists name them, and they can be deleted."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object

GATE = "AllowUnsafeMalformedObjectDeletion"
OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential"
MAPS = "/api/v1/namespaces/default/configmaps"
ONLY = "is exclusively used to delete corrupt object(s), try again by removing this option"


def broken(folder: Path, *, gate: bool = True, role: Object | None = None) -> Cluster:
    """A cluster whose file holds a map that is no JSON, beside a sound one."""
    path = folder / "store.db"
    first = Cluster(options=Options(release="1.36", storage=f"sqlite:{path}"))
    for name in ("bad", "good"):
        first.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
    first.close()
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE objects SET object = ? WHERE name = 'bad' AND resource = 'configmaps'", (b"{",))
    return Cluster(options=Options(release="1.36", storage=f"sqlite:{path}", feature_gates={GATE: gate}))


def remove(cluster: Cluster, name: str, *, identity: Identity | None = None, **options: object) -> Response:
    """The answer to a deletion with the option."""
    body = {"apiVersion": "v1", "kind": "DeleteOptions", OPTION: True, **options}
    path = f"{MAPS}/{name}" if name else MAPS
    return cluster.perform(Request.of("DELETE", path, body), identity=identity)


def test_lists_name_what_cannot_be_read_and_it_can_be_deleted(tmp_path: Path) -> None:
    """The answer to the deletion has no object; afterwards the list is whole, also after a restart."""
    cluster = broken(tmp_path)
    refused = cluster.perform(Request.of("GET", MAPS))
    assert (refused.status, refused.object["reason"]) == (500, "StorageReadError")
    assert refused.object["message"] == "failed to read one or more configmaps from the storage"
    cause = refused.object["details"]["causes"][0]
    assert (cause["reason"], cause["field"]) == ("UnexpectedServerResponse", "/registry/configmaps/default/bad")
    assert cause["message"].startswith(
        "StorageError: corrupt object, Code: 7, Key: /registry/configmaps/default/bad, ResourceVersion: 0, "
        "AdditionalErrorMsg: object not decodable revision="
    )
    single = cluster.perform(Request.of("GET", f"{MAPS}/bad"))
    assert (single.status, single.object["reason"]) == (500, "InternalError")
    assert "corrupt object" in single.object["message"]
    assert cluster.perform(Request.of("DELETE", f"{MAPS}/bad")).status == 500
    answer = remove(cluster, "bad")
    details = {"name": "bad", "kind": "ConfigMap"}
    assert answer.object == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details, "code": 200
    }  # fmt: skip
    assert "good" in [each["metadata"]["name"] for each in cluster.list("configmaps", namespace="default")]
    cluster.close()
    again = Cluster(options=Options(release="1.36", storage=f"sqlite:{tmp_path / 'store.db'}"))
    assert again.perform(Request.of("GET", f"{MAPS}/bad")).status == 404
    again.close()


def test_only_unreadable_objects_are_deleted_so(tmp_path: Path) -> None:
    """Sound and missing objects, collections and other options beside it are refused."""
    cluster = broken(tmp_path)
    for name in ("good", "missing"):
        answer = remove(cluster, name)
        text = f'configmaps "{name}" is invalid: {OPTION}: Invalid value: true: {ONLY}'
        assert (answer.status, answer.object["message"]) == (422, text)
    beside = remove(cluster, "bad", gracePeriodSeconds=0, propagationPolicy="Orphan").object["details"]["causes"]
    assert [each["message"] for each in beside] == [
        "Invalid value: true: cannot be set together with .propagationPolicy",
        "Invalid value: true: cannot be set together with .gracePeriodSeconds",
    ]
    assert "is not allowed with DELETECOLLECTION" in remove(cluster, "").object["message"]
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view"
    body = {"apiVersion": "v1", "kind": "DeleteOptions", OPTION: True}
    assert "no unsafe deleter provided" in cluster.perform(Request.of("DELETE", roles, body)).object["message"]
    cluster.close()


def test_it_needs_a_right_of_its_own(tmp_path: Path) -> None:
    """Who may delete may not do this."""
    cluster = broken(tmp_path)
    rbac = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["delete", "get", "list"]}]
    cluster.create({"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": rules})
    subject = {"kind": "User", "name": "ann", "apiGroup": rbac}
    reference = {"kind": "ClusterRole", "name": "r", "apiGroup": rbac}
    binding = {"metadata": {"name": "r"}, "subjects": [subject], "roleRef": reference}
    cluster.create({"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", **binding})
    ann = Identity("ann", ("system:authenticated",))
    answer = remove(cluster, "bad", identity=ann)
    text = 'configmaps "bad" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason: '
    assert (answer.status, answer.object["message"]) == (403, text)
    rules[0]["verbs"].append("unsafe-delete-ignore-read-errors")
    cluster.apply({"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": rules})
    assert remove(cluster, "bad", identity=ann).status == 200
    cluster.close()


def test_without_the_gate_the_option_is_ignored(tmp_path: Path) -> None:
    """A sound object is deleted, and an unreadable one stays."""
    cluster = broken(tmp_path, gate=False)
    assert remove(cluster, "good").status == 200
    answer = remove(cluster, "bad")
    assert (answer.status, answer.object["message"].partition(": ")[0]) == (
        500, "the object at /registry/configmaps/default/bad cannot be decoded"
    )  # fmt: skip
    assert cluster.perform(Request.of("GET", MAPS)).succeeded
    cluster.close()


@pytest.mark.parametrize("gate", [True, False])
def test_evictions_refuse_it(gate: bool) -> None:
    """With the gate the option is invalid there, without it it says nothing."""
    cluster = Cluster(options=Options(release="1.36", feature_gates={GATE: gate}))
    container = {"name": "c", "image": "i"}
    cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}})
    eviction = {"metadata": {"name": "p", "namespace": "default"}, "deleteOptions": {OPTION: True}}
    path = "/api/v1/namespaces/default/pods/p/eviction"
    answer = cluster.perform(Request.of("POST", path, {"apiVersion": "policy/v1", "kind": "Eviction", **eviction}))
    assert answer.status == (422 if gate else 201)

"""The suites of simkit over the parts of this package, and a cluster that uses them by name."""

from collections.abc import Sequence

import pytest
from simkit_example.admission import PinnedImages
from simkit_example.authorizer import Teams
from simkit_example.controller import TeamContacts
from simkit_example.finding import BINDING_WITHOUT_OWNER

import simkit
from simkit.analysis.findings import Check
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from simkit.meta.objects import Object
from simkit.testing.suites import (
    AdmissionSuite,
    AuthorizerSuite,
    CheckSuite,
    FixedContext,
    PrimitiveSuite,
    ReconcilerSuite,
)

SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "shop"}}}
RIGHTS = [
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "team-contacts"},
        "rules": [{"verbs": ["create"], "apiGroups": [""], "resources": ["configmaps"]}],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "team-contacts"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "team-contacts"},
        "subjects": [{"kind": "ServiceAccount", "name": "team-contacts", "namespace": "kube-system"}],
    },
]
OPERATOR_NAME = "system:serviceaccount:backup:backup-operator"
BACKUP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "backup"}}
OPERATOR = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "backup-operator", "namespace": "backup"},
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "backups.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "backups", "singular": "backup", "kind": "Backup", "listKind": "BackupList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


def _granted(resource: str, user: str, group: str) -> list[Object]:
    """A cluster role that allows everything with a resource, bound to a user."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": resource}
    return [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": resource},
            "rules": [{"verbs": ["*"], "apiGroups": [group], "resources": [resource]}],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": resource},
            "roleRef": role,
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        },
    ]


class TestTeams(AuthorizerSuite):
    """The authorizer."""

    def make(self) -> Teams:
        return Teams(FixedContext([SHOP, {**SHOP, "metadata": {"name": "x", "labels": {"team": "x"}}}]))


class TestPinnedImages(AdmissionSuite):
    """The admission plugin."""

    def make(self) -> PinnedImages:
        return PinnedImages()


class TestTeamContacts(ReconcilerSuite):
    """The controller, with what RBAC has to grant it."""

    def make(self) -> TeamContacts:
        return TeamContacts()

    def objects(self) -> Sequence[Object]:
        return [*RIGHTS, SHOP]


class TestBindingWithoutOwner(CheckSuite):
    """The finding."""

    def make(self) -> Check:
        return BINDING_WITHOUT_OWNER

    def bad(self) -> Sequence[Object]:
        return RIGHTS

    def good(self) -> Sequence[Object]:
        role, binding = RIGHTS
        return [role, {**binding, "metadata": {"name": "owned", "annotations": {"owner": "platform"}}}]


class TestBackups(PrimitiveSuite):
    """The escalation primitive, in a cluster with the operator and somebody who may write backups."""

    identifier = "EX1"
    subject = "user:ann"

    def objects(self) -> Sequence[Object]:
        return [
            DEFINITION,
            BACKUP,
            OPERATOR,
            *_granted("backups", "ann", "example.com"),
            *_granted("secrets", OPERATOR_NAME, ""),
        ]


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A cluster that asks for the parts by the names of their entry points."""
    options = simkit.Options(
        seed=1,
        authorization_mode=["RBAC", "Teams"],
        enable_admission_plugins=["PinnedImages"],
        controllers=["*", "team-contacts"],
    )
    made = simkit.Cluster(options=options)
    for obj in (*RIGHTS, SHOP):
        made.apply(obj)
    made.settle()
    return made


def test_the_parts_work_together(cluster: simkit.Cluster) -> None:
    """The controller has written a ConfigMap, which its team may read, and nobody else."""
    request = Request.of("GET", "/api/v1/namespaces/shop/configmaps/team-contact")
    ann = cluster.perform(request, identity=Identity("ann", ("team:shop",)))
    assert (ann.status, ann.object["data"]) == (200, {"team": "shop"})
    assert cluster.perform(request, identity=Identity("bob", ("team:bank",))).status == 403


def test_images_are_pinned(cluster: simkit.Cluster) -> None:
    """A pod with a floating image is refused, with the reason."""
    for image, status in (("shop/web", 403), ("shop/web:latest", 403), ("shop/web:1.2", 201)):
        pod = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": image}]}}
        assert cluster.perform(Request.of("POST", "/api/v1/namespaces/shop/pods", pod)).status == status


def test_the_finding_is_asked_for_by_name(cluster: simkit.Cluster) -> None:
    """An audit makes the check where its id is given."""
    assert "team-contacts" in str(list(cluster.audit(checks=["binding-without-owner"])))
    assert "binding-without-owner" not in set(cluster.audit().to_frame()["check"])

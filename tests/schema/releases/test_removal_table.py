"""The specification's table of removed versions against the catalogue, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from simkit.schema.lifecycle import lifecycle_of, successor

NEW_EVENTS, FLOW, REGISTRATION = "events.k8s.io", "flowcontrol.apiserver.k8s.io", "admissionregistration.k8s.io"
AUTHENTICATION, AUTHORIZATION, RBAC = "authentication.k8s.io", "authorization.k8s.io", "rbac.authorization.k8s.io"
REVIEWS: Final = "LocalSubjectAccessReview SelfSubjectAccessReview SubjectAccessReview SelfSubjectRulesReview"

TABLE: Final = f"""
1.32 {FLOW}/v1beta3 | FlowSchema PriorityLevelConfiguration | {FLOW}/v1 1.29
1.29 {FLOW}/v1beta2 | FlowSchema PriorityLevelConfiguration | {FLOW}/v1 1.29
1.27 storage.k8s.io/v1beta1 | CSIStorageCapacity | storage.k8s.io/v1 1.24
1.26 {FLOW}/v1beta1 | FlowSchema PriorityLevelConfiguration | {FLOW}/v1beta2 1.23
1.26 autoscaling/v2beta2 | HorizontalPodAutoscaler | autoscaling/v2 1.23
1.25 batch/v1beta1 | CronJob | batch/v1 1.21
1.25 discovery.k8s.io/v1beta1 | EndpointSlice | discovery.k8s.io/v1 1.21
1.25 {NEW_EVENTS}/v1beta1 | Event | {NEW_EVENTS}/v1 1.19
1.25 autoscaling/v2beta1 | HorizontalPodAutoscaler | autoscaling/v2 1.23
1.25 policy/v1beta1 | PodDisruptionBudget | policy/v1 1.21
1.25 policy/v1beta1 | PodSecurityPolicy |
1.25 node.k8s.io/v1beta1 | RuntimeClass | node.k8s.io/v1 1.20
1.22 {REGISTRATION}/v1beta1 | MutatingWebhookConfiguration ValidatingWebhookConfiguration | {REGISTRATION}/v1 1.16
1.22 apiextensions.k8s.io/v1beta1 | CustomResourceDefinition | apiextensions.k8s.io/v1 1.16
1.22 apiregistration.k8s.io/v1beta1 | APIService | apiregistration.k8s.io/v1 1.10
1.22 {AUTHENTICATION}/v1beta1 | TokenReview | {AUTHENTICATION}/v1 1.6
1.22 {AUTHORIZATION}/v1beta1 | {REVIEWS} | {AUTHORIZATION}/v1 1.6
1.22 certificates.k8s.io/v1beta1 | CertificateSigningRequest | certificates.k8s.io/v1 1.19
1.22 coordination.k8s.io/v1beta1 | Lease | coordination.k8s.io/v1 1.14
1.22 extensions/v1beta1 | Ingress | networking.k8s.io/v1 1.19
1.22 networking.k8s.io/v1beta1 | Ingress | networking.k8s.io/v1 1.19
1.22 networking.k8s.io/v1beta1 | IngressClass | networking.k8s.io/v1 1.19
1.22 {RBAC}/v1beta1 | ClusterRole ClusterRoleBinding Role RoleBinding | {RBAC}/v1 1.8
1.22 scheduling.k8s.io/v1beta1 | PriorityClass | scheduling.k8s.io/v1 1.14
1.22 storage.k8s.io/v1beta1 | CSIDriver | storage.k8s.io/v1 1.19
1.22 storage.k8s.io/v1beta1 | CSINode | storage.k8s.io/v1 1.17
1.22 storage.k8s.io/v1beta1 | StorageClass | storage.k8s.io/v1 1.6
1.22 storage.k8s.io/v1beta1 | VolumeAttachment | storage.k8s.io/v1 1.13
1.16 extensions/v1beta1 | NetworkPolicy | networking.k8s.io/v1 1.8
1.16 extensions/v1beta1 | DaemonSet | apps/v1 1.9
1.16 apps/v1beta2 | DaemonSet | apps/v1 1.9
1.16 extensions/v1beta1 | Deployment | apps/v1 1.9
1.16 apps/v1beta1 | Deployment | apps/v1 1.9
1.16 apps/v1beta2 | Deployment | apps/v1 1.9
1.16 apps/v1beta1 | StatefulSet | apps/v1 1.9
1.16 apps/v1beta2 | StatefulSet | apps/v1 1.9
1.16 extensions/v1beta1 | ReplicaSet | apps/v1 1.9
1.16 apps/v1beta1 | ReplicaSet | apps/v1 1.9
1.16 apps/v1beta2 | ReplicaSet | apps/v1 1.9
1.16 extensions/v1beta1 | PodSecurityPolicy | policy/v1beta1 1.10
"""
"""Release, removed version | kinds | version to use instead and the release that has it."""

DIFFERENCES: Final = {
    ("apps/v1beta1 ReplicaSet", "removed"): "no release had it: absent from all schemas and from the sources",
    ("storage.k8s.io/v1 CSIDriver", "since"): "1.18: in that release's schemas, paths and sources",
    ("networking.k8s.io/v1 NetworkPolicy", "since"): "1.7: in that release's schemas and tags",
    (f"{AUTHORIZATION}/v1 SelfSubjectRulesReview", "since"): "1.8: in no schema of 1.7",
    (f"{FLOW}/v1beta1 FlowSchema", "replacement"): "tags name v1beta3; v1beta2 was served as well until 1.29",
    (f"{FLOW}/v1beta1 PriorityLevelConfiguration", "replacement"): "as of FlowSchema",
    (f"{FLOW}/v1beta2 FlowSchema", "replacement"): "tags name v1beta3, the only one besides it before 1.29",
    (f"{FLOW}/v1beta2 PriorityLevelConfiguration", "replacement"): "as of FlowSchema",
    (f"{NEW_EVENTS}/v1beta1 Event", "replacement"): "not tagged; the same kind of the group's v1",
    ("node.k8s.io/v1beta1 RuntimeClass", "replacement"): "not tagged; the same kind of the group's v1",
}
"""Where the catalogue says something else, and why it is right."""


def rows() -> Iterator[tuple[str, str, str, str]]:
    for line in TABLE.strip().splitlines():
        head, kinds, instead = (part.strip() for part in line.split("|"))
        release, _, version = head.partition(" ")
        yield from ((release, version, kind, instead) for kind in kinds.split())


@pytest.mark.parametrize(("release", "version", "kind", "instead"), list(rows()))
def test_every_row_agrees_or_is_a_documented_difference(release: str, version: str, kind: str, instead: str) -> None:
    """Release of removal, replacement and since when that is served."""
    found = lifecycle_of(version, kind)
    if found is None:
        assert (f"{version} {kind}", "removed") in DIFFERENCES
        return
    assert found.removed == release
    target, _, since = instead.partition(" ")
    if (f"{version} {kind}", "replacement") not in DIFFERENCES:
        assert found.replacement == (f"{target} {kind}" if target else "")
    successor = lifecycle_of(target, kind) if target else None
    if target and (f"{target} {kind}", "since") not in DIFFERENCES:
        assert successor is not None
        assert successor.introduced == since


def test_what_is_sent_to_a_subresource_has_a_life_too() -> None:
    """The server's warning names no replacement of an old eviction; the newer version of the same kind is one."""
    found = lifecycle_of("policy/v1beta1", "Eviction")
    assert found is not None
    assert (found.replacement, found.instead) == ("", "policy/v1 Eviction")
    assert successor("policy/v1beta1", "Eviction", "1.25") == "policy/v1 Eviction"
    future = lifecycle_of("lifecycle.k8s.io/v1alpha1", "Eviction")
    assert future is not None
    assert (future.removed, future.planned) == ("", "1.43")


def test_documented_differences_are_differences() -> None:
    """No entry of the list is out of date."""
    table = {(f"{version} {kind}"): (release, instead) for release, version, kind, instead in rows()}
    since = {f"{instead.partition(' ')[0]} {name.partition(' ')[2]}": instead for name, (_, instead) in table.items()}
    for element, what in DIFFERENCES:
        version, _, kind = element.partition(" ")
        found = lifecycle_of(version, kind)
        if what == "removed":
            assert found is None
        elif what == "since":
            assert found is not None
            assert found.introduced != since[element].partition(" ")[2]
        else:
            assert found is not None
            assert found.replacement != f"{table[element][1].partition(' ')[0]} {kind}"

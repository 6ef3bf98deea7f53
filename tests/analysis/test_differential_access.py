"""Answers about access are the API server's own: random clusters, loaded in every way, at several releases."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

import simkit
from simkit.analysis import identity_of, parse_subject
from simkit.logic.rbac.rule import Rule, rule_allows
from simkit.meta.attributes import Attributes
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request
from tests.analysis.worlds import GROUPS, PLACES, RESOURCES, SUBJECTS, VERBS, account, binding, namespace, role

pytestmark = pytest.mark.slow

Objects = Sequence[Mapping[str, Any]]
RELEASES: Final = ("1.24", "1.28", "1.30", "1.32", "1.34", "1.36", "1.37")
CHAINS: Final = (("RBAC",), ("Node", "RBAC"))
ASKERS: Final = (
    *("user:ann", "user:bob", "sa:dev/app", "sa:ops/app", "user:system:anonymous", "group:system:masters"),
    *("user:system:node:n1", "user:system:node:n2"),
)
QUESTIONS: Final[Sequence[tuple[str, ...]]] = tuple(
    (verb, group, resource, subresource, place, name)
    for verb, group, resource, subresource, name in (
        *(("get", "", "pods", "", name) for name in ("", "one", "p1")),
        *(("get", "", "secrets", "", name) for name in ("", "two", "used", "used2")),
        *(("list", "", "secrets", "", ""), ("create", "", "pods", "", ""), ("create", "", "pods", "exec", "")),
        *(("get", "", "nodes", "", name) for name in ("", "n1")),
        *(("get", "coordination.k8s.io", "leases", "", "n1"), ("create", "coordination.k8s.io", "leases", "", "")),
        *(("list", "apps", "deployments", "", ""), ("get", "", "namespaces", "", "dev")),
        *(("create", "", "serviceaccounts", "token", "app"), ("get", "", "persistentvolumes", "", "pv1")),
        ("impersonate", "", "users", "", "ann"),
    )
    for place in ("", "dev", "kube-node-lease")
)
"""Verb, group, resource, subresource, namespace and name of requests, as access reviews have them."""


def objects_of(seed: int) -> Objects:
    """A random cluster: roles, some of them aggregated, bindings in two namespaces, nodes with pods and a volume."""
    choose = random.Random(seed)
    found: list[Mapping[str, Any]] = [namespace(name) for name in ("dev", "ops")]
    found += [account("dev", "app"), account("ops", "app"), account("dev", "idle")]
    for number in range(6):
        place, labels = choose.choice(PLACES), {"to": choose.choice("ab")}
        rules = [_rule(choose) for _ in range(choose.randint(0, 2))]
        made = role(f"r{number}", *rules, namespace=place, labels=labels)
        if not place and choose.random() < 0.4:
            selectors = [{"matchLabels": {"to": choose.choice("ab")}}]
            made = {**made, "aggregationRule": {"clusterRoleSelectors": selectors}}
        found.append(made)
    for number in range(7):
        place = choose.choice(PLACES)
        target, local = choose.choice(["r0", "r1", "r2", "r3", "r4", "r5", "view", "edit"]), choose.random() < 0.3
        subjects = choose.sample([*SUBJECTS, "group:system:nodes"], 2)
        found.append(binding(f"b{number}", target, *subjects, namespace=place, local=bool(place) and local))
    return [*found, *_nodes(choose)]


def _rule(choose: random.Random) -> dict[str, Any]:
    resources = choose.sample([*RESOURCES, "leases", "serviceaccounts/token"], 2)
    made: dict[str, Any] = {"verbs": choose.sample(VERBS, 2), "apiGroups": [choose.choice(GROUPS)]}
    names = {"resourceNames": ["one", "two"]} if choose.random() < 0.2 else {}
    return {**made, "resources": resources, **names}


def _nodes(choose: random.Random) -> Iterator[Mapping[str, Any]]:
    for name in ("n1", "n2"):
        yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    volumes = [
        {"name": "s", "secret": {"secretName": "used"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
    ]
    for number, node in enumerate(("n1", "n2")):
        spec = {
            "nodeName": node,
            "serviceAccountName": "app",
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "i"}],
            "volumes": choose.sample(volumes, choose.randint(0, 2)),
        }
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}", "namespace": "dev"}, "spec": spec}
    claim = {"kind": "PersistentVolumeClaim", "namespace": "dev", "name": "data"}
    secret = {"name": "used2", "namespace": "dev"}
    csi = {"driver": "d", "volumeHandle": "v", "nodeStageSecretRef": secret}
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv1"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": claim,
            "csi": csi,
        },
    }


def _options(release: str, modes: Sequence[str], **more: Any) -> simkit.Options:
    return simkit.Options(release=release, authorization_mode=modes, seed=1, **more)


def _dump(objects: Objects, release: str, modes: Sequence[str]) -> simkit.Cluster:
    return simkit.load(objects, release=release, captured="*", authorization_mode=modes)


def _static_pod(objects: Objects, release: str, modes: Sequence[str]) -> simkit.Cluster:
    """A dump whose static pod of kube-apiserver names the authorizers."""
    command = ["kube-apiserver", f"--authorization-mode={','.join(modes)}"]
    mirror = {
        "name": "kube-apiserver-n1",
        "namespace": "kube-system",
        "annotations": {"kubernetes.io/config.mirror": "x"},
    }
    spec = {"nodeName": "n1", "containers": [{"name": "kube-apiserver", "command": command}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": mirror, "spec": spec}
    return simkit.load([*objects, pod], release=release, captured="*")


def _manifests(objects: Objects, release: str, modes: Sequence[str]) -> simkit.Cluster:
    return simkit.load(objects, release=release, manifests=True, authorization_mode=modes)


def _applied(objects: Objects, release: str, modes: Sequence[str]) -> simkit.Cluster:
    cluster = simkit.Cluster(options=_options(release, modes))
    for obj in objects:
        cluster.apply(obj)
    cluster.settle()
    return cluster


def _sqlite(objects: Objects, release: str, modes: Sequence[str]) -> simkit.Cluster:
    """A server over a file, whose objects were written through an earlier one."""
    path = Path(tempfile.mkdtemp()) / "store.db"
    options = _options(release, modes, storage=f"sqlite:{path}")
    first = simkit.Cluster.load(objects, options=options, captured="*")
    first.close()
    return simkit.Cluster(options=options)


def _forked(objects: Objects, release: str, modes: Sequence[str]) -> simkit.Cluster:
    """A fork in which the bindings of the cluster and a pod are gone."""
    fork = _dump(objects, release, modes).fork()
    fork.can("ann", "get", "pods")
    for obj in objects:
        if obj["kind"] == "ClusterRoleBinding":
            fork.delete("clusterrolebinding", obj["metadata"]["name"])
    fork.delete("pod", "p1", "dev")
    return fork.fork()


def _saved(objects: Objects, release: str, modes: Sequence[str]) -> simkit.Cluster:
    """A copy out of the lists that a server answers, as a fetch has them."""
    source = _applied(objects, release, modes)
    lists = [
        source.perform(Request.of("GET", f"{kind.path}/{kind.resource}")).object
        for kind in source.engine.catalogue.stored()
        if "list" in kind.verbs and kind.resource != "events"
    ]
    return simkit.load(lists, release=release, captured="*", authorization_mode=modes)


WAYS: Final[Mapping[str, Callable[[Objects, str, Sequence[str]], simkit.Cluster]]] = {
    "dump": _dump,
    "static pod": _static_pod,
    "manifests": _manifests,
    "applied": _applied,
    "sqlite": _sqlite,
    "fork": _forked,
    "fetched": _saved,
}


def reviewed(cluster: simkit.Cluster, who: Identity, question: tuple[str, ...]) -> bool:
    """The API server's answer to an access review."""
    verb, group, resource, subresource, place, name = question
    attributes = {"verb": verb, "group": group, "resource": resource, "subresource": subresource}
    spec = {
        "user": who.user,
        "groups": list(who.groups),
        "resourceAttributes": {**attributes, "namespace": place, "name": name},
    }
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = cluster.perform(Request.of("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body))
    assert answer.status == 201, answer.object
    return bool(answer.object["status"]["allowed"])


@pytest.mark.parametrize("modes", CHAINS, ids=",".join)
@pytest.mark.parametrize("way", WAYS)
def test_answers_are_those_of_access_reviews(way: str, modes: Sequence[str]) -> None:
    """can, who_can, permissions and access_matrix agree with SubjectAccessReviews of the same cluster."""
    for seed, release in enumerate(RELEASES if way in ("dump", "manifests") else RELEASES[::3]):
        cluster = WAYS[way](objects_of(seed), release, modes)
        assert cluster.snapshot().authorization.modes == tuple(modes)
        compare_with_reviews(cluster)


def compare_with_reviews(cluster: simkit.Cluster) -> None:
    """Fail for an answer that no access review gives."""
    identities = {text: identity_of(text) for text in ASKERS}
    truth = {
        (text, question): reviewed(cluster, who, question)
        for text, who in identities.items()
        if who.user or MASTERS in who.groups
        for question in QUESTIONS
    }
    rules = {text: held(cluster, text) for text in ASKERS}
    for question in QUESTIONS:
        verb, group, resource, subresource, place, name = question
        about: dict[str, Any] = {
            "subresource": subresource,
            "name": name,
            "namespace": place or "*",
            "api_group": group,
        }
        rows = cluster.who_can(verb, resource, **about)
        holders = set(rows["subject"])
        for text, who in identities.items():
            expected = truth[text, question]
            decision = cluster.can(text, verb, resource, **about)
            assert decision.allowed == expected, (text, question, str(decision))
            principals = {text, *(f"group:{one}" for one in who.groups)}
            assert bool(holders & principals) == expected, (text, question, sorted(holders & principals))
            ask = Attributes(who, verb, group, "", resource, subresource, place, name)
            listed, complete = rules[text]
            found = any(scope in ("*", place) and rule_allows(rule, ask) for scope, rule in listed)
            assert found == expected or (expected and not complete), (text, question)
    compare_matrix(cluster, truth)


def held(cluster: simkit.Cluster, text: str) -> tuple[list[tuple[str, Rule]], bool]:
    """The rules that ``permissions`` lists, with their scopes, and whether it calls them complete."""
    rows = cluster.permissions(text)
    columns = ["verbs", "api_groups", "resources", "resource_names", "urls"]
    rules = [Rule(*lists) for lists in rows[columns].itertuples(index=False, name=None)]
    return list(zip(rows["scope"], rules, strict=True)), not rows.attrs["incomplete"]


def compare_matrix(cluster: simkit.Cluster, truth: Mapping[tuple[str, tuple[str, ...]], bool]) -> None:
    """Fail for a field of the matrix that no access review gives."""
    words = {"pods": "pods", "secrets": "secrets", "nodes": "nodes", "leases.coordination.k8s.io": "leases"}
    matrix = cluster.access_matrix(
        [text for text in ASKERS if text != "user:system:anonymous"],
        resources=list(words),
        verbs=["get", "list", "create"],
        namespaces=["", "dev", "kube-node-lease"],
    )
    told = {
        (row.subject, "" if row.namespace == "*" else row.namespace, row.resource): row for row in matrix.itertuples()
    }
    for (text, question), expected in truth.items():
        verb, group, resource, subresource, place, name = question
        word = f"{resource}.{group}" if group else resource
        if name or subresource or word not in words or text == "user:system:anonymous":
            continue
        if resource == "nodes" and place:
            continue
        row = told.get((text, place, word))
        assert (row is not None and getattr(row, verb)) == expected, (text, question, matrix)


def test_nodes_belong_to_their_group() -> None:
    """A subject that is a node has the group which certificates of kubelets name."""
    assert identity_of(parse_subject("user:system:node:n1")).groups[0] == "system:nodes"

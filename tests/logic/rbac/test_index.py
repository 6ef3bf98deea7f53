"""The access index decides like somebody who reads all roles and bindings anew, whatever happened before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.logic.rbac.binding import CLUSTER_ROLES, RESOURCES_OF_KINDS, ROLE_BINDINGS, Subject, key_of
from simkit.logic.rbac.index import AccessIndex
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import Rule
from simkit.meta.attributes import Attributes
from simkit.meta.identity import Identity, service_account
from simkit.meta.names import Key
from simkit.meta.objects import Object
from tests.logic.rbac import naive
from tests.logic.rbac.worlds import World, binding, role, rule

pytestmark = pytest.mark.slow

NAMESPACES = ("x", "y")
IDENTITIES = (
    Identity("ann", ("devs", "system:authenticated")),
    Identity("devs"),
    Identity("", ("devs",)),
    service_account("x", "robot"),
    Identity("system:serviceaccount:y:robot", ("ann",)),
    Identity("system:serviceaccount::robot"),
)
SUBJECTS = (
    "user ann",
    "user devs",
    "group devs",
    "group ann",
    "account robot",
    "account x/robot",
    "account y/robot",
    "user system:serviceaccount:x:robot",
    "group system:serviceaccounts:x",
    "robot r2",
)
RULES: tuple[dict[str, Any], ...] = (
    rule("get list", "-", "pods"),
    rule("*", "-", "pods", names="p1"),
    rule("get", "*", "*"),
    rule("get create", "apps -", "deployments */exec pods/log"),
    rule("get", "-", "pods/*"),
    rule("get", paths="/healthz /logs/*"),
    rule("*", paths="*"),
    rule("list", "-", "pods", names="p1 p2"),
    {"verbs": ["get"], "resources": ["pods"]},
    {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": [""]},
)
ASKS = tuple(
    Attributes(identity, verb, group, "v1", resource, subresource, namespace, name)
    for identity in IDENTITIES
    for namespace in ("", *NAMESPACES)
    for verb, group, resource, subresource, name in (
        ("get", "", "pods", "", "p1"),
        ("get", "", "pods", "", ""),
        ("delete", "", "pods", "", "p1"),
        ("list", "", "pods", "", "p2"),
        ("create", "", "pods", "exec", "p3"),
        ("get", "", "pods", "log", "p3"),
        ("create", "apps", "deployments", "", ""),
        ("get", "batch", "jobs", "", "j"),
    )
) + tuple(
    Attributes(identity, verb, path=path, is_resource=False)
    for identity in IDENTITIES
    for verb, path in (("get", "/healthz"), ("get", "/logs/a"), ("post", "/logs"))
)

places = st.sampled_from(("", *NAMESPACES))
roles = st.builds(
    lambda name, namespace, rules: role(name, *rules, namespace=namespace),
    st.sampled_from(("r1", "r2")),
    places,
    st.lists(st.sampled_from(RULES), max_size=3),
)
bindings = st.builds(
    lambda name, namespace, kind, of, subjects: binding(
        name, f"{kind if namespace else 'clusterrole'} {of}", *subjects, namespace=namespace
    ),
    st.sampled_from(("b1", "b2", "b3")),
    places,
    st.sampled_from(("role", "clusterrole")),
    st.sampled_from(("r1", "r2", "r3")),
    st.lists(st.sampled_from(SUBJECTS), max_size=3),
)
changes = st.lists(st.tuples(st.booleans(), st.one_of(roles, bindings)), max_size=12)


def changed(objects: dict[Key, Object], steps: Iterable[tuple[bool, Object]], *, index: AccessIndex) -> None:
    """Write or delete objects, in a plain mapping and in the index alike."""
    for write, obj in steps:
        key = key_of(obj, RESOURCES_OF_KINDS[obj["kind"]])
        if write:
            objects[key] = obj
            index.put(key, obj)
        else:
            objects.pop(key, None)
            index.remove(key)


def check(objects: dict[Key, Object], index: AccessIndex) -> None:
    """The index says what a naive reading says: decisions, reasons, held rules, and who may do it."""
    world = World(objects.values())
    for ask in ASKS:
        decision = index.authorize(ask)
        allowing, missing = naive.reasons(world, ask)
        assert decision.allowed == bool(allowing)
        possible = allowing or [naive.complaint(missing)]
        assert naive.unordered(decision.reason) in possible
        for evidence in decision.evidence:
            rules = index.rules(evidence.role)
            assert rules is not None
            assert naive.allows(rules[evidence.rule].entry(), ask)
        assert decision.allowed == found_by_who(index, ask)


def found_by_who(index: AccessIndex, ask: Attributes) -> bool:
    """True if the user is among the subjects found to be allowed."""
    question = Question(ask.verb, ask.group, ask.resource, ask.subresource, ask.namespace, ask.name, ask.path)
    mine = {("User", ask.identity.user), *(("Group", group) for group in ask.identity.groups)}
    return any(answer.grant.subject.principal in mine for answer in index.who(question))


@settings(max_examples=40)
@given(changes, changes, changes)
def test_follows_and_forks(first: Any, second: Any, third: Any) -> None:
    """After any changes, on the original and on a fork, the index agrees with a reading of all objects."""
    objects: dict[Key, Object] = {}
    index = AccessIndex()
    changed(objects, first, index=index)
    check(objects, AccessIndex.of(World(objects.values())))
    forked, fork = dict(objects), index.fork()
    changed(forked, second, index=fork)
    changed(objects, third, index=index)
    check(objects, index)
    check(forked, fork)
    check(forked, fork.fork().fork())


@settings(max_examples=40)
@given(changes)
def test_grants_are_what_bindings_state(steps: Any) -> None:
    """Grants, subjects and held rules are those of the bindings, whichever way they are asked for."""
    objects: dict[Key, Object] = {}
    index = AccessIndex()
    changed(objects, steps, index=index)
    world = World(objects.values())
    grants = list(index.all_grants())
    assert {grant.subject for grant in grants} == set(index.subjects())
    for identity in IDENTITIES:
        mine = {("User", identity.user), *(("Group", group) for group in identity.groups)}
        expected = {grant for grant in grants if grant.subject.principal in mine}
        assert set(index.grants(identity)) == expected
        for namespace in ("", *NAMESPACES):
            bound = [one for one, _ in naive.applying(world, Attributes(identity, "", namespace=namespace))]
            held = list(dict.fromkeys((g.binding, g.rules) for g in expected if g.namespace in ("", namespace)))
            assert len(held) == len(bound)
            assert sorted(index.rules_for(identity, namespace).rules, key=str) == sorted(
                (one for _, rules in held for one in rules), key=str
            )


def test_reason_names_the_first_binding() -> None:
    """Cluster-wide bindings speak before those of the namespace, and by name; the subject is the binding's first."""
    index = AccessIndex.of(
        World(
            [
                role("r", rule("get", "-", "pods")),
                binding("a", "clusterrole r", "user ann", namespace="x"),
                binding("c", "clusterrole r", "user ann"),
                binding("b", "clusterrole r", "group devs", "user ann"),
            ]
        )
    )
    ask = Attributes(Identity("ann", ("devs",)), "get", resource="pods", namespace="x")
    decision = index.authorize(ask)
    assert decision.reason == 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "devs"'
    assert [evidence.binding.name for evidence in decision.evidence] == ["b"]
    assert [evidence.rule for evidence in decision.evidence] == [0]


def test_missing_roles_show_in_the_refusal() -> None:
    """Each role that a binding names in vain is reported once, cluster-wide ones first; an allowed request hides them."""
    objects = [
        binding("b", "role gone", "user ann", namespace="x"),
        binding("c", "clusterrole gone", "user ann"),
        binding("d", "clusterrole gone", "user ann"),
    ]
    ask = Attributes(Identity("ann"), "get", resource="pods", namespace="x")
    reason = AccessIndex.of(World(objects)).authorize(ask).reason
    group = "rbac.authorization.k8s.io"
    assert reason == f'RBAC: [clusterrole.{group} "gone" not found, role.{group} "gone" not found]'
    more = [role("r", rule("get", "-", "pods")), binding("e", "clusterrole r", "user ann", namespace="x")]
    assert AccessIndex.of(World([*objects, *more])).authorize(ask).allowed


def test_unknown_reference() -> None:
    """A binding to something that is no role grants nothing and says so."""
    odd = {**binding("b", "role r", "user ann", namespace="x"), "roleRef": {"kind": "Cat", "name": "r"}}
    decision = AccessIndex.of(World([odd])).authorize(
        Attributes(Identity("ann"), "get", resource="pods", namespace="x")
    )
    assert decision.reason == 'RBAC: unsupported role reference kind: "Cat"'


def test_found_subjects_come_with_their_rule() -> None:
    """Each answer carries the grant and the first rule that allows; a name may be left open."""
    index = AccessIndex.of(
        World(
            [
                role("r", rule("get", "-", "nodes"), rule("get", "-", "secrets", names="db"), namespace="x"),
                binding("b", "role r", "user ann", "account robot", namespace="x"),
                binding("n", "role r", "user bob", namespace="y"),
            ]
        )
    )
    answers = list(index.who(Question("get", resource="secrets", namespace="x", name="db")))
    assert {answer.grant.subject for answer in answers} == {
        Subject("User", "ann"),
        Subject("ServiceAccount", "robot", "x"),
    }
    assert {answer.rule for answer in answers} == {1}
    assert not list(index.who(Question("get", resource="secrets", namespace="x")))
    assert len(list(index.who(Question("get", resource="secrets", namespace=None, name=None)))) == 2
    missing = list(index.grants_of_subject(Subject("User", "bob")))
    assert [(grant.missing, grant.rules) for grant in missing] == [(True, ())]


def test_other_resources_are_ignored() -> None:
    """A listener may hand in every change."""
    index = AccessIndex()
    key = Key(CLUSTER_ROLES._replace(resource="pods"), "x", "p")
    index.put(key, {"kind": "Pod"})
    index.remove(key)
    index.remove(Key(ROLE_BINDINGS, "x", "never-seen"))
    assert not list(index.bindings())


def test_a_role_that_changes_is_never_missing() -> None:
    """While a role is replaced, questions find the old rules or the new ones."""
    index = AccessIndex()
    key = Key(CLUSTER_ROLES, "", "r")
    index.put(key, role("r", rule("get", "-", "pods")))
    seen: list[tuple[Rule, ...] | None] = []

    class Watching(dict[str, Any]):
        def get(self, name: str, default: Any = None) -> Any:
            seen.append(index.rules(key))
            return super().get(name, default)

    index.put(key, Watching(role("r", rule("list", "-", "pods"))))
    assert None not in seen
    assert index.rules(key) == (Rule(("list",), ("",), ("pods",)),)

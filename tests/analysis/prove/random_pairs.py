"""Random pairs of clusters over small alphabets, and their comparison request by request.

Each alphabet has a word that no rule names. It stands for all others: users, groups, namespaces and resources that do
not exist yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

from simkit.analysis.rbac.index import chain_of
from simkit.analysis.rbac.subject import identity_of
from simkit.logic.authorizers.chain import AuthorizerChain
from simkit.logic.rbac.aggregate import with_aggregated_rules
from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from simkit.meta.attributes import Attributes
from simkit.meta.identity import Identity
from simkit.seams.authorization import stated
from simkit.snapshot.memory import MemorySnapshot
from tests.analysis.worlds import binding, role

NAMESPACES = ("a", "b")
SUBJECTS = (
    *("user:ann", "user:system:anonymous", "user:system:serviceaccount:a:robot", "sa:a/robot", "sa:b/robot"),
    *("group:devs", "group:ops", "group:system:authenticated", "group:system:unauthenticated"),
    *("group:system:serviceaccounts", "group:system:serviceaccounts:a", "group:system:masters", "group:system:nodes"),
)
PROVIDED = ("user:ann", "user:new")
USERS = (
    *PROVIDED,
    *("user:system:anonymous", "user:system:node:new"),
    *("sa:a/robot", "sa:a/new", "sa:b/robot", "sa:new/new"),
)
LABEL = {"gather": "yes"}
SELECTOR = {"clusterRoleSelectors": [{"matchLabels": LABEL}]}


def _some(random: Random, words: tuple[str, ...]) -> list[str]:
    return random.sample(words, random.randint(1, 2))


def _rule(random: Random) -> dict[str, Any]:
    verbs = _some(random, ("get", "list", "*"))
    if random.random() < 0.2:
        return {"verbs": verbs, "nonResourceURLs": _some(random, ("/a", "/a/*", "*", "/a/b*"))}
    resources = ("p", "q", "p/s", "*/s", "*", "p/*")
    rule = {"verbs": verbs, "apiGroups": _some(random, ("", "g", "*")), "resources": _some(random, resources)}
    return {**rule, "resourceNames": ["n"]} if random.random() < 0.25 else rule


def _role(random: Random, name: str, namespace: str = "") -> dict[str, Any]:
    made = role(name, *(_rule(random) for _ in range(random.randint(0, 3))), namespace=namespace)
    if namespace:
        return made
    if random.random() < 0.2:
        return {**made, "aggregationRule": SELECTOR}
    return {**made, "metadata": {**made["metadata"], "labels": LABEL}} if random.random() < 0.2 else made


def _binding(random: Random, name: str) -> dict[str, Any]:
    namespace = random.choice(("", *NAMESPACES))
    local = bool(namespace) and random.random() < 0.3
    subjects = random.sample(SUBJECTS, random.randint(0, 2))
    return binding(name, random.choice(("r0", "r1", "r2")), *subjects, namespace=namespace, local=local)


def random_pair(seed: int) -> tuple[MemorySnapshot, MemorySnapshot]:
    """A cluster before and after a few changes of its roles and bindings."""
    random = Random(seed)
    roles = {name: _role(random, name) for name in ("r0", "r1", "r2")}
    roles |= {f"{namespace}/r0": _role(random, "r0", namespace) for namespace in NAMESPACES}
    bindings = {name: _binding(random, name) for name in map(str, range(random.randint(0, 6)))}
    changed, rebound = dict(roles), dict(bindings)
    for _ in range(random.randint(1, 2)):
        if random.random() < 0.4:
            name = random.choice(("r0", "r1", "r2"))
            changed[name] = _role(random, name)
        elif random.random() < 0.3 and rebound:
            del rebound[random.choice(sorted(rebound))]
        else:
            rebound[f"new{random.randint(0, 1)}"] = _binding(random, f"new{random.randint(0, 9)}")
    sides = ((*roles.values(), *bindings.values()), (*changed.values(), *rebound.values()))
    before, after = (MemorySnapshot(objects, captured=["*"], authorization=stated(["RBAC"])) for objects in sides)
    return before, after


def identities() -> Iterator[Identity]:
    """Everybody; users of an identity provider in every combination of groups."""
    for user in USERS:
        for groups in ((), ("devs",), ("ops",), ("devs", "ops")) if user in PROVIDED else ((),):
            yield identity_of(user, groups)


def requests(identity: Identity) -> Iterator[Attributes]:
    """Every request of an identity over the alphabets."""
    verbs = ("get", "list", "new")
    named = (("", "g", "new"), ("p", "q", "new"), ("", "s", "*", "new"))
    what = product(verbs, *named, ("", *NAMESPACES, "new"), ("", "n", "new"))
    for verb, group, resource, subresource, namespace, name in what:
        yield Attributes(identity, verb, group, "", resource, subresource, namespace, name)
    for verb, path in product(verbs, ("/a", "/a/", "/a/b", "/a/bx", "/a/x", "/", "/new")):
        yield Attributes(identity, verb, path=path, is_resource=False)


def as_settled(snapshot: MemorySnapshot) -> AuthorizerChain:
    """The engine's authorizers over the objects of a snapshot, with aggregated roles filled."""
    others = (obj for resource in (ROLES, CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS) for obj in snapshot.scan(resource))
    objects = [*with_aggregated_rules(snapshot.scan(CLUSTER_ROLES)), *others]
    return chain_of(MemorySnapshot(objects, captured=["*"], authorization=stated(["RBAC"])))


def new_request(before: MemorySnapshot, after: MemorySnapshot) -> Attributes | None:
    """Some request that is allowed after and not before, found by asking for each."""
    was, now = as_settled(before), as_settled(after)
    asked = (ask for identity in identities() for ask in requests(identity))
    return next((ask for ask in asked if now.authorize(ask).allowed and not was.authorize(ask).allowed), None)

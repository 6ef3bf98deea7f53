"""Formulas of expressions say of each object what evaluating the expression says."""

from __future__ import annotations

from random import Random
from typing import Any

from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.prove.formulas import z3
from simkit.analysis.prove.object_search import ObjectSearch
from simkit.analysis.prove.policy import CheckedPolicy, policy_of_expressions
from simkit.analysis.prove.symbols import Either, Listed, Mapped, Record, Scalar, Universe
from simkit.analysis.prove.write import UnknownWrite, Write, schema_of_writes
from simkit.snapshot.memory import MemorySnapshot

SNAPSHOT = MemorySnapshot([], captured=["*"], release="1.30")
PODS = catalogue_of(SNAPSHOT).lookup("pods")
IMAGES = ("a", "b/a", "b/a:v1", "b/c@sha256:ff")
LEAVES = (
    "c.image.startsWith('b/')",
    "c.image.contains('@')",
    "c.image.endsWith('a')",
    "c.image.matches('^[a-z]/.*:v[0-9]$')",
    "c.image == 'a'",
    "c.image in ['a', 'b/a']",
    "c.name != 'x'",
    "has(c.securityContext)",
    "has(c.securityContext.privileged)",
    "c.securityContext.privileged",
    "c.securityContext.privileged == false",
    "c.securityContext.runAsUser > 5",
    "c.securityContext.runAsUser + 1 == 8",
    "c.ports.exists(p, p.containerPort == 80)",
    "c.ports.all(p, p.containerPort < 1024)",
    "size(c.ports) > 1",
    "c.name.size() == 1",
    "c.?image.orValue('') == 'a'",
    "c.?securityContext.?privileged.orValue(false)",
    "c.?image.orValue(c.image) == 'a'",
    "c.ports.orValue([]).size() == 1",
    "c.?image.or(optional.none()).hasValue()",
    "c.?securityContext.?runAsUser.hasValue()",
    "c.?securityContext.runAsUser.orValue(7) == 7",
    "c.?ports.orValue([]).size() == 2",
    "c.?resources.?limits[?'cpu'].orValue('1') == '500m'",
    "c.?image.optMap(i, i.endsWith('a')).orValue(true)",
    "dyn(c.?securityContext.?runAsUser.orValue('x')) == 'x'",
)
ROOTS = (
    "has(object.metadata.labels)",
    "has(object.metadata.labels.a)",
    "object.metadata.labels['a'] == 'b'",
    "'a' in object.metadata.labels",
    "object.metadata.labels.exists(k, object.metadata.labels[k] == 'b')",
    "object.metadata.name == 'x'",
    "object.spec.hostNetwork",
    "object.spec.containers[0].name == 'x'",
    "object.spec.containers[1].name == 'x'",
    "size(object.spec.containers) == 2",
    "'hostNetwork' in object.spec",
    "object == null",
    "oldObject == null",
    "request.operation == 'CREATE'",
    "object.spec.containers.map(c, c.name).exists(n, n == 'y')",
    "'x' in object.spec.containers.filter(c, has(c.image)).map(c, c.name)",
    "object.spec.containers.filter(c, c.name == 'x').size() == 1",
    "object.spec.containers.filter(c, has(c.image))[0].name == 'x'",
    "object.?metadata.?labels.orValue({}).all(k, k != 'a')",
    "object.metadata.?labels[?'a'].orValue('') == 'b'",
    "object.metadata.labels == {'a': 'b', 'd': 'b'}",
    "request.name == 'x'",
    "request.namespace == object.metadata.namespace",
    "request.resource.resource == 'pods' && request.kind.version == 'v1'",
    "object.metadata.name == object.spec.containers[0].name",
    "has(request.subResource)",
    "has(namespaceObject.metadata)",
)
LISTS = (
    "object.spec.containers",
    "object.spec.initContainers",
    "(object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))",
)


def expression(random: Random, depth: int, leaves: tuple[str, ...] = ROOTS) -> str:
    """A random condition."""
    kind = random.randint(0, 7 if depth else 1)
    if kind <= 1:
        return random.choice(leaves)
    if kind == 2:
        return f"!({expression(random, depth - 1, leaves)})"
    one, other = (expression(random, depth - 1, leaves) for _ in range(2))
    if kind <= 4:
        return f"({one}) {random.choice(('&&', '||'))} ({other})"
    if kind == 5:
        return f"({one}) ? ({other}) : ({random.choice(leaves)})"
    if leaves is LEAVES:
        return random.choice(leaves)
    macro = random.choice(("all", "exists", "exists_one"))
    return f"{random.choice(LISTS)}.{macro}(c, {expression(random, depth - 1, LEAVES)})"


def pod(random: Random) -> dict[str, Any]:
    """A random pod, as a server would have it."""

    def maybe(made: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in made.items() if random.random() < 0.6}

    def container() -> dict[str, Any]:
        security = maybe({"privileged": random.random() < 0.5, "runAsUser": random.choice((0, 7, 1000))})
        ports = [{"containerPort": random.choice((80, 8080)), "protocol": "TCP"} for _ in range(random.randint(1, 2))]
        limits = maybe({"memory": random.choice(("64Mi", "2Gi")), "cpu": "500m"})
        more = maybe({"image": random.choice(IMAGES), "securityContext": security, "ports": ports})
        resources = maybe({"limits": limits} if limits else {})
        return {"name": random.choice(("x", "y", "zz")), "resources": resources, **more}

    spec = {"containers": [container() for _ in range(random.randint(0, 2))]}
    spec |= maybe({"hostNetwork": True, "initContainers": [container()]})
    labels = maybe({"labels": maybe({"a": random.choice("bc"), "d": "b"}) or {"z": "z"}})
    metadata = {"name": random.choice("xy"), "namespace": "default", **labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def same(universe: Universe, value: Any, wanted: Any) -> Any:
    """The formula that a value is that of an object; None if it has more elements than there are slots."""
    if isinstance(value, Record):
        parts = [
            z3.And(present, same(universe, inner, wanted[name])) if name in wanted else z3.Not(present)
            for name, (present, inner) in value.fields.items()
        ]
    elif isinstance(value, Listed):
        parts = [z3.BoolVal(len(wanted) <= len(value.slots))]
        for number, slot in enumerate(value.slots):
            there = number < len(wanted)
            parts += [
                slot.present == z3.BoolVal(there),
                *([same(universe, slot.value, wanted[number])] if there else []),
            ]
    elif isinstance(value, Mapped):
        parts = [z3.BoolVal(len(wanted) <= len(value.slots))]
        for number, slot in enumerate(value.slots):
            key = sorted(wanted)[number] if number < len(wanted) else None
            parts.append(slot.present == z3.BoolVal(key is not None))
            if key is not None:
                parts += [universe.is_text(slot.key, key), same(universe, slot.value, wanted[key])]
    elif isinstance(value, Either):
        return z3.Or([z3.And(guard, same(universe, option, wanted)) for guard, option in value.options])
    elif isinstance(value, Scalar):
        if isinstance(wanted, str) is not (value.kind == "string"):
            return z3.BoolVal(False)
        return universe.is_text(value.term, wanted) if value.kind == "string" else value.term == wanted
    else:
        parts = []
    return z3.And(parts or [z3.BoolVal(True)])


def compared(seed: int) -> bool:
    """Whether a random condition and a random pod could be compared; they agree then."""
    random = Random(seed)
    source = f"({expression(random, 3)}) && true"
    policy = CheckedPolicy(policy_of_expressions("p", [source], PODS.group_resource), SNAPSHOT)
    obj = pod(random)

    def searched(*, accepted: bool) -> bool:
        def build(universe: Universe, root: Record) -> Any:
            write = UnknownWrite(universe, root, SNAPSHOT, PODS)
            formula = policy.accepted(write)  # which makes the fields that are compared
            same_pod = same(universe, write.object, obj)
            return z3.And(same_pod, formula) if accepted else same_pod

        schema = schema_of_writes(SNAPSHOT, PODS)
        return ObjectSearch(schema, build).run().found is not None

    if not searched(accepted=False):
        return False  # the pod has more elements than the condition can tell apart
    assert searched(accepted=True) is policy.accepts(Write(obj), PODS), (source, obj)
    return True


def test_formulas_agree_with_the_evaluator() -> None:
    """Random conditions over random pods, with their errors."""
    assert sum(compared(seed) for seed in range(50)) > 25

"""The cost of every expression in a cluster: estimated, and measured over the objects that it would see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from simkit.analysis.admission.simulated_writes import (
    OPERATIONS,
    PolicySet,
    SnapshotReader,
    select_policies,
    simulated_writes,
)
from simkit.analysis.catalogue import DEFINITIONS, POLICIES, catalogue_of
from simkit.analysis.rbac.tables import table
from simkit.kinds.apiextensions.definition import Definition
from simkit.kinds.apiextensions.validation.schema import Costs, ValidationOptions, Visit, validate_level
from simkit.kinds.parts.admission.expressions import match_condition
from simkit.language.cel.environment import Program
from simkit.language.cel.errors import CompileError
from simkit.logic.policy.attributes import AdmissionAttributes
from simkit.logic.policy.binding import BoundPolicy
from simkit.logic.policy.params import Misconfigured, params_of
from simkit.logic.policy.policy import Policy, VersionedAttributes
from simkit.logic.policy.variables import Expression
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import ADMISSION_GROUP
from simkit.meta.errors import IncompleteSnapshot, StatusError
from simkit.meta.identity import administrator
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, name_of
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final = ("kind", "object", "path", "expression", "least", "most", "measured", "runs", "error")
_HOOKS: Final = (
    ("MutatingWebhookConfiguration", GroupResource(ADMISSION_GROUP, "mutatingwebhookconfigurations")),
    ("ValidatingWebhookConfiguration", GroupResource(ADMISSION_GROUP, "validatingwebhookconfigurations")),
)
_BOUNDLESS: Final = 2**63


def expression_costs(snapshot: Snapshot) -> pd.DataFrame:
    """Every expression of policies, webhooks and custom resources with its cost.

    Returns
    -------
    DataFrame
        One row per expression: kind, object and path (where it stands), expression; least and most (the estimate in
        the language's units, with the variables that it uses; None for most where nothing bounds it); measured and
        runs (the greatest cost over so many objects of the snapshot, for policies that are in force); error (why it
        does not compile). Most expensive first.

    Raises
    ------
    SimkitError
        For a policy that cannot be read.

    Examples
    --------
    >>> import simkit
    >>> cluster = simkit.Cluster(seed=1)
    >>> len(cluster.expression_costs())
    0
    """
    rows = [*_policies(snapshot), *_webhooks(snapshot), *_definitions(snapshot)]
    rows.sort(key=lambda row: (-(row[6] or 0), -(row[5] if row[5] is not None else _BOUNDLESS), row[1], row[2]))
    return table(rows, COLUMNS)


Row = tuple[Any, ...]


def _policies(snapshot: Snapshot) -> Iterator[Row]:
    if POLICIES not in snapshot.captured():
        return
    stored = list(snapshot.scan(POLICIES))
    measured = _Measured(select_policies(snapshot, None)) if stored else None
    for obj in stored:
        policy = Policy(obj, snapshot.behaviour)
        for path, expression in policy.expressions():
            cost, runs = measured.of(policy.name, path) if measured is not None else (None, 0)
            yield _row("ValidatingAdmissionPolicy", policy.name, path, expression, policy.variables, cost, runs)


def _row(
    kind: str,
    name: str,
    path: str,
    expression: Expression,
    variables: Mapping[str, Expression] | None = None,
    measured: int | None = None,
    runs: int = 0,
) -> Row:
    if expression.program is None:
        return kind, name, path, expression.source, None, None, measured, runs, expression.error
    least, most = _estimate(expression.program, variables or {})
    return kind, name, path, expression.source, least, most if most < _BOUNDLESS else None, measured, runs, ""


def _estimate(program: Program, variables: Mapping[str, Expression]) -> tuple[int, int]:
    """The least and greatest cost of an expression with the variables that it needs, each worked out at most once."""
    least, most = program.estimate(dynamic=True)
    needed, open_names = set[str](), set(program.fields_of("variables"))
    while open_names:
        name = open_names.pop()
        needed.add(name)
        used = variables[name].program if name in variables else None
        if used is not None:
            most += used.estimate(dynamic=True)[1]
            open_names |= used.fields_of("variables") - needed
    return least, most


class _Measured:
    """The greatest cost of each expression over the objects that its policy would see."""

    def __init__(self, known: PolicySet) -> None:
        self._most: dict[tuple[str, str], int] = {}
        self._runs: dict[tuple[str, str], int] = {}
        for _, attributes in simulated_writes(known, OPERATIONS, administrator()):
            for policy in known.policies:
                self._measure(policy, attributes, known.reader)

    def _measure(self, policy: BoundPolicy[Policy], attributes: AdmissionAttributes, reader: SnapshotReader) -> None:
        try:
            matched = policy.policy.constraints.match(attributes, reader)
            bindings = [each for each in policy.bindings if matched is not None and each.match(attributes, reader)]
            params = [
                param
                for each in bindings
                for param in params_of(policy.policy, each.param_ref, attributes.namespace, reader)
            ]
        except (StatusError, Misconfigured, IncompleteSnapshot):
            return
        if matched is None or not params:
            return
        versioned = VersionedAttributes(attributes, matched, reader, None)
        for param in params:
            for path, cost in policy.policy.costs(versioned, param):
                key = (policy.policy.name, path)
                self._most[key] = max(self._most.get(key, 0), cost)
                self._runs[key] = self._runs.get(key, 0) + 1

    def of(self, policy: str, path: str) -> tuple[int | None, int]:
        return self._most.get((policy, path)), self._runs.get((policy, path), 0)


def _webhooks(snapshot: Snapshot) -> Iterator[Row]:
    for kind, resource in _HOOKS:
        for obj in snapshot.scan(resource) if resource in snapshot.captured() else ():
            for index, webhook in enumerate(obj.get("webhooks") or ()):
                for place, condition in enumerate(webhook.get("matchConditions") or ()):
                    path = f"webhooks[{index}].matchConditions[{place}].expression"
                    yield _row(
                        kind, name_of(obj), path, _compiled(condition.get("expression") or "", snapshot.behaviour)
                    )


def _compiled(source: str, behaviour: ServedBehaviour) -> Expression:
    try:
        return Expression(source, match_condition(source, behaviour))
    except CompileError as error:
        return Expression(source, None, str(error))


@dataclass(slots=True)
class _Record(Costs):
    """The greatest cost of each rule so far."""

    found: dict[str, int] = field(default_factory=dict)

    def observe(self, path: str, cost: int) -> None:
        self.found[path] = cost


def _definitions(snapshot: Snapshot) -> Iterator[Row]:
    if DEFINITIONS not in snapshot.captured():
        return
    resolve = catalogue_of(snapshot).definition
    for obj in snapshot.scan(DEFINITIONS):
        definition = Definition(snapshot.behaviour, obj, resolve, trusted=True)
        for index, (name, version) in enumerate(definition.versions.items()):
            record = _Record(each=False)
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            visit = Visit(ValidationOptions(), record, root=True, node=version.schema)
            validate_level(snapshot.behaviour, version.properties, path, visit)
            for place, cost in record.found.items():
                most = cost if cost < _BOUNDLESS else None
                source = _source(obj, place)
                yield "CustomResourceDefinition", f"{name_of(obj)} {name}", place, source, None, most, None, 0, ""


def _source(obj: Object, path: str) -> str:
    """The text at a path of fields and indexes."""
    steps: list[str | int] = []
    for part in path.split("."):
        field, *indexes = part.replace("]", "").split("[")
        steps += [field, *(int(index) if index.isdigit() else index for index in indexes)]
    return str(at(obj, *steps) or "")

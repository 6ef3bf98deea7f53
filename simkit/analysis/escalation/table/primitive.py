"""The table of escalation primitives, read from ``datasets/escalation`` and checked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simkit.analysis.escalation.table.requirement import Requirement, parse_requirements
from simkit.analysis.escalation.table.severity import Severities, Severity, worst
from simkit.analysis.model_file import problems_in_words
from simkit.meta import datasets
from simkit.meta.errors import SimkitError
from simkit.schema.catalogue import Catalogue
from simkit.seams.parts import PartRegistry

TABLE: Final = "escalation/primitives.yaml"
PACKAGES: Final = PartRegistry[Mapping[str, Any]]("simkit.primitives", {})
"""The primitives that installed packages register: each a mapping with the fields of the table."""

Class = Literal[
    "escalation",
    "sharing",
    "impact",
    "recon",
    "limited",
    "state",
    "composite",
    "deputy",
    "pod",
    "node",
    "cloud",
    "outside",
]
EDGE_KINDS: Final = ("escalation", "sharing", "impact", "deputy", "composite")
"""Classes of primitives that make edges. The others are only listed."""
Harmless = Literal["", "roles-lead-nowhere", "nothing-to-share", "nothing-is-missing"]
Performer = Literal[
    "attacker",
    "accomplice",
    "administrator",
    "approver",
    "controller",
    "kubelet",
    "signer",
    "token-controller",
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Operation(_Strict):
    """One operation: a request of the attacker, or an assumed action of another actor."""

    by: Performer = Field("attacker", alias="as")
    do: str = ""
    """Method and path."""
    body: str | dict[str, Any] = ""
    """The name of a body of the table, or a body."""
    change: str = ""
    """The path of an object that is updated or patched, with the verb that is granted."""
    merge: str | dict[str, Any] = ""
    add_subject: bool = False
    pod_image: bool = False
    ephemeral: str = ""
    connect: str = ""
    """The path of a request that is upgraded to a stream."""
    upgrade: str = ""
    """The path of the same over a WebSocket, for those who may only ``get`` it."""
    approve: str = ""
    read: str = ""
    sign: bool = False
    take: Literal["", "token", "secret", "certificate", "bootstrap"] = ""
    """The credential that the answer contains."""
    output: bool = False
    """True if a script of the attacker prints the credential, where a simulated node runs the pod."""
    use: str = ""
    """A sequence of the table, or ``requirements``: the required requests themselves."""
    become: Literal[True, False, "deputy", "masters", "node", "principal"] = False
    """The way to become the reached identity without a credential: by impersonation, or by an assumption."""
    refill: bool = False
    """True if the aggregation controller fills aggregated roles."""
    accept: tuple[int, ...] = ()
    """Further status codes that count as success."""
    because: str = ""
    """The reason why another actor does it; set for all that the attacker does not do."""


class Check(_Strict):
    """The access that an impact gives, and its subject."""

    by: Literal["beneficiary", "attacker"] = Field("attacker", alias="as")
    verb: str = ""
    group: str = ""
    resource: str = ""
    namespace: str = ""
    gained: bool = False


class Variant(_Strict):
    """One variant of a primitive."""

    requires: tuple[str, ...] = ()
    """The required permissions, one request each: see ``parse_requirements``."""
    condition: str = ""
    """A precondition on the objects of the cluster: a word of ``find.primitive_conditions``."""
    outcome: str
    """The outcome: a word of ``find.outcomes``."""
    cost: float = 1.0
    """The cost beyond one request: other parties, other objects, patience."""
    execute: tuple[Operation, ...] | None = None
    """The operations to execute; by default the required requests themselves."""
    variables: dict[str, str] = {}
    deputy: str = ""
    """A part of the name of the service account that carries out the objects' specification."""
    check: Check | None = None


class Primitive(_Strict):
    """One technique of privilege escalation: required permissions and conditions, and the outcome."""

    id: str
    title: str
    severities: Severities = Field(alias="severity")
    kind: Class = Field("escalation", alias="class")
    since: str = "1.0"
    until: str = ""
    """The first release in which it no longer works."""
    finding: str = ""
    """The id of the finding that an audit makes of a grant; empty where ``risky_permissions.yaml`` has one for it, and
    for what no grant gives."""
    mitigation: str
    references: tuple[str, ...]
    not_executable: str = ""
    """The reason why it cannot be executed; empty if it can."""
    fixtures: tuple[str, ...] = ()
    """The fixtures of the table that it is used on: a fork gets them if the cluster has none."""
    everything: bool = False
    """True if it is no step but the permission for everything; a proof checks it by a review."""
    special_case: bool = False
    """True if it is a special case of other primitives: it is listed, and makes no edges of its own."""
    impersonates: bool = False
    """True if it impersonates. A request carries one impersonation, so an impersonated identity cannot use it."""
    judges_holder: bool = False
    """True if its conditions look at all permissions of the holder, and not only at the required ones."""
    needs_secret: bool = False
    """True if the name of a secret must be known."""
    certificates: tuple[Literal["user-certificate", "node-certificate", "authority"], ...] = ()
    """The certificates in its requests."""
    harmless_where: Harmless = ""
    """The circumstances in which a grant of it is harmless, besides those common to all primitives."""
    variants: tuple[Variant, ...]

    @property
    def severity(self) -> Severity:
        """The severity of a cluster-wide grant."""
        return worst((self.severities.cluster, self.severities.namespace)) or Severity.INFO

    def holds_in(self, release: str) -> bool:
        """True if it works in a release."""
        return _number(self.since) <= _number(release) and (not self.until or _number(release) < _number(self.until))

    @property
    def executable(self) -> bool:
        """True if it can be proven by execution."""
        return not self.not_executable


class Fixture(_Strict):
    """An object that primitives are used on, and the requests of an administrator that create it."""

    title: str
    operations: tuple[Operation, ...]


class Table(_Strict):
    """All primitives, with their shared bodies and sequences."""

    groups: dict[str, str] = {}
    sources: dict[str, str] = {}
    bodies: dict[str, dict[str, Any]] = {}
    sequences: dict[str, tuple[Operation, ...]] = {}
    fixtures: dict[str, Fixture] = {}
    primitives: tuple[Primitive, ...]

    def with_package(self, name: str, fields: Mapping[str, Any]) -> Table:
        """The table with the primitives of a package, and the bodies, sequences and fixtures that they use.

        Raises
        ------
        SimkitError
            If the fields are wrong, or if a name or an id is taken.
        """
        try:
            more = Table.model_validate(fields)
        except ValidationError as error:
            raise SimkitError(f"{PACKAGES.group}: {name}: {next(problems_in_words(error, Table))}") from None
        except SimkitError as error:
            raise SimkitError(f"{PACKAGES.group}: {name}: {error}") from None
        for one in more.primitives:
            if one.kind not in EDGE_KINDS:
                kinds = ", ".join(EDGE_KINDS)
                raise SimkitError(f"{PACKAGES.group}: {name}: {one.id}: class {one.kind!r} is not one of {kinds}")
        taken = [one.id for one in more.primitives if one.id in self._by_id]
        joined: dict[str, Any] = {"primitives": (*self.primitives, *more.primitives)}
        for field in ("groups", "sources", "bodies", "sequences", "fixtures"):
            ours, theirs = getattr(self, field), getattr(more, field)
            taken += [f"{field}.{word}" for word in theirs if word in ours]
            joined[field] = {**ours, **theirs}
        if taken:
            raise SimkitError(f"{PACKAGES.group}: {name}: {taken[0]} is taken; choose another name")
        return Table(**joined)

    @cached_property
    def _by_id(self) -> dict[str, Primitive]:
        return {one.id: one for one in self.primitives}

    def with_condition(self, condition: str, outcome: str = "") -> Primitive:
        """The primitive with a condition and, if several have it, an outcome."""
        for one in self.primitives:
            for variant in one.variants:
                if variant.condition == condition and outcome in ("", variant.outcome):
                    return one
        raise SimkitError(f"no escalation primitive has the condition {condition!r}")

    def primitive(self, identifier: str) -> Primitive:
        """The primitive with an id. Raises SimkitError if there is none."""
        found = self._by_id.get(identifier)
        if found is not None:
            return found
        first, last = self.primitives[0].id, self.primitives[-1].id
        raise SimkitError(f"there is no escalation primitive {identifier!r}; ids run from {first} to {last}")


@cache
def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


@cache
def primitives() -> Table:
    """The bundled table, with the primitives of installed packages.

    Raises
    ------
    SimkitError
        If the primitives of a package cannot be imported or are wrong.

    Examples
    --------
    >>> primitives().primitive("C5").title
    'Requests tokens of service accounts'
    """
    table = Table.model_validate(datasets.load(TABLE))
    for name in PACKAGES:
        table = table.with_package(name, PACKAGES[name])
    return table


@cache
def requirements_of(identifier: str, variant: int, release: str) -> tuple[Requirement, ...]:
    """The parsed requirements of one variant of a primitive at a release."""
    table = primitives()
    return parse_requirements(
        table.primitive(identifier).variants[variant].requires, table.groups, Catalogue.for_release(release)
    )

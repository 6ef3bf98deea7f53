"""The table of escalation primitives, read from ``datasets/escalation`` and checked."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from simkit.analysis.escalation.table.requirement import Requirement, parse_requirements
from simkit.analysis.escalation.table.severity import Severities, Severity, worst
from simkit.meta import datasets
from simkit.meta.errors import SimkitError
from simkit.schema.catalogue import Catalogue

TABLE: Final = "escalation/primitives.yaml"

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
    """One thing that is done: a request of the attacker, or what somebody else is assumed to do."""

    by: Performer = Field("attacker", alias="as")
    do: str = ""
    """Method and path."""
    body: str | dict[str, Any] = ""
    """The name of a body of the table, or a body."""
    change: str = ""
    """The path of an object that is updated or patched, by whichever verb is granted."""
    merge: str | dict[str, Any] = ""
    add_subject: bool = False
    pod_image: bool = False
    ephemeral: str = ""
    connect: str = ""
    """The path of a request that would be upgraded to a stream."""
    approve: str = ""
    read: str = ""
    sign: bool = False
    take: Literal["", "token", "secret", "certificate", "bootstrap"] = ""
    """What credential the answer holds."""
    use: str = ""
    """A sequence of the table, or ``requirements``: the required requests themselves."""
    become: Literal[True, False, "deputy", "masters", "node"] = False
    """Become the reached identity without a credential of one's own: by impersonation, or by an assumption."""
    refill: bool = False
    """The aggregation controller fills aggregated roles anew."""
    accept: tuple[int, ...] = ()
    """Answers that are fine besides success."""
    because: str = ""
    """Why somebody else does it; said of all that the attacker does not do."""


class Check(_Strict):
    """The access that an impact gives, and to whom."""

    by: Literal["beneficiary", "attacker"] = Field("attacker", alias="as")
    verb: str = ""
    group: str = ""
    resource: str = ""
    namespace: str = ""
    gained: bool = False


class Variant(_Strict):
    """One way to use a primitive."""

    requires: tuple[str, ...] = ()
    """The required permissions, one request each: see ``parse_requirements``."""
    condition: str = ""
    """A precondition on the objects of the cluster: a word of ``find.conditions``."""
    outcome: str
    """What is reached: a word of ``find.outcomes``."""
    cost: float = 1
    """How much it takes beside one request: other parties, other objects, patience."""
    execute: tuple[Operation, ...] | None = None
    """Left out: the needed requests themselves."""
    variables: dict[str, str] = {}
    deputy: str = ""
    """Part of the name of the service account that does what the objects say."""
    check: Check | None = None


class Primitive(_Strict):
    """One technique of privilege escalation: required permissions and conditions, and the outcome."""

    id: str
    title: str
    severities: Severities = Field(alias="severity")
    kind: Class = Field("escalation", alias="class")
    since: str = "1.0"
    until: str = ""
    """The first release in which it does not work any more."""
    mitigation: str
    references: tuple[str, ...]
    not_executable: str = ""
    """Why it cannot be executed; empty where it can."""
    fixtures: tuple[str, ...] = ()
    """The fixtures of the table that it is used on: a fork gets them where the cluster has none."""
    everything: bool = False
    """True if it is no step, but the permission for everything; a proof asks for it."""
    special_case: bool = False
    """True if it names a special case of other primitives: it is listed, and makes no steps of its own."""
    impersonates: bool = False
    """True if it impersonates. Requests carry one impersonation, so an impersonated identity cannot use it."""
    judges_holder: bool = False
    """True if its conditions look at all that the holder has, and not only at what is required."""
    needs_secret: bool = False
    """True if the name of a secret has to be known."""
    certificates: tuple[Literal["user-certificate", "node-certificate", "authority"], ...] = ()
    """The certificates that its requests hold."""
    harmless_where: Harmless = ""
    """The circumstances in which a grant of it gives nothing, besides those that hold for all primitives."""
    variants: tuple[Variant, ...]

    @property
    def severity(self) -> str:
        """The severity where it is held in the whole cluster, as a word."""
        return (worst((self.severities.cluster, self.severities.namespace)) or Severity.INFO).word

    def holds_in(self, release: str) -> bool:
        """True if it works in a release."""
        return _number(self.since) <= _number(release) and (not self.until or _number(release) < _number(self.until))

    @property
    def executable(self) -> bool:
        """True if it can be proven by executing it."""
        return not self.not_executable


class Fixture(_Strict):
    """Something that primitives are used on, and the requests of an administrator that create it."""

    title: str
    operations: tuple[Operation, ...]


class Table(_Strict):
    """All primitives, and the bodies and sequences that they share."""

    groups: dict[str, str]
    sources: dict[str, str]
    bodies: dict[str, dict[str, Any]]
    sequences: dict[str, tuple[Operation, ...]]
    fixtures: dict[str, Fixture]
    primitives: tuple[Primitive, ...]

    @cached_property
    def _by_id(self) -> dict[str, Primitive]:
        return {one.id: one for one in self.primitives}

    def with_condition(self, condition: str, outcome: str = "") -> Primitive:
        """The primitive that has a condition and, where several have it, an outcome."""
        for one in self.primitives:
            for variant in one.variants:
                if variant.condition == condition and outcome in ("", variant.outcome):
                    return one
        raise SimkitError(f"no escalation primitive has the condition {condition!r}")

    def primitive(self, identifier: str) -> Primitive:
        """One primitive. Raises SimkitError where there is none of that id."""
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
    """The bundled table.

    Examples
    --------
    >>> primitives().primitive("C5").title
    'Requests tokens of service accounts'
    """
    with datasets.path(TABLE).open("rb") as file:
        return Table.model_validate(yaml.load(file, yaml.CSafeLoader))


@cache
def requirements_of(identifier: str, variant: int, release: str) -> tuple[Requirement, ...]:
    """The parsed requirements of one variant of a primitive at a release."""
    table = primitives()
    return parse_requirements(
        table.primitive(identifier).variants[variant].requires, table.groups, Catalogue.for_release(release)
    )

"""The table of escalation primitives, read from ``datasets/escalation`` and checked."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from simkit.analysis.escalation.table.requirement import Requirement, parse_requirements
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
Severity = Literal["critical", "high", "medium", "low", "info"]
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
    """A sequence of the table, or ``needs``: the needed requests themselves."""
    wear: Literal[True, False, "deputy", "masters", "node"] = False
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

    needs: tuple[str, ...] = ()
    when: str = ""
    """A condition on the objects of the cluster: see ``conditions``."""
    yields: str
    """What is reached: see ``yields``."""
    cost: float = 1
    """How much it takes beside one request: other parties, other objects, patience."""
    execute: tuple[Operation, ...] | None = None
    """Left out: the needed requests themselves."""
    variables: dict[str, str] = {}
    deputy: str = ""
    """Part of the name of the service account that does what the objects say."""
    check: Check | None = None


class Primitive(_Strict):
    """What lets somebody become more than they are."""

    id: str
    title: str
    severity: Severity
    kind: Class = Field("escalation", alias="class")
    since: str = "1.0"
    until: str = ""
    """The first release in which it does not work any more."""
    mitigation: str
    references: tuple[str, ...]
    why_not: str = ""
    """Why it cannot be executed; empty where it can."""
    lend: tuple[str, ...] = ()
    """The things of the table that it is used on, and that can be lent where a cluster has none."""
    ways: tuple[Variant, ...]

    def holds_in(self, release: str) -> bool:
        """Whether it works in a release."""
        return _number(self.since) <= _number(release) and (not self.until or _number(release) < _number(self.until))

    @property
    def executable(self) -> bool:
        """Whether it can be proven by executing it."""
        return not self.why_not


class Fixture(_Strict):
    """What primitives are used on, and the requests of an administrator that put it there."""

    title: str
    made: tuple[Operation, ...]


class Table(_Strict):
    """All primitives, and the bodies and sequences that they share."""

    groups: dict[str, str]
    sources: dict[str, str]
    bodies: dict[str, dict[str, Any]]
    sequences: dict[str, tuple[Operation, ...]]
    things: dict[str, Fixture]
    primitives: tuple[Primitive, ...]

    def primitive(self, identifier: str) -> Primitive:
        """One primitive. Raises SimkitError where there is none of that id."""
        for one in self.primitives:
            if one.id == identifier:
                return one
        raise SimkitError(f"there is no escalation primitive {identifier!r}; ids run from A1 to K18")


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
def requirements_of(identifier: str, way: int, release: str) -> tuple[Requirement, ...]:
    """The parsed needs of one way of a primitive."""
    table = primitives()
    return parse_requirements(table.primitive(identifier).ways[way].needs, table.groups, Catalogue.for_release(release))

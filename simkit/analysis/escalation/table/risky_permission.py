"""The permissions that an audit reports, read from ``datasets/escalation``.

Each entry names the primitives that its grants lead to, and has their severity: a grant is judged once. A primitive
that no entry names has a finding of its own, which is derived from the table of primitives.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from simkit.analysis.escalation.table.primitive import Primitive, primitives
from simkit.analysis.escalation.table.requirement import Requirement, parse_requirements
from simkit.analysis.escalation.table.severity import Severities, Severity, worst
from simkit.meta import datasets
from simkit.schema.catalogue import Catalogue

TABLE: Final = "escalation/risky_permissions.yaml"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RiskyGrant(_Strict):
    """A set of permissions that makes a finding if all are granted in the same scope."""

    requires: tuple[str, ...]
    primitives: tuple[str, ...] = ()
    """The primitives that it leads to; the finding has their severity."""
    part_of: tuple[str, ...] = ()
    """The primitives that it leads to together with other grants; the finding then has its own severity."""
    severity: Severities | None = None
    if_present: bool = False
    """True if it counts only if one of the objects that it names exists."""
    variant: int | None = None
    """The variant of the primitive that it is; it then counts only where a holder can use that variant."""

    @model_validator(mode="after")
    def _one_severity(self) -> RiskyGrant:
        if bool(self.primitives) == (self.severity is not None) or bool(self.primitives) == bool(self.part_of):
            raise ValueError(f"{self.requires}: name primitives, or else part_of and a severity")
        return self

    def at(self, namespace: str, *, by_name: bool = False) -> Severity | None:
        """The severity in a namespace (empty: everywhere), perhaps for single names only."""
        scales = (self.severity,) if self.severity else _scales(self.primitives)
        return worst(tuple(one.at(namespace, by_name=by_name) for one in scales if one is not None))


class RiskyPermission(_Strict):
    """A permission, or several together, that makes a finding. Any of its grants is enough."""

    id: str
    title: str
    why: str
    fix: str
    grants: tuple[RiskyGrant, ...]
    by_name: bool = True
    """True if a grant for single names makes a finding too."""

    @property
    def primitives(self) -> tuple[str, ...]:
        """The ids of the primitives that its grants lead to, alone or with others."""
        return tuple(dict.fromkeys(one for grant in self.grants for one in (*grant.primitives, *grant.part_of)))

    @property
    def severity(self) -> Severity:
        """The worst severity of its grants."""
        return worst(tuple(grant.at("") for grant in self.grants)) or Severity.INFO


class DescribedCheck(_Strict):
    """The words of a check of an audit whose findings are made by code, and the primitives that it concerns."""

    title: str
    severity: Annotated[Severity, BeforeValidator(Severity.named)]
    why: str
    fix: str
    primitives: tuple[str, ...] = ()


class RiskyPermissions(_Strict):
    """All risky permissions in the order of a report, and the other checks of an audit by id."""

    permissions: tuple[RiskyPermission, ...]
    checks: dict[str, DescribedCheck]
    derived: tuple[RiskyPermission, ...] = ()
    """Those of primitives that no entry names."""

    @property
    def every(self) -> tuple[RiskyPermission, ...]:
        """All that an audit has a finding for."""
        return (*self.permissions, *self.derived)


def _scales(ids: tuple[str, ...]) -> tuple[Severities, ...]:
    return tuple(primitives().primitive(one).severities for one in ids)


@cache
def risky_permission_table() -> RiskyPermissions:
    """The bundled table.

    Examples
    --------
    >>> next(one.primitives for one in risky_permission_table().permissions if one.id == "token-create")
    ('C5',)
    """
    written = RiskyPermissions.model_validate(datasets.load(TABLE))
    derived = tuple(_permission_of(one) for one in primitives().primitives if one.finding)
    return written.model_copy(update={"derived": derived})


def _permission_of(primitive: Primitive) -> RiskyPermission:
    """The permission of a primitive that has a finding of its own: what its variants require."""
    grants = tuple(
        RiskyGrant(requires=variant.requires, primitives=(primitive.id,), variant=number)
        for number, variant in enumerate(primitive.variants)
        if variant.requires
    )
    return RiskyPermission(
        id=primitive.finding,
        title=primitive.title,
        why=f"It can be a step to more access (primitive {primitive.id}, from {', '.join(primitive.references)}).",
        fix=primitive.mitigation,
        grants=grants,
    )


@cache
def requirements_of_grant(grant: RiskyGrant, release: str) -> tuple[Requirement, ...]:
    """The parsed requirements of a risky grant at a release."""
    return parse_requirements(grant.requires, primitives().groups, Catalogue.for_release(release))

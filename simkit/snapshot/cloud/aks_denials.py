"""Deny assignments of Azure, and the conditions of assignments.

A deny assignment takes away what role assignments grant; Kubernetes RBAC still allows what it allows.

References
----------
"Understand Azure deny assignments" and "Deny Assignments - List For Scope" in the documentation of Azure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from simkit.snapshot.cloud.aks_conditions import decide
from simkit.snapshot.cloud.aks_roles import Permissions, permissions_of
from simkit.snapshot.cloud.output import Unexpected, mappings, optional_text, text, texts

EVERYBODY: Final = "00000000-0000-0000-0000-000000000000"
"""The principal of deny assignments for everybody."""
_TYPE: Final = "microsoft.authorization/denyassignments"
_LONGEST: Final = 200
"""The letters of a condition that answers show."""


class Principal(NamedTuple):
    """The object id, type and name of a principal."""

    principal: str
    kind: str
    name: str


class DenyAssignment(NamedTuple):
    """A block of permissions of a deny assignment: what it takes away, from whom, where, and on which condition."""

    name: str
    scope: str
    here_only: bool
    principals: tuple[Principal, ...]
    excluded: tuple[Principal, ...]
    permissions: Permissions
    condition: str
    enforced: bool
    """False for one that only logs."""


def is_deny_assignment(value: Mapping[str, Any]) -> bool:
    """True for a deny assignment, as the REST API lists it."""
    return "denyAssignmentName" in value or str(value.get("type")).lower() == _TYPE


def deny_assignments(value: Mapping[str, Any]) -> Iterator[DenyAssignment]:
    """The blocks of the deny assignment in an output, each of which denies by itself. Raises Unexpected."""
    named, excluded = (
        tuple(
            Principal(text(one, "id").lower(), optional_text(one, "type"), optional_text(one, "displayName"))
            for one in mappings(value, name, optional=True)
        )
        for name in ("principals", "excludePrincipals")
    )
    for block in mappings(value, "permissions"):
        for name in ("actions", "notActions", "dataActions", "notDataActions"):
            texts(block, name, optional=True)
        yield DenyAssignment(
            optional_text(value, "denyAssignmentName") or text(value, "name"),
            text(value, "scope").rstrip("/"),
            value.get("doNotApplyToChildScopes") is True,
            named,
            excluded,
            permissions_of(block),
            all_of(condition_of(value), condition_of(block)),
            optional_text(value, "denyAssignmentEffect").lower() != "audit",
        )


def condition_of(value: Mapping[str, Any]) -> str:
    """The condition of a statement, in one line; empty if it has none. Raises Unexpected."""
    found = value.get("condition")
    if found is not None and not isinstance(found, str):
        raise Unexpected("condition is no text")
    return " ".join(found.split()) if found else ""


def all_of(*conditions: str) -> str:
    """The condition that holds where all of some do, of which empty ones always do."""
    written = [one for one in conditions if one]
    return written[0] if len(written) == 1 else " AND ".join(f"({one})" for one in written)


def why_undecided(condition: str) -> str | None:
    """Why it is not known whether a condition holds, empty if it holds, and None if it does not."""
    holds = decide(condition) if condition else True
    words = condition if len(condition) <= _LONGEST else f"{condition[:_LONGEST]}..."
    return None if holds is False else "" if holds else f"on the condition {words}"

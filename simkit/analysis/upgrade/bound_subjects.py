"""The subjects that the bindings among some items give roles to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.analysis.rbac.subject import text_of
from simkit.analysis.upgrade.items import Item
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER, Subject
from simkit.meta.domain import RBAC_GROUP

SHOWN: Final = 4
"""So many subjects are named, the others counted."""
Role = tuple[str, str, str]
"""Kind, namespace (empty for a ClusterRole) and name."""


class BoundRole(NamedTuple):
    """A binding with the role and the subjects that it names."""

    item: Item
    role: Role
    subjects: tuple[str, ...]


def bindings_of(items: Iterable[Item]) -> Iterator[BoundRole]:
    """The bindings among some items, whatever their version."""
    for item in items:
        if item.group == RBAC_GROUP and item.kind in ("RoleBinding", "ClusterRoleBinding"):
            reference = item.obj.get("roleRef")
            if isinstance(reference, Mapping):
                kind = str(reference.get("kind"))
                role = (kind, item.namespace if kind == "Role" else "", str(reference.get("name")))
                yield BoundRole(item, role, tuple(_subjects(item)))


def named(subjects: Sequence[str]) -> str:
    """Subjects as text: the first ones, and how many more there are."""
    more = f" and {len(subjects) - SHOWN} more" if len(subjects) > SHOWN else ""
    return ", ".join(subjects[:SHOWN]) + more


class BoundSubjects:
    """The subjects of each role, by the bindings among some items, whatever their version."""

    def __init__(self, items: Iterable[Item]) -> None:
        found: dict[Role, dict[str, None]] = {}
        for binding in bindings_of(items):
            found.setdefault(binding.role, {}).update(dict.fromkeys(binding.subjects))
        self._found = {role: tuple(names) for role, names in found.items()}

    def of(self, item: Item) -> str:
        """The subjects of a role as text; empty if no binding among the items names it."""
        role = (item.kind, item.namespace if item.kind == "Role" else "", item.name)
        return named(self._found.get(role, ()))


def _subjects(item: Item) -> Iterator[str]:
    subjects: Any = item.obj.get("subjects")
    for each in subjects if isinstance(subjects, list) else ():
        if isinstance(each, Mapping) and each.get("kind") in (USER, GROUP, SERVICE_ACCOUNT):
            place = str(each.get("namespace") or item.namespace) if each["kind"] == SERVICE_ACCOUNT else ""
            yield text_of(Subject(str(each["kind"]), str(each.get("name") or ""), place))

"""The subjects that the bindings among some items give roles to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from simkit.analysis.rbac.subject import text_of
from simkit.analysis.upgrade.items import Item
from simkit.logic.rbac.binding import GROUP, SERVICE_ACCOUNT, USER, Subject
from simkit.meta.domain import RBAC_GROUP

SHOWN: Final = 4
"""So many subjects are named, the others counted."""
Role = tuple[str, str, str]
"""Kind, namespace (empty for a ClusterRole) and name."""


class BoundSubjects:
    """The subjects of each role, by the bindings among some items, whatever their version."""

    def __init__(self, items: Iterable[Item]) -> None:
        found: dict[Role, dict[str, None]] = {}
        for item in items:
            if item.group == RBAC_GROUP and item.kind in ("RoleBinding", "ClusterRoleBinding"):
                reference = item.obj.get("roleRef")
                if isinstance(reference, Mapping):
                    kind = str(reference.get("kind"))
                    role = (kind, item.namespace if kind == "Role" else "", str(reference.get("name")))
                    found.setdefault(role, {}).update(dict.fromkeys(_subjects(item)))
        self._found = {role: tuple(names) for role, names in found.items()}

    def of(self, item: Item) -> str:
        """The subjects of a role as text; empty if no binding among the items names it."""
        role = (item.kind, item.namespace if item.kind == "Role" else "", item.name)
        names = self._found.get(role, ())
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        return ", ".join(names[:SHOWN]) + more


def _subjects(item: Item) -> Iterator[str]:
    subjects: Any = item.obj.get("subjects")
    for each in subjects if isinstance(subjects, list) else ():
        if isinstance(each, Mapping) and each.get("kind") in (USER, GROUP, SERVICE_ACCOUNT):
            place = str(each.get("namespace") or item.namespace) if each["kind"] == SERVICE_ACCOUNT else ""
            yield text_of(Subject(str(each["kind"]), str(each.get("name") or ""), place))

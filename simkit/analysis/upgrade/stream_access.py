"""Access to streams of pods over WebSockets, which needs the verb create as of 1.35: judged by subject, not by rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from simkit.analysis.upgrade.bound_subjects import Role, bindings_of, named
from simkit.analysis.upgrade.breaks import Break
from simkit.analysis.upgrade.items import Item
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.objects import name_of, namespace_of

STREAMS: Final = "websocket-create"
"""The entry of the table of changed behaviour."""
_STREAMS: Final = ("pods/exec", "pods/attach", "pods/portforward")


class StreamAccess:
    """Who may open streams of pods by get alone, by the roles and bindings among some items."""

    def __init__(self, items: Iterable[Item]) -> None:
        kept = [item for item in items if item.group == RBAC_GROUP]
        roles = {_role(item): item.obj for item in kept if item.kind in ("Role", "ClusterRole")}
        self._bound: dict[Role, list[tuple[str, str]]] = {}
        self._creates: dict[tuple[str, str], set[str]] = {}
        for binding in bindings_of(kept):
            place = "" if binding.item.kind == "ClusterRoleBinding" else binding.item.namespace
            creates = {stream for stream in _STREAMS if _grants(roles.get(binding.role, {}), stream, "create")}
            for subject in binding.subjects:
                self._bound.setdefault(binding.role, []).append((subject, place))
                self._creates.setdefault((subject, place), set()).update(creates)

    def judged(self, item: Item, row: Break) -> Break:
        """The row of a role about its subjects: it breaks nothing where each of them may create, or there is none."""
        wanted = {stream for stream in _STREAMS if _grants(item.obj, stream, "get")}
        bound = self._bound.get(_role(item), [])
        concerned = [subject for subject, place in bound if not wanted <= self._created(subject, place)]
        if concerned:
            return row._replace(who=named(list(dict.fromkeys(concerned))))
        why = "its subjects may create, too" if bound else "no binding among the objects names the role"
        return row._replace(severity="info", breaks=False, evidence=f"{row.evidence}; {why}")

    def _created(self, subject: str, place: str) -> set[str]:
        return self._creates.get((subject, place), set()) | self._creates.get((subject, ""), set())


def _role(item: Item) -> Role:
    return item.kind, namespace_of(item.obj) if item.kind == "Role" else "", name_of(item.obj)


def _grants(role: Mapping[str, Any], stream: str, verb: str) -> bool:
    rules = role.get("rules")
    return any(
        isinstance(rule, Mapping)
        and not {"", "*"}.isdisjoint(rule.get("apiGroups") or ())
        and not {verb, "*"}.isdisjoint(rule.get("verbs") or ())
        and not {stream, f"*/{stream.partition('/')[2]}", "*"}.isdisjoint(rule.get("resources") or ())
        for rule in (rules if isinstance(rules, list) else ())
    )

"""Field labels that the field selectors of each resource accept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from simkit.meta import datasets
from simkit.meta.fielderror import quoted
from simkit.meta.fields import BadFieldSelector, FieldSelector, Term
from simkit.meta.objects import Object, at
from simkit.schema.releases import BASE
from simkit.schema.resources import Resource

_IN_EVERY_OBJECT = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True, slots=True)
class FieldLabels:
    """The field labels of one resource: those that it accepts, their other spellings, and its error for others."""

    labels: frozenset[str]
    error: str
    aliases: Mapping[str, str] = field(default_factory=dict)

    def checked(self, selector: FieldSelector, kind: str) -> FieldSelector:
        """The selector in the labels of the stored version. Raises BadFieldSelector for an unknown label."""
        return FieldSelector(tuple(self._checked(term, kind) for term in selector.terms))

    def _checked(self, term: Term, kind: str) -> Term:
        if term.field not in self.labels and term.field not in self.aliases:
            given = (kind, term.field)[-self.error.count("%s") :] if "%s" in self.error else ()
            text = self.error.replace("%q", quoted(term.field).replace("%", "%%"))
            raise BadFieldSelector(text % given)
        return Term(self.aliases.get(term.field, term.field), term.value, term.equal)

    def with_labels(self, names: Collection[str]) -> FieldLabels:
        """The labels with further ones."""
        return replace(self, labels=self.labels | set(names)) if names else self

    def values(self, obj: Object) -> dict[str, str]:
        """The values of the labels that are simple paths in the object."""
        paths = (self.aliases.get(name, name) for name in self.labels)
        return {path: field_text(at(obj, *path.split("."))) for path in paths if path not in _IN_EVERY_OBJECT}


def field_text(value: Any) -> str:
    """A value for field selectors; empty if it is absent or a structure."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None or isinstance(value, dict | list) else str(value)


_table: Final[Callable[[], dict[str, Any]]] = datasets.lazy(f"api/{BASE}/fields.json")


@cache
def _of_custom(namespaced: bool) -> FieldLabels:
    row = _table()["customResources"]
    return FieldLabels(frozenset(row["labels"] if namespaced else _IN_EVERY_OBJECT[:1]), row["error"])


@cache
def _of(name: str, minor: int) -> FieldLabels:
    table = _table()
    row = table["resources"].get(name)
    for later in datasets.load("api/releases/field-labels.json"):
        if minor >= later["since"]:
            row = later["resources"].get(name, row)
    if row is None:
        return FieldLabels(frozenset(table["default"]["labels"]), table["default"]["error"])
    return FieldLabels(frozenset(row["labels"]), row.get("error", table["listed"]["error"]), row.get("aliases", {}))


def field_labels(resource: Resource, release: str = BASE) -> FieldLabels:
    """The field labels of a resource at a release.

    Examples
    --------
    >>> from simkit.schema.catalogue import Catalogue
    >>> pods = Catalogue.for_release("1.30").lookup("pods")
    >>> field_labels(pods).values({"spec": {"nodeName": "n1"}})["spec.nodeName"]
    'n1'
    """
    if resource.custom:
        return _of_custom(resource.namespaced)
    name, stored = f"{resource.api_version}/{resource.resource}", resource.storage_gvk
    if name not in _table()["resources"] and resource.stored:  # versions of other releases
        name = f"{stored.api_version}/{resource.resource}"
    return _of(name, int(release.partition(".")[2]))

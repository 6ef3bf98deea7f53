"""An explorer of a cluster: its kinds, their objects, and of one object YAML, owners, events, access and history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from simkit.analysis.rbac.tables import table
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, metadata
from simkit.meta.visible_text import html_text
from simkit.notebook.object_relations import events_of, object_access, object_yaml, relations_of
from simkit.notebook.pages import Pages
from simkit.notebook.parts import Box, Button, Sections, Text
from simkit.notebook.sections import Background, PanelBox

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

_KINDS: Final = ("kind", "objects", "resource")
_OBJECTS: Final = ("namespace", "name", "created", "labels")

_YAML: Final = '<pre tabindex="0" style="max-height:32em;overflow:auto">{}</pre>'
"""Long objects scroll in a field of their own, also by keys, or the cell would be as long as they are."""


class Explorer(PanelBox):
    """The kinds of a cluster with their objects; of the chosen object YAML, owners, events, access and history.

    Kinds and objects are chosen by mouse or with the arrow keys. Enter on an owner or dependent opens it, and
    ``back`` returns. Everything is read from the cluster when it is asked for.

    Examples
    --------
    >>> import simkit
    >>> shown = Explorer(simkit.Cluster(seed=1))
    >>> shown.show_object("namespaces", "default")
    >>> shown.wait()
    >>> shown.head.value
    '<b>Namespace default</b>'
    """

    title = "Explorer"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._key: Key | None = None
        self._seen: list[Key] = []
        self.work = Background()
        self.kinds = Pages(empty="The cluster has no objects.", label="kinds")
        self.objects = Pages(empty="Choose a kind.", label="objects")
        self.head, self.yaml = Text("<i>Choose an object.</i>"), Text()
        self.owners = Pages(empty="Nothing owns it, and it owns nothing.", label="owners and dependents")
        self.events = Pages(empty="There are no events about it.", label="events")
        self.access = Pages(empty="No binding allows anything on it.", label="access")
        self.past = Pages(empty="No earlier state of it is known.", label="history")
        self.back = Button("Back", self._go_back, disabled=True)
        parts = {"YAML": self.yaml, "Owners": self.owners, "Events": self.events, "Access": self.access}
        self.sections = Sections({**parts, "History": self.past})
        self.sections.observe(lambda _: self._fill(), "chosen")
        self.kinds.on_choose(lambda row: self._show_kind(_resource(row)))
        self.objects.on_choose(self._show_row)
        self.owners.on_activate(lambda row: self.show_object(row["resource"], row["name"], row["namespace"]))
        self._kind: GroupResource | None = None
        lists = Box([self.kinds, self.objects], "sk-lists")
        super().__init__(self.work, lists, Box([self.back, self.head], "sk-row"), self.sections)
        self.kinds.clear()
        self.work.run("counting objects", self._count, self.kinds.show)

    def show_object(self, word: str, name: str, namespace: str | None = None) -> None:
        """Show an object by any name of its resource. Raises SimkitError for a word that names none."""
        resource = self._cluster.engine.catalogue.lookup(word)
        place = (namespace or "default") if resource.namespaced else ""
        self._show_key(Key(resource.storage, place, name))

    def _count(self) -> pd.DataFrame:
        catalogue, store = self._cluster.engine.catalogue, self._cluster.engine.store
        kinds = {each.storage: each.kind for each in catalogue.stored()}
        rows = [(kind, count, str(storage)) for storage, kind in kinds.items() if (count := store.count(storage))]
        rows.sort()
        return table(rows, _KINDS)

    def _show_kind(self, resource: GroupResource) -> None:
        def rows() -> pd.DataFrame:
            entries = self._cluster.engine.store.scan(resource)
            return table((_row(entry.object) for entry in entries), _OBJECTS)

        def show(found: pd.DataFrame) -> None:
            self._kind = resource
            if not found["namespace"].any():
                found = found.drop(columns="namespace")
            self.objects.label = f"objects: {resource}"
            self.objects.show(found)

        self.work.run("listing objects", rows, show)

    def _show_row(self, row: dict[str, Any]) -> None:
        if self._kind is not None:
            self._show_key(Key(self._kind, row.get("namespace", ""), row["name"]))

    def _show_key(self, key: Key, *, returns: bool = False) -> None:
        if self._key is not None and not returns:
            self._seen.append(self._key)
        self._key = key
        self.back.disabled = not self._seen
        obj = self._object()
        where = f" in namespace {key.namespace}" if key.namespace else ""
        told = "" if obj is not None else " <i>is not there any more</i>"
        kind = str(obj["kind"]) if obj is not None else str(key.resource)
        self.head.value = f"<b>{html_text(kind)} {html_text(key.name)}</b>{html_text(where)}{told}"
        self.yaml.value = _YAML.format(html_text(object_yaml(obj))) if obj is not None else ""
        for each in (self.owners, self.events, self.access, self.past):
            each.clear() if obj is not None else each.show(pd.DataFrame())
        self._fill()

    def _go_back(self) -> None:
        if self._seen:
            self._show_key(self._seen.pop(), returns=True)

    def _object(self) -> Object | None:
        return self._cluster.snapshot().get(*_place(self._key)) if self._key is not None else None

    def _fill(self) -> None:
        """Find out what the shown section tells of the object."""
        obj, key, name = self._object(), self._key, self.sections.chosen
        if obj is None or key is None or name == "YAML":
            return
        finds: dict[str, tuple[Pages, Callable[[], pd.DataFrame]]] = {
            "Owners": (self.owners, lambda: relations_of(self._cluster.snapshot(), obj)),
            "Events": (self.events, lambda: events_of(self._cluster.snapshot(), obj)),
            "Access": (self.access, lambda: object_access(self._cluster, key)),
            "History": (self.past, lambda: self._cluster.history(obj).to_frame()),
        }
        pages, find = finds[name]
        self.work.run(f"looking for {name.lower()}", find, pages.show)


def _resource(row: dict[str, Any]) -> GroupResource:
    name, _, group = str(row["resource"]).partition(".")
    return GroupResource(group, name)


def _place(key: Key) -> tuple[GroupResource, str, str]:
    return key.resource, key.name, key.namespace


def _row(obj: Object) -> tuple[Any, ...]:
    data = metadata(obj)
    labels: Iterable[tuple[str, Any]] = (data.get("labels") or {}).items()
    told = ", ".join(f"{name}={value}" for name, value in labels)
    return (data.get("namespace", ""), data.get("name", ""), data.get("creationTimestamp") or "", told)


explore = Explorer

"""What happens to one object when manifests are applied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from simkit.meta.domain import LAST_APPLIED
from simkit.meta.objects import Object, at, metadata, name_of, namespace_of, with_metadata
from simkit.snapshot.diff import ABSENT, VOLATILE, FieldChange, field_changes
from simkit.snapshot.withhold import is_secret

Action = Literal["create", "change", "replace", "delete", "refused", "not tried", "unchanged"]
ACTIONS: Final = ("refused", "not tried", "replace", "delete", "change", "create", "unchanged")
"""What can happen to an object, the worst first."""
HIDDEN: Final = "(hidden)"
"""Shown in place of a value of a Secret."""
_IGNORED: Final = (*VOLATILE, "metadata.creationTimestamp", "metadata.uid", "status")


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One object of the manifests, or one that is pruned, and what happens to it.

    Attributes
    ----------
    action
        ``create``, ``change``, ``delete``, ``unchanged``; ``replace``: the change is refused, but deleting and creating
        the object works; ``refused``: kube-apiserver refuses it; ``not tried``: the fork could not tell.
    resource
        The resource with its group, such as ``deployments.apps``.
    fields
        The fields that change. Those that kube-apiserver sets or defaults, and the status, do not count.
    message
        Why it is refused or not tried, in the words of kube-apiserver where they are its own.
    warnings
        The warnings of kube-apiserver.
    file, line
        Where the manifest stands; empty and None for an object that is pruned.
    """

    action: Action
    resource: str
    kind: str
    namespace: str
    name: str
    fields: tuple[FieldChange, ...] = ()
    message: str = ""
    warnings: tuple[str, ...] = ()
    file: str = ""
    line: int | None = None

    @property
    def title(self) -> str:
        """Kind, namespace and name: ``Deployment shop/web``."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def place(self) -> str:
        """File and line; empty for an object that is in no manifest."""
        return f"{self.file}:{self.line}" if self.file and self.line else self.file


def fields_changed(before: Object, after: Object) -> tuple[FieldChange, ...]:
    """The fields of an object that a write changed, values of Secrets hidden.

    A Secret of a dump has no values; then its keys alone are compared.
    """
    if is_secret(before) or is_secret(after):
        return tuple(_of_secret(before, after))
    return tuple(field_changes(_comparable(before), _comparable(after), ignore=_IGNORED))


def _comparable(obj: Object) -> Object:
    """The object without the annotation in which kubectl keeps what was applied, and without empty annotations."""
    annotations = dict(metadata(obj).get("annotations") or {})
    annotations.pop(LAST_APPLIED, None)
    kept = with_metadata(obj, annotations=annotations)
    if annotations:
        return kept
    return {**kept, "metadata": {name: value for name, value in metadata(kept).items() if name != "annotations"}}


def _of_secret(before: Object, after: Object) -> list[FieldChange]:
    withheld = all(value == "" for value in (before.get("data") or {}).values())
    changes = []
    for change in field_changes(_comparable(before), _comparable(after), ignore=_IGNORED):
        if not change.path.startswith("data"):
            changes.append(change)
        elif not withheld or ABSENT in (change.before, change.after) or change.path == "data":
            changes.append(FieldChange(change.path, _hidden(change.before), _hidden(change.after)))
    return changes


def _hidden(value: object) -> object:
    return value if value is ABSENT else HIDDEN


def values_withheld(obj: Object) -> bool:
    """True for a Secret whose values a dump left out."""
    values = (at(obj, "data") or {}).values()
    return is_secret(obj) and bool(values) and not any(values)


def changed(action: Action, resource: str, obj: Object, *, namespace: str = "", message: str = "") -> ObjectChange:
    """The change of an object without fields and place."""
    where = namespace or namespace_of(obj)
    return ObjectChange(action, resource, str(obj.get("kind") or ""), where, name_of(obj), message=message)

"""Versions of one kind, with the conversions of each to the hub version and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import SimkitError
from simkit.meta.objects import Draft

Step = Callable[[Draft], None]
"""A function that changes a draft in place."""


class ConversionError(SimkitError):
    """An object that cannot be converted, as in kube-apiserver."""


def _as_it_is(draft: Draft) -> None:
    return None


def _as_stored(behaviour: ServedBehaviour, draft: Draft) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Spoke:
    """One version besides the hub. The steps change everything but ``apiVersion``."""

    to_hub: Step = _as_it_is
    from_hub: Callable[[ServedBehaviour, Draft], None] = _as_stored
    default: Step = _as_it_is
    """Defaults of this version only, set before the conversion to the hub. The hub's come after it."""
    hub_defaults: bool = True
    """True if the version also has the hub's defaults."""

    @property
    def reshapes(self) -> bool:
        """True if a conversion to the hub or back changes more than ``apiVersion``."""
        return self.to_hub is not _as_it_is or self.from_hub is not _as_stored

    @property
    def has_own_defaults(self) -> bool:
        """True if a missing field may have another meaning here than in the hub."""
        return self.default is not _as_it_is or not self.hub_defaults


SAME_FIELDS = Spoke()
"""A version with the same fields and defaults."""


@dataclass(frozen=True, slots=True)
class Family:
    """A kind with its hub version, through which all others are converted, and in which objects are stored."""

    kind: str
    hub: str
    """The hub's ``apiVersion``."""
    spokes: Mapping[str, Spoke] = field(default_factory=lambda: MappingProxyType({}))
    """The other versions by ``apiVersion``."""
    hub_steps: Spoke = SAME_FIELDS
    """The steps of the hub itself when it is read (``to_hub``) and written."""

    @property
    def reshapes(self) -> bool:
        """True if some version differs from the hub in more than its name."""
        return any(spoke.reshapes for spoke in self.spokes.values())

    def spoke(self, api_version: str) -> Spoke | None:
        return self.hub_steps if api_version == self.hub else self.spokes.get(api_version)


def rename(part: Draft, old: str, new: str) -> None:
    """Move a value, if there is one, to another key of the same mapping."""
    if old in part:
        part[new] = part.pop(old)


def section(part: Draft, *names: str) -> Draft:
    """The mapping at a path, created if it is missing."""
    for name in names:
        inner = part.get(name)
        if not isinstance(inner, dict):
            inner = part[name] = {}
        part = inner
    return part


def peek(part: Mapping[str, Any], *names: str) -> Draft:
    """The mapping at a path, or an empty one outside of the draft."""
    for name in names:
        found = part.get(name)
        if not isinstance(found, dict):
            return {}
        part = found
    return part  # type: ignore[return-value]


def entries(part: Mapping[str, Any], name: str) -> Iterator[Draft]:
    """The mappings in a list under a key."""
    for entry in part.get(name) or ():
        if isinstance(entry, dict):
            yield entry


def annotate(draft: Draft, key: str, value: str) -> None:
    section(draft, "metadata", "annotations")[key] = value


def take_annotation(draft: Draft, key: str) -> str | None:
    """The value of an annotation, which is removed, together with an empty annotations map."""
    annotations = peek(draft, "metadata", "annotations")
    if key not in annotations:
        return None
    value: str = annotations.pop(key)
    if not annotations:
        del draft["metadata"]["annotations"]
    return value


def pick(part: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The existing values of some names, in that order."""
    return {name: part[name] for name in names if part.get(name) is not None}


def default(part: Draft, name: str, value: Any) -> None:
    """Set a value that is missing, null or empty."""
    if part.get(name) in (None, ""):
        part[name] = value

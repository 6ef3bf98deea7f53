"""Bindings of managed clusters: the provider made them, and nobody in the cluster can change them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final, NamedTuple

from simkit.analysis.rbac.objects import all_bindings
from simkit.analysis.rbac.subject import EVERYONE, normalize_subject, text_of
from simkit.logic.rbac.binding import Binding
from simkit.meta import datasets
from simkit.meta.errors import SimkitError
from simkit.meta.names import Key
from simkit.seams.snapshot import Snapshot

AUTO: Final = "auto"
"""The value that stands for every provider whose bindings are in the snapshot."""
ENOUGH: Final = 3
"""The number of a provider's bindings from which a snapshot counts as one of its clusters."""


class Provider(NamedTuple):
    """A provider of managed clusters: patterns of the bindings that it makes, and of the subjects in them."""

    bindings: tuple[str, ...]
    subjects: tuple[str, ...]

    def made(self, binding: Binding) -> bool:
        """True if the name and every subject of the binding are the provider's, and none is a group of everybody."""
        if not any(fnmatchcase(binding.key.name, pattern) for pattern in self.bindings):
            return False
        subjects = [normalize_subject(subject) for subject in binding.subjects]
        if any(subject.name in EVERYONE for subject in subjects):
            return False
        texts = map(text_of, subjects)
        return all(any(fnmatchcase(text, pattern) for pattern in self.subjects) for text in texts)


@cache
def providers() -> Mapping[str, Provider]:
    """The known providers by name: eks, gke, aks, openshift."""
    table: dict[str, Any] = datasets.load("rbac/managed-defaults.yaml")
    return {name: Provider(tuple(each["bindings"]), tuple(each["subjects"])) for name, each in table.items()}


def managed_bindings(snapshot: Snapshot, names: Iterable[str]) -> frozenset[Key]:
    """The bindings that these providers made.

    Parameters
    ----------
    names
        Providers, or ``auto`` for those of which the snapshot has several bindings.

    Raises
    ------
    SimkitError
        For a provider that is not known.
    """
    wanted = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in wanted if name not in (AUTO, *providers())]
    if unknown:
        raise SimkitError(f"there is no provider {unknown[0]!r}; known: {', '.join(providers())}, {AUTO}")
    found: set[Key] = set()
    for name, provider in providers().items():
        if name in wanted or AUTO in wanted:
            made = {binding.key for binding in all_bindings(snapshot) if binding.subjects and provider.made(binding)}
            found |= made if name in wanted or len(made) >= ENOUGH else set()
    return frozenset(found)

"""The policies or webhooks that could match a kind of write, looked up once.

Upstream: k8s.io/apiserver/pkg/admission/plugin/webhook/generic/webhook.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from simkit.schema.catalogue import Catalogue

Found = TypeVar("Found")


class CandidateCache(Generic[Found]):
    """The policies or webhooks by kind of write, for each catalogue: forks that serve the same resources share them."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Catalogue, dict[Hashable, Sequence[Found]]] = WeakKeyDictionary()

    def of(self, catalogue: Catalogue, kind: Hashable, find: Callable[[], Sequence[Found]]) -> Sequence[Found]:
        """The candidates of a kind of write; ``find`` is called the first time."""
        known = self._known.setdefault(catalogue, {})
        found = known.get(kind)
        if found is None:
            known[kind] = found = find()
        return found

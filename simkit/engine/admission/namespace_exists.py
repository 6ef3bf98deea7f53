"""NamespaceExists and NamespaceAutoProvision treat writes into namespaces that do not exist.

Upstream: plugin/pkg/admission/namespace/exists and plugin/pkg/admission/namespace/autoprovision, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from simkit.engine.admission.plugin_attributes import NAMESPACES, Resources, written
from simkit.engine.seams import Operation, Reader, Review
from simkit.meta.errors import not_found
from simkit.meta.names import Key
from simkit.meta.objects import Object


def _missing(store: Reader, review: Review) -> bool:
    if not review.namespace or review.resource == NAMESPACES:
        return False
    return store.get(Key(NAMESPACES, "", review.namespace)) is None


class NamespaceExists:
    """Refuses a write into a missing namespace."""

    name = "NamespaceExists"
    leaves_process: Final = False
    resources: Resources = None

    def __init__(self, store: Reader) -> None:
        self._store = store

    def handles(self, operation: Operation) -> bool:
        return operation in ("CREATE", "UPDATE", "DELETE")

    def validate(self, review: Review) -> None:
        """Raises 404 for a namespace that is missing."""
        if _missing(self._store, review):
            raise not_found(NAMESPACES, review.namespace)


class NamespaceAutoProvision:
    """Creates the missing namespace; ``provide`` does it as the server itself."""

    name = "NamespaceAutoProvision"
    leaves_process: Final = False
    resources: Resources = None

    def __init__(self, store: Reader, provide: Callable[[str], None]) -> None:
        self._store, self._provide = store, provide

    def handles(self, operation: Operation) -> bool:
        return operation == "CREATE"

    def mutate(self, review: Review) -> Object:
        """The object unchanged. On a dry run nothing is made, and later plugins refuse."""
        if not review.dry_run and _missing(self._store, review):
            self._provide(review.namespace)
        return written(review)

"""Admission plugins of namespaces that are missing or terminating."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from simkit.client.resources import NAMESPACES
from simkit.engine.admission.plugin_attributes import (
    CHANGES,
    CREATION,
    LOCAL_ACCESS_REVIEWS,
    Handler,
    StoreHandler,
    admission_forbidden,
    written,
)
from simkit.meta.domain import DEFAULT_NAMESPACE, PUBLIC_NAMESPACE, SYSTEM_NAMESPACE
from simkit.meta.errors import forbidden, not_found
from simkit.meta.names import Key
from simkit.meta.objects import Object, at
from simkit.seams import Reader, Review, existing

# NamespaceExists and NamespaceAutoProvision treat writes into namespaces that do not exist.
# Upstream: plugin/pkg/admission/namespace/exists and plugin/pkg/admission/namespace/autoprovision, release 1.30.


def _missing(store: Reader, review: Review) -> bool:
    if not review.namespace or review.resource == NAMESPACES:
        return False
    return store.get(Key(NAMESPACES, "", review.namespace)) is None


class NamespaceExists(StoreHandler, operations=CHANGES):
    """Refuses a write into a missing namespace."""

    def validate(self, review: Review) -> None:
        """Raises 404 for a namespace that is missing."""
        if _missing(self._store, review):
            raise not_found(NAMESPACES, review.namespace)


class NamespaceAutoProvision(Handler, operations=CREATION):
    """Creates the missing namespace; ``provide`` does it as the server itself."""

    def __init__(self, store: Reader, provide: Callable[[str], None]) -> None:
        self._store, self._provide = store, provide

    def mutate(self, review: Review) -> Object:
        """The object unchanged. On a dry run nothing is made, and later plugins refuse."""
        if not review.dry_run and _missing(self._store, review):
            self._provide(review.namespace)
        return written(review)


# NamespaceLifecycle refuses new objects in missing or terminating namespaces, and protects three namespaces.
# Upstream: k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle, release 1.30.

_FOR_EVER: Final = frozenset({DEFAULT_NAMESPACE, SYSTEM_NAMESPACE, PUBLIC_NAMESPACE})


class NamespaceLifecycle(StoreHandler, operations=CHANGES):
    """Reads namespaces from the store, so that a namespace created a moment ago counts.

    It speaks among the mutators, so that nothing is looked for in a namespace that does not exist.
    """

    def mutate(self, review: Review) -> Object:
        """Raises 403 for a namespace that may not be deleted or is terminating, 404 for one that is missing."""
        if review.resource == NAMESPACES:
            if review.operation == "DELETE" and review.name in _FOR_EVER:
                raise forbidden(NAMESPACES, review.name, "this namespace may not be deleted")
        elif review.namespace and review.operation != "DELETE" and review.resource != LOCAL_ACCESS_REVIEWS:
            self._check(review)
        return written(review)

    def _check(self, review: Review) -> None:
        found = existing(self._store, Key(NAMESPACES, "", review.namespace))
        if review.operation == "CREATE" and at(found.object, "status", "phase") == "Terminating":
            raise self._terminating(review)

    def _terminating(self, review: Review) -> Exception:
        why = f"unable to create new content in namespace {review.namespace} because it is being terminated"
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {review.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        return admission_forbidden(review, why, causes=[cause])

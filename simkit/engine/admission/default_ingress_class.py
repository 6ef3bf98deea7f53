"""DefaultIngressClass sets the default class on Ingresses that name none.

Upstream: plugin/pkg/admission/network/defaultingressclass, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.engine.admission.default_class import default_class
from simkit.engine.admission.plugin_attributes import INGRESS_CLASSES, INGRESSES, with_spec, written
from simkit.engine.seams import Operation, Reader, Review
from simkit.meta.domain import label
from simkit.meta.objects import Object, annotations_of, at

_OLD_CLASS: Final = label("ingress.class")
_DEFAULT: Final = (label("is-default-class", "ingressclass"),)


class DefaultIngressClass:
    """Mutates new Ingresses."""

    name = "DefaultIngressClass"
    leaves_process: Final = False
    resources = frozenset({INGRESSES})

    def __init__(self, store: Reader) -> None:
        self._store = store

    def handles(self, operation: Operation) -> bool:
        return operation == "CREATE"

    def mutate(self, review: Review) -> Object:
        """The ingress with its class."""
        ingress = written(review)
        chosen = at(ingress, "spec", "ingressClassName")
        if review.subresource or chosen is not None or _OLD_CLASS in annotations_of(ingress):
            return ingress
        name = default_class(self._store.scan(INGRESS_CLASSES), _DEFAULT)
        return with_spec(ingress, ingressClassName=name) if name else ingress

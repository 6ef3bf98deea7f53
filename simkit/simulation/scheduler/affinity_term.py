"""Terms of affinity between pods, with their selectors parsed.

Upstream: pkg/scheduler/framework/types.go (``AffinityTerm``), release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from simkit.meta.labels import NOTHING, LabelSelector, Requirement, of_object
from simkit.meta.objects import Object, at, labels_of, namespace_of

_HARD: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_SOFT: Final = "preferredDuringSchedulingIgnoredDuringExecution"
Namespaces = Callable[[], Mapping[str, Mapping[str, str]]]
"""The labels of each namespace."""


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """One term: which pods it means, and the topology in which they are looked for."""

    topology_key: str
    namespaces: frozenset[str]
    selector: LabelSelector
    namespace_selector: LabelSelector
    weight: int = 1

    def matches(self, labels: Mapping[str, str], namespace: str, namespace_labels: Mapping[str, str] | None) -> bool:
        """True if it means a pod with these labels, in a namespace with those."""
        if namespace not in self.namespaces and not (
            namespace_labels is not None and self.namespace_selector.matches(namespace_labels)
        ):
            return False
        return self.selector.matches(labels)

    def resolved(self, namespaces: Mapping[str, Mapping[str, str]]) -> AffinityTerm:
        """The term with the namespaces that its selector means at the moment."""
        if self.namespace_selector is NOTHING:
            return self
        meant = {name for name, labels in namespaces.items() if self.namespace_selector.matches(labels)}
        return replace(self, namespaces=self.namespaces | meant, namespace_selector=NOTHING)


@dataclass(frozen=True, slots=True)
class AffinityTerms:
    """All terms of one pod."""

    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    avoided: tuple[AffinityTerm, ...] = ()

    def resolved(self, namespaces: Mapping[str, Mapping[str, str]]) -> AffinityTerms:
        """The same with the namespaces that are meant at the moment."""
        return AffinityTerms(
            *(
                tuple(term.resolved(namespaces) for term in terms)
                for terms in (self.affinity, self.anti_affinity, self.preferred, self.avoided)
            )
        )

    def __bool__(self) -> bool:
        return bool(self.affinity or self.anti_affinity or self.preferred or self.avoided)


NO_TERMS: Final = AffinityTerms()


def terms_of(pod: Object) -> AffinityTerms:
    """The terms of a pod's affinity to other pods."""
    affinity = at(pod, "spec", "affinity")
    if not affinity:
        return NO_TERMS

    def hard(kind: str) -> tuple[AffinityTerm, ...]:
        return tuple(_term(pod, each) for each in at(affinity, kind, _HARD) or ())

    def soft(kind: str) -> tuple[AffinityTerm, ...]:
        given = at(affinity, kind, _SOFT) or ()
        return tuple(_term(pod, each["podAffinityTerm"], each.get("weight", 1)) for each in given)

    return AffinityTerms(hard("podAffinity"), hard("podAntiAffinity"), soft("podAffinity"), soft("podAntiAffinity"))


def _term(pod: Object, term: Mapping[str, Any], weight: int = 1) -> AffinityTerm:
    names, chosen = term.get("namespaces") or (), term.get("namespaceSelector")
    own = not names and chosen is None
    selector = of_object(term.get("labelSelector"))
    return AffinityTerm(
        term.get("topologyKey", ""),
        frozenset([namespace_of(pod)] if own else names),
        LabelSelector((*selector.requirements, *_by_keys(pod, term))),
        NOTHING if chosen is None else of_object(chosen),
        weight,
    )


def _by_keys(pod: Object, term: Mapping[str, Any]) -> list[Requirement]:
    """The requirements of matchLabelKeys and mismatchLabelKeys, where kube-apiserver has not merged them."""
    labels, present = labels_of(pod), {each.get("key") for each in at(term, "labelSelector", "matchExpressions") or ()}
    added: list[Requirement] = []
    for field, operator in (("matchLabelKeys", "in"), ("mismatchLabelKeys", "notin")):
        keys = [key for key in term.get(field) or () if key in labels and key not in present]
        added += [Requirement(key, operator, (labels[key],)) for key in keys]
    return added

"""Matching of writes by policies, bindings and webhooks: rules, selectors, equivalent versions.

k8s.io/apiserver/pkg/admission/plugin/policy/matching/matching.go and, in k8s.io/apiserver/pkg/admission,
plugin/webhook/predicates; both of release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.logic.policy.attributes import NAMESPACES, AdmissionAttributes, ClusterReader, equivalents
from simkit.meta import labels
from simkit.meta.errors import not_found
from simkit.meta.names import GroupVersionResource
from simkit.meta.objects import Object, labels_of
from simkit.schema.catalogue import Resource

Rule = Mapping[str, Any]
_EXACT: Final = "Exact"


def _listed(items: Sequence[str] | None, wanted: str) -> bool:
    return bool(items) and ("*" in items or wanted in items)  # type: ignore[operator]


def names(rule: Rule, operation: str, resource: GroupVersionResource, subresource: str) -> bool:
    """True if a rule names the resource and the operation; scopes and object names are not compared.

    Examples
    --------
    >>> rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/*"]}
    >>> names(rule, "CREATE", GroupVersionResource("", "v1", "pods"), "exec")
    True
    >>> names(rule, "CREATE", GroupVersionResource("", "v1", "nodes"), "")
    False
    """
    return (
        _listed(rule.get("operations"), operation)
        and _listed(rule.get("apiGroups"), resource.group)
        and _listed(rule.get("apiVersions"), resource.version)
        and any(_covers(each, resource.resource, subresource) for each in rule.get("resources") or ())
    )


def _covers(item: str, resource: str, subresource: str) -> bool:
    main, _, part = item.partition("/")
    return main in ("*", resource) and part in ("*", subresource)


def in_scope(rule: Rule, attributes: AdmissionAttributes) -> bool:
    """True if the write is within the rule's scope; namespaces themselves are cluster-scoped."""
    scope = rule.get("scope") or "*"
    if scope == "*":
        return True
    namespaced = not attributes.is_namespace and bool(attributes.namespace)
    return namespaced == (scope == "Namespaced")


class Constraints:
    """The constraints of a policy or of a binding, read once.

    Parameters
    ----------
    spec
        ``matchConstraints`` or ``matchResources``: rules to match and to exclude, selectors, match policy.
    """

    def __init__(self, spec: Object | None) -> None:
        spec = spec or {}
        self._rules: Sequence[Rule] = spec.get("resourceRules") or ()
        self._excluded: Sequence[Rule] = spec.get("excludeResourceRules") or ()
        self._exact = (spec.get("matchPolicy") or _EXACT) == _EXACT
        self._selectors = Selectors(spec)

    def may_match(
        self, reader: ClusterReader, operation: str, resource: GroupVersionResource, subresource: str
    ) -> bool:
        """True if a write of this kind could match for some object."""
        if not self._rules:
            return True
        places = [resource]
        if not self._exact:
            places += [each.gvr for each in equivalents(reader.catalogue, resource, subresource)]
        return any(names(rule, operation, place, subresource) for place in places for rule in self._rules)

    def match(self, attributes: AdmissionAttributes, reader: ClusterReader) -> Resource | None:
        """The resource under which the write matches; None if it does not.

        Raises the 404 StatusError of a namespace that is missing.
        """
        if not self._rules:
            matched = reader.catalogue.find(*attributes.resource)
        else:
            matched = self._rule(self._rules, attributes, reader)
        if matched is None or self._rule(self._excluded, attributes, reader) is not None:
            return None
        return matched if self._selectors.match(attributes, reader) else None

    def _rule(self, rules: Sequence[Rule], attributes: AdmissionAttributes, reader: ClusterReader) -> Resource | None:
        if not rules:
            return None
        if _some(rules, attributes, attributes.resource):
            return reader.catalogue.find(*attributes.resource)
        if self._exact:
            return None
        for rule in rules:
            for other in equivalents(reader.catalogue, attributes.resource, attributes.subresource):
                if _some((rule,), attributes, other.gvr):
                    return other
        return None


def _some(rules: Iterable[Rule], attributes: AdmissionAttributes, resource: GroupVersionResource) -> bool:
    return any(
        in_scope(rule, attributes)
        and names(rule, attributes.operation, resource, attributes.subresource)
        and (not rule.get("resourceNames") or attributes.name in rule["resourceNames"])
        for rule in rules
    )


class Selectors:
    """The selectors for the labels of a write's namespace and of its objects."""

    def __init__(self, spec: Object) -> None:
        self._namespaces = labels.of_object(spec.get("namespaceSelector") or {})
        self._objects = labels.of_object(spec.get("objectSelector") or {})

    def match(self, attributes: AdmissionAttributes, reader: ClusterReader) -> bool:
        """True if both select it. Raises the 404 StatusError of a missing namespace."""
        if self._objects and not self._selects_object(attributes):
            return False
        return self._selects_namespace(attributes, reader)

    def _selects_object(self, attributes: AdmissionAttributes) -> bool:
        present = [each for each in (attributes.object, attributes.old) if each is not None]
        return any(self._objects.matches(labels_of(each)) for each in present)

    def _selects_namespace(self, attributes: AdmissionAttributes, reader: ClusterReader) -> bool:
        if not self._namespaces or (not attributes.namespace and not attributes.is_namespace):
            return True
        return self._namespaces.matches(namespace_labels(attributes, reader))


def namespace_labels(attributes: AdmissionAttributes, reader: ClusterReader) -> Mapping[str, str]:
    """The labels of a write's namespace; for a write of the namespace itself, the new labels."""
    if attributes.is_namespace and not attributes.subresource and attributes.operation in ("CREATE", "UPDATE"):
        return labels_of(attributes.object or {})
    found = reader.get(NAMESPACES, attributes.namespace)
    if found is None:
        raise not_found(NAMESPACES, attributes.namespace)
    return labels_of(found)

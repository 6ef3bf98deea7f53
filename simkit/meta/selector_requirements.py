"""Selectors between their three forms: text, the attributes of authorization, and the requirements of access reviews.

Upstream: pkg/registry/authorization/util/helpers.go and k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go,
release 1.36; KEP-4601.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from simkit.meta import fields, labels
from simkit.meta.fields import Term
from simkit.meta.labels import Requirement

Terms = tuple[Term, ...]
Requirements = tuple[Requirement, ...]
_LABEL_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_WRITTEN: Final = {operator: name for name, operator in _LABEL_OPERATORS.items()}
_FIELD_OPERATORS: Final = {"In": True, "NotIn": False}


def parsed_or_empty(field_selector: str, label_selector: str) -> tuple[Terms, Requirements]:
    """The parts of both selectors; those of one that cannot be parsed are left out.

    Examples
    --------
    >>> parsed_or_empty("spec.nodeName=n1", "app in (")
    ((Term(field='spec.nodeName', value='n1', equal=True),), ())
    """
    terms, _ = _parsed_fields(field_selector)
    requirements, _ = _parsed_labels(label_selector)
    return terms, requirements


def _parsed_fields(text: str) -> tuple[Terms, bool]:
    try:
        return fields.parse(text).terms, True
    except fields.BadFieldSelector:
        return (), False


def _parsed_labels(text: str) -> tuple[Requirements, bool]:
    try:
        return tuple(sorted(labels.parse(text).requirements, key=lambda each: each.key)), True
    except labels.BadSelector:
        return (), False


def reviewed_fields(selector: Mapping[str, Any]) -> tuple[Terms, bool]:
    """The terms of a review's field selector, and whether all of it could be read."""
    requirements = selector.get("requirements") or ()
    if not requirements:
        return _parsed_fields(selector.get("rawSelector") or "")
    found = [_term(each) for each in requirements]
    return tuple(term for term in found if term is not None), None not in found


def _term(requirement: Mapping[str, Any]) -> Term | None:
    """The term of a requirement; None unless it compares with exactly one value."""
    values: Sequence[str] = requirement.get("values") or ()
    equal = _FIELD_OPERATORS.get(requirement.get("operator") or "")
    if len(values) != 1 or equal is None:
        return None
    return Term(requirement.get("key") or "", values[0], equal)


def reviewed_labels(selector: Mapping[str, Any]) -> tuple[Requirements, bool]:
    """The requirements of a review's label selector, and whether all of it could be read."""
    requirements = selector.get("requirements") or ()
    if not requirements:
        return _parsed_labels(selector.get("rawSelector") or "")
    found = [_requirement(each) for each in requirements]
    return tuple(each for each in found if each is not None), None not in found


def _requirement(requirement: Mapping[str, Any]) -> Requirement | None:
    """The requirement; None for an unknown operator. Validation has refused what is wrong otherwise."""
    operator = _LABEL_OPERATORS.get(requirement.get("operator") or "")
    if operator is None:
        return None
    return Requirement(requirement.get("key") or "", operator, tuple(requirement.get("values") or ()))


def selectors_to_review(terms: Iterable[Term], requirements: Iterable[Requirement]) -> dict[str, Any]:
    """Both selectors as attributes of a review; comparisons by size are left out.

    Examples
    --------
    >>> selectors_to_review([Term("a", "b", False)], [Requirement("app", "exists")])["labelSelector"]
    {'requirements': [{'key': 'app', 'operator': 'Exists'}]}
    """
    of_fields = [
        {"key": term.field, "operator": "In" if term.equal else "NotIn", "values": [term.value]} for term in terms
    ]
    of_labels = [
        _written(each.key, _WRITTEN[each.operator], each.values) for each in requirements if each.operator in _WRITTEN
    ]
    found = {"fieldSelector": of_fields, "labelSelector": of_labels}
    return {name: {"requirements": each} for name, each in found.items() if each}


def _written(key: str, operator: str, values: Sequence[str]) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}

"""Validation of affinities, tolerations and topology spread constraints.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.validation.label_selector import validate_label_selector
from simkit.kinds.parts.validation.labels import validate_qualified_name
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import (
    FieldError,
    Shown,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
    unsupported,
)
from simkit.meta.name_validation import dns_label, dns_subdomain, label_value
from simkit.meta.objects import Object

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS: Final = ("Equal", "Exists")
_POSITIVE: Final = "must be greater than zero"
_SPREADING: Final = ("DoNotSchedule", "ScheduleAnyway")


def validate_affinity(path: str, affinity: Object) -> Iterator[FieldError]:
    """The errors of an affinity."""
    node = affinity.get("nodeAffinity") or {}
    if node.get(REQUIRED) is not None:
        yield from validate_node_selector(f"{path}.nodeAffinity.{REQUIRED}", node[REQUIRED])
    for index, term in enumerate(node.get(PREFERRED) or ()):
        at = f"{path}.nodeAffinity.{PREFERRED}[{index}]"
        yield from _validate_weight(at, term)
        yield from _validate_node_term(f"{at}.preference", term.get("preference") or {}, checks_values=False)
    for name in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(name) or {}
        for index, term in enumerate(pods.get(REQUIRED) or ()):
            yield from _validate_pod_term(f"{path}.{name}.{REQUIRED}[{index}]", term)
        for index, term in enumerate(pods.get(PREFERRED) or ()):
            at = f"{path}.{name}.{PREFERRED}[{index}]"
            yield from _validate_weight(at, term)
            yield from _validate_pod_term(f"{at}.podAffinityTerm", term.get("podAffinityTerm") or {})


def _validate_weight(path: str, term: Object) -> Iterator[FieldError]:
    weight = term.get("weight") or 0
    if not 0 < weight <= 100:
        yield invalid_value(f"{path}.weight", weight, "must be in the range 1-100")


def validate_node_selector(path: str, selector: Object, *, of_devices: bool = False) -> Iterator[FieldError]:
    """The errors of a selector of nodes."""
    checks = applies("values-of-device-nodes-checked") if of_devices else applies("values-of-node-affinity-checked")
    at = f"{path}.nodeSelectorTerms"
    if not selector.get("nodeSelectorTerms"):
        yield required(at, "must have at least one node selector term")
    for index, term in enumerate(selector.get("nodeSelectorTerms") or ()):
        yield from _validate_node_term(f"{at}[{index}]", term, checks_values=checks)


def _validate_node_term(path: str, term: Object, *, checks_values: bool) -> Iterator[FieldError]:
    for index, one in enumerate(term.get("matchExpressions") or ()):
        yield from _validate_expression(f"{path}.matchExpressions[{index}]", one, checks_values=checks_values)
    for index, one in enumerate(term.get("matchFields") or ()):
        yield from _validate_field(f"{path}.matchFields[{index}]", one)


def _validate_expression(path: str, expression: Object, *, checks_values: bool) -> Iterator[FieldError]:
    operator, values = expression.get("operator") or "", expression.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden_field(f"{path}.values", text)
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid_value(f"{path}.operator", operator, "not a valid selector operator")
    yield from validate_qualified_name(f"{path}.key", expression.get("key") or "")
    if checks_values:
        for index, value in enumerate(values):
            yield from (invalid_value(f"{path}.values[{index}]", value, text) for text in label_value(value))


def _validate_field(path: str, requirement: Object) -> Iterator[FieldError]:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    key = requirement.get("key") or ""
    if operator not in ("In", "NotIn"):
        yield invalid_value(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", text)
    if key != "metadata.name":
        yield invalid_value(f"{path}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from (invalid_value(f"{path}.values[{index}]", value, text) for text in dns_subdomain(value))


def _validate_pod_term(path: str, term: Object) -> Iterator[FieldError]:
    yield from validate_label_selector(term.get("labelSelector"), f"{path}.labelSelector")
    yield from validate_label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in term.get("namespaces") or ():
        yield from (invalid_value(f"{path}.namespace", name, text) for text in dns_label(name))
    yield from _validate_label_keys(path, term)
    key = term.get("topologyKey") or ""
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from validate_qualified_name(f"{path}.topologyKey", key)


def _validate_label_keys(path: str, term: Object) -> Iterator[FieldError]:
    """Errors of keys whose values are taken from the pod's own labels into the selector."""
    selector = term.get("labelSelector")
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = term.get(name) or ()
        if keys and selector is None:
            yield forbidden_field(f"{path}.{name}", "must not be specified when labelSelector is not set")
        for index, key in enumerate(keys if selector is not None else ()):
            yield from validate_qualified_name(f"{path}.{name}[{index}]", key)
    places = {key: index for index, key in enumerate(term.get("matchLabelKeys") or ())}
    selected = set((selector or {}).get("matchLabels") or ())
    for one in (selector or {}).get("matchExpressions") or ():
        key = one.get("key") or ""
        if key in places and key in selected:
            yield invalid_value(f"{path}[{places[key]}]", key, "exists in both matchLabelKeys and labelSelector")
        selected.add(key)
    for index, key in enumerate(term.get("matchLabelKeys") or ()):
        if key in (term.get("mismatchLabelKeys") or ()):
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid_value(f"{path}.matchLabelKeys[{index}]", key, text)


def validate_tolerations(path: str, tolerations: Sequence[Object]) -> Iterator[FieldError]:
    """The errors of a list of tolerations."""
    for index, toleration in enumerate(tolerations):
        yield from _validate_toleration(f"{path}[{index}]", toleration)


def _validate_toleration(path: str, toleration: Object) -> Iterator[FieldError]:
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    effect, value = toleration.get("effect") or "", toleration.get("value") or ""
    if key:
        yield from validate_qualified_name(f"{path}.key", key)
    elif operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid_value(f"{path}.operator", operator, text)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid_value(f"{path}.effect", effect, text)
    if operator in ("Equal", ""):
        wrong = label_value(value)
        if wrong:
            yield invalid_value(f"{path}.operator", value, ";".join(wrong))
    elif operator == "Exists":
        if value:
            text = "value must be empty when `operator` is 'Exists'"
            shown = value if applies("toleration-error-shows-value") else _shown(toleration)
            yield invalid_value(f"{path}.operator", shown, text)
    else:
        compares = operator in ("Lt", "Gt") and applies("toleration-error-names-comparisons")
        yield unsupported(f"{path}.operator", operator, (*_OPERATORS, "Lt", "Gt") if compares else _OPERATORS)
    if effect and effect not in EFFECTS:
        yield unsupported(f"{path}.effect", effect, EFFECTS)


def _shown(toleration: Object) -> Shown:
    return structure("core.Toleration", toleration)


def validate_topology_spread_constraints(path: str, constraints: Sequence[Object]) -> Iterator[FieldError]:
    """The errors of the rules of spreading pods over nodes."""
    kinds = [(each.get("topologyKey"), each.get("whenUnsatisfiable")) for each in constraints]
    last = {kind: index for index, kind in enumerate(kinds)}
    for index, (constraint, kind) in enumerate(zip(constraints, kinds, strict=True)):
        at = f"{path}[{index}]"
        yield from _validate_skew(at, constraint)
        if last[kind] > index:
            yield duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{kind[0]}, {kind[1]}}}")
        yield from _validate_domain(at, constraint)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(name) not in (None, "Honor", "Ignore"):
                yield unsupported(f"{at}.{name}", constraint[name], ("Honor", "Ignore"))
        if applies("spread-selector-takes-label-keys"):
            yield from _validate_label_keys(at, constraint)
        else:
            yield from _validate_key(f"{at}.matchLabelKeys", constraint)
        yield from validate_label_selector(constraint.get("labelSelector"), f"{at}.labelSelector")


def _validate_skew(path: str, constraint: Object) -> Iterator[FieldError]:
    skew, action = constraint.get("maxSkew") or 0, constraint.get("whenUnsatisfiable") or ""
    if skew <= 0:
        yield invalid_value(f"{path}.maxSkew", skew, _POSITIVE)
    if not constraint.get("topologyKey"):
        yield required(f"{path}.topologyKey", "can not be empty")
    if action not in _SPREADING:
        yield unsupported(f"{path}.whenUnsatisfiable", action, _SPREADING)


def _validate_domain(path: str, constraint: Object) -> Iterator[FieldError]:
    domains, action = constraint.get("minDomains"), constraint.get("whenUnsatisfiable") or ""
    if domains is None:
        return
    if domains <= 0:
        yield invalid_value(f"{path}.minDomains", domains, _POSITIVE)
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield invalid_value(f"{path}.minDomains", domains, text)


def _validate_key(path: str, constraint: Object) -> Iterator[FieldError]:
    keys, selector = constraint.get("matchLabelKeys") or (), constraint.get("labelSelector")
    if not keys:
        return
    selected = set((selector or {}).get("matchLabels") or ())
    selected |= {one.get("key") for one in (selector or {}).get("matchExpressions") or ()}
    if selector is None and applies("label-keys-need-a-selector"):
        yield forbidden_field(path, "must not be specified when labelSelector is not set")
    for index, key in enumerate(keys):
        yield from validate_qualified_name(f"{path}[{index}]", key)
        if key in selected:
            yield invalid_value(f"{path}[{index}]", key, "exists in both matchLabelKeys and labelSelector")

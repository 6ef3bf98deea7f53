"""Validation of affinities, tolerations and topology spread constraints.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.kinds.parts.go_printing.structures import structure
from simkit.kinds.parts.validation.object_meta import (
    LABEL_SELECTOR,
    QUALIFIED,
    VALUES_OF_OPERATOR,
    known_operator,
    validate_label_selector,
)
from simkit.kinds.rules import Check, Row, by, fields, must, placed, row, table
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, duplicate, forbidden_field, invalid_value, unsupported
from simkit.meta.name_validation import dns_label, dns_subdomain, label_value
from simkit.meta.objects import Object
from simkit.meta.wording import Written, joined

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_VALUE: Final = must.be(label_value)


def _has_not_one_value(expression: Object) -> bool:
    return len(expression.get("values") or ()) != 1


_EXPRESSION: Final = table(
    VALUES_OF_OPERATOR,
    row(
        "values",
        must.be_set("must be specified single value when `operator` is 'Lt' or 'Gt'"),
        when=lambda expression: expression.get("operator") in ("Gt", "Lt") and _has_not_one_value(expression),
        zero=(),
    ),
    known_operator("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
    row("key", QUALIFIED, zero=""),
)
_FIELD: Final = table(
    known_operator("In", "NotIn"),
    row(
        "values",
        must.be_set("must be only one value when `operator` is 'In' or 'NotIn' for node field selector"),
        when=lambda field: field.get("operator") in ("In", "NotIn") and _has_not_one_value(field),
        zero=(),
    ),
    row("key", must.hold(lambda key: key == "metadata.name", "not a valid field selector key"), zero=""),
    row("values[]", must.be(dns_subdomain), when=fields.equal("key", "metadata.name")),
)


def _node_term(*values: Row) -> Check:
    return table(row("matchExpressions[]", table(_EXPRESSION, *values)), row("matchFields[]", _FIELD))


def _node_selector(values_checked: str) -> Check:
    """The check of a selector of nodes, whose values are checked since a change of behaviour."""
    return table(
        row("nodeSelectorTerms", must.be_given("must have at least one node selector term")),
        row("nodeSelectorTerms[]", _node_term(row("values[]", _VALUE, since=values_checked))),
    )


NODE_SELECTOR: Final = _node_selector("values-of-node-affinity-checked")
DEVICE_NODE_SELECTOR: Final = _node_selector("values-of-device-nodes-checked")


def _validate_namespaces(behaviour: ServedBehaviour, path: str, names: Sequence[str]) -> Errors:
    """The errors of names, which are told without their places."""
    return (invalid_value(path, name, text) for name in names for text in dns_label(name))


def _validate_label_keys(behaviour: ServedBehaviour, path: str, term: Object) -> Errors:
    """Errors of keys whose values are taken from the pod's own labels into the selector."""
    selector = term.get("labelSelector")
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = term.get(name) or ()
        if keys and selector is None:
            yield forbidden_field(f"{path}.{name}", "must not be specified when labelSelector is not set")
        for index, key in enumerate(keys if selector is not None else ()):
            yield from placed(f"{path}.{name}[{index}]", QUALIFIED(behaviour, key))
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


_POD_TERM: Final = table(
    row("labelSelector", LABEL_SELECTOR),
    row("namespaceSelector", LABEL_SELECTOR),
    row("namespaces", by(_validate_namespaces), told="namespace"),
    by(_validate_label_keys),
    row("topologyKey", must.be_given("can not be empty")),
    row("topologyKey", QUALIFIED, zero=""),
)
_WEIGHT: Final = row("weight", must.hold(lambda weight: 0 < weight <= 100, "must be in the range 1-100"), zero=0)
_POD_TERMS: Final = (
    row(f"{REQUIRED}[]", _POD_TERM),
    row(f"{PREFERRED}[]", _WEIGHT, row("podAffinityTerm", _POD_TERM, zero={})),
)
AFFINITY: Final = table(
    row(
        "nodeAffinity",
        row(REQUIRED, NODE_SELECTOR),
        row(f"{PREFERRED}[]", _WEIGHT, row("preference", _node_term(), zero={})),
    ),
    row("podAffinity", *_POD_TERMS),
    row("podAntiAffinity", *_POD_TERMS),
)


def _validate_operator(behaviour: ServedBehaviour, path: str, toleration: Object) -> Errors:
    operator, value = toleration.get("operator") or "", toleration.get("value") or ""
    if operator in ("Equal", ""):
        wrong = label_value(value)
        if wrong:
            yield invalid_value(f"{path}.operator", value, joined(";", wrong))
    elif operator == "Exists":
        if value:
            text = "value must be empty when `operator` is 'Exists'"
            shown = value if behaviour.applies("toleration-error-shows-value") else _shown(toleration)
            yield invalid_value(f"{path}.operator", shown, text)
    else:
        compares = operator in ("Lt", "Gt") and behaviour.applies("toleration-error-names-comparisons")
        choices = ("Equal", "Exists", "Lt", "Gt") if compares else ("Equal", "Exists")
        yield unsupported(f"{path}.operator", operator, choices)


TOLERATION: Final = table(
    row("key", QUALIFIED),
    row(
        "operator",
        must.be_otherwise('operator must be Exists when `key` is empty, which means "match all values and all keys"'),
        when=lambda toleration: not toleration.get("key") and toleration.get("operator") != "Exists",
        zero="",
    ),
    row(
        "effect",
        must.hold(lambda effect: effect == "NoExecute", "effect must be 'NoExecute' when `tolerationSeconds` is set"),
        when=fields.present("tolerationSeconds"),
        zero="",
    ),
    by(_validate_operator),
    row("effect", must.be_one_of(*EFFECTS)),
)


def _shown(toleration: Object) -> Written:
    return structure("core.Toleration", toleration)


def validate_topology_spread_constraints(
    behaviour: ServedBehaviour, path: str, constraints: Sequence[Object]
) -> Errors:
    """The errors of the rules of spreading pods over nodes."""
    kinds = [(each.get("topologyKey"), each.get("whenUnsatisfiable")) for each in constraints]
    last = {kind: index for index, kind in enumerate(kinds)}
    for index, (constraint, kind) in enumerate(zip(constraints, kinds, strict=True)):
        at = f"{path}[{index}]"
        yield from placed(at, _SKEW(behaviour, constraint))
        if last[kind] > index:
            yield duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{kind[0]}, {kind[1]}}}")
        yield from placed(at, _DOMAINS(behaviour, constraint))
        if behaviour.applies("spread-selector-takes-label-keys"):
            yield from _validate_label_keys(behaviour, at, constraint)
        else:
            yield from _validate_key(behaviour, f"{at}.matchLabelKeys", constraint)
        yield from validate_label_selector(behaviour, constraint.get("labelSelector"), f"{at}.labelSelector")


def _validate_action(behaviour: ServedBehaviour, path: str, constraint: Object) -> Errors:
    action = constraint.get("whenUnsatisfiable") or ""
    if constraint.get("minDomains") is not None and action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield invalid_value(f"{path}.minDomains", constraint["minDomains"], text)


_SKEW: Final = table(
    row("maxSkew", must.be_above_zero, zero=0),
    row("topologyKey", must.be_given("can not be empty")),
    row("whenUnsatisfiable", must.be_one_of("DoNotSchedule", "ScheduleAnyway"), zero=""),
)
_DOMAINS: Final = table(
    row("minDomains", must.be_above_zero),
    by(_validate_action),
    row("nodeAffinityPolicy", must.be_one_of("Honor", "Ignore"), empty=True),
    row("nodeTaintsPolicy", must.be_one_of("Honor", "Ignore"), empty=True),
)


def _validate_key(behaviour: ServedBehaviour, path: str, constraint: Object) -> Errors:
    keys, selector = constraint.get("matchLabelKeys") or (), constraint.get("labelSelector")
    if not keys:
        return
    selected = set((selector or {}).get("matchLabels") or ())
    selected |= {one.get("key") for one in (selector or {}).get("matchExpressions") or ()}
    if selector is None and behaviour.applies("label-keys-need-a-selector"):
        yield forbidden_field(path, "must not be specified when labelSelector is not set")
    for index, key in enumerate(keys):
        yield from placed(f"{path}[{index}]", QUALIFIED(behaviour, key))
        if key in selected:
            yield invalid_value(f"{path}[{index}]", key, "exists in both matchLabelKeys and labelSelector")

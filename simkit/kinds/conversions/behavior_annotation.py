"""Scaling behaviour in the annotation of older autoscalers, with Go's field names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simkit.kinds.conversions.field_edits import entries, pick
from simkit.meta.behaviour import applies


def behavior_to_annotation(behavior: Mapping[str, Any]) -> dict[str, Any]:
    """The behaviour with capitalized names; missing parts are null."""
    return {"ScaleUp": _rules(behavior.get("scaleUp")), "ScaleDown": _rules(behavior.get("scaleDown"))}


def _rules(rules: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if rules is None:
        return None
    policies = [
        {"Type": each.get("type", ""), "Value": each.get("value", 0), "PeriodSeconds": each.get("periodSeconds", 0)}
        for each in entries(rules, "policies")
    ]
    made = {
        "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
        "SelectPolicy": rules.get("selectPolicy"),
        "Policies": policies if rules.get("policies") is not None else None,
    }
    return {**made, "Tolerance": rules.get("tolerance")} if applies("autoscaling-tolerance") else made


def behavior_from_annotation(behavior: Mapping[str, Any]) -> dict[str, Any]:
    """The behaviour in the annotation. Names are read in any case, as by Go."""
    lowered = _lower(behavior)
    names = {"scaleup": "scaleUp", "scaledown": "scaleDown"}
    return {new: _read_rules(lowered[old]) for old, new in names.items() if lowered.get(old) is not None}


def _read_rules(rules: Mapping[str, Any]) -> dict[str, Any]:
    lowered = _lower(rules)
    found: dict[str, Any] = {
        "stabilizationWindowSeconds": lowered.get("stabilizationwindowseconds"),
        "selectPolicy": lowered.get("selectpolicy"),
    }
    if lowered.get("tolerance") is not None:
        found["tolerance"] = lowered["tolerance"]
    found = pick(found, *found)
    if lowered.get("policies") is not None:
        found["policies"] = [_read_policy(each) for each in lowered["policies"]]
    return found


def _read_policy(policy: Mapping[str, Any]) -> dict[str, Any]:
    lowered = _lower(policy)
    return {
        "type": lowered.get("type", ""),
        "value": lowered.get("value", 0),
        "periodSeconds": lowered.get("periodseconds", 0),
    }


def _lower(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name.lower(): value for name, value in part.items()}

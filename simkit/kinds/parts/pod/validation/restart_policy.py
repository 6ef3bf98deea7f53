"""Validation of the restart policies of containers, and of the rules that decide by exit codes.

Follows ``pkg/apis/core/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field, required, too_long, too_many, unsupported
from simkit.meta.objects import Object

_POLICIES: Final = ("Always", "Never", "OnFailure")
_OPERATORS: Final = ("In", "NotIn")
_MOST_RULES: Final = 20
_MOST_VALUES: Final = 255


def validate_restart_policy(path: str, container: Object) -> Iterator[FieldError]:
    """The errors of the restart policy and the restart rules of a regular container."""
    if applies("container-restart-rules"):
        yield from _validate_policy(path, container)
    elif container.get("restartPolicy") is not None:
        yield forbidden_field(f"{path}.restartPolicy", "may not be set for non-init containers")


def validate_init_restart_policy(path: str, container: Object) -> Iterator[FieldError]:
    """The errors of the restart policy and the restart rules of an init container."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if rules:
            yield required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif not applies("container-restart-rules"):
        if policy != "Always":
            yield unsupported(f"{path}.restartPolicy", policy, ("Always",))
    elif policy != "Always" or applies("restart-of-all-containers"):
        yield from _validate_policy(path, container)
    elif rules:
        text = "restartPolicyRules are not allowed for init containers with restart policy Always"
        yield forbidden_field(f"{path}.restartPolicyRules", text)


def _validate_policy(path: str, container: Object) -> Iterator[FieldError]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if not rules:
            return
        yield required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy not in _POLICIES:
        yield unsupported(f"{path}.restartPolicy", policy, _POLICIES)
    if len(rules) > _MOST_RULES:
        yield _excess(f"{path}.restartPolicyRules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        yield from _validate_rule(f"{path}.restartPolicyRules[{index}]", rule)


def _validate_rule(path: str, rule: Object) -> Iterator[FieldError]:
    actions = ("Restart", "RestartAllContainers") if applies("restart-of-all-containers") else ("Restart",)
    if rule.get("action", "") not in actions:
        yield unsupported(f"{path}.action", rule.get("action", ""), actions)
    codes = rule.get("exitCodes")
    if codes is None:
        yield required(f"{path}.exitCodes", "must be specified")
        return
    if codes.get("operator", "") not in _OPERATORS:
        yield unsupported(f"{path}.exitCodes.operator", codes.get("operator", ""), _OPERATORS)
    if len(codes.get("values") or ()) > _MOST_VALUES:
        yield _excess(f"{path}.exitCodes.values", len(codes["values"]), _MOST_VALUES)


def _excess(path: str, count: int, most: int) -> FieldError:
    return too_many(path, count, most) if applies("restart-rules-counted") else too_long(path, most)

"""Users, groups and SELinux labels that a pod security policy asks for.

Upstream: pkg/security/podsecuritypolicy/user, group and selinux, release 1.24.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from simkit.kinds.parts.go_printing.structures import whole_numbers
from simkit.meta.fielderror import FieldError, Shown, invalid_value, required
from simkit.meta.objects import Object

MUST_RUN_AS: Final = "MustRunAs"
MAY_RUN_AS: Final = "MayRunAs"
NON_ROOT: Final = "MustRunAsNonRoot"
_LABEL_PARTS: Final = ("level", "role", "type", "user")


def lacks_ranges(policy: Object) -> bool:
    """True if a rule of a policy needs ranges or labels that the policy does not name: it admits no pod then."""
    user, labels = policy.get("runAsUser") or {}, policy.get("seLinux") or {}
    if user.get("rule") == MUST_RUN_AS and not user.get("ranges"):
        return True
    if labels.get("rule") == MUST_RUN_AS and labels.get("seLinuxOptions") is None:
        return True
    groups = (policy.get(name) or {} for name in ("runAsGroup", "fsGroup", "supplementalGroups"))
    return any(each.get("rule") in (MUST_RUN_AS, MAY_RUN_AS) and not each.get("ranges") for each in groups)


def first_of(rule: Object | None) -> int | None:
    """The id that is set where a pod has none: the first of the first range, if the rule is MustRunAs."""
    if not rule or rule.get("rule") != MUST_RUN_AS:
        return None
    return int(rule["ranges"][0].get("min") or 0)


def user_problems(path: str, rule: Object, non_root: bool | None, user: int | None) -> Iterator[FieldError]:
    """The errors of the user of a container; ``path`` is that of its security context."""
    if rule.get("rule") == NON_ROOT:
        if non_root is None and user is None:
            yield required(f"{path}.runAsNonRoot", "must be true")
        elif non_root is False:
            yield invalid_value(f"{path}.runAsNonRoot", non_root, "must be true")
        elif user == 0:
            yield invalid_value(f"{path}.runAsUser", user, "running with the root UID is forbidden")
    elif rule.get("rule") == MUST_RUN_AS:
        if user is None:
            yield required(f"{path}.runAsUser")
        elif not _within(user, rule["ranges"]):
            yield invalid_value(f"{path}.runAsUser", user, f"must be in the ranges: {_listed(rule['ranges'])}")


def group_problems(path: str, rule: Object | None, groups: Sequence[int]) -> Iterator[FieldError]:
    """The errors of groups, each against the ranges of the rule."""
    kind = (rule or {}).get("rule")
    if rule is None or kind not in (MUST_RUN_AS, MAY_RUN_AS):
        return
    shown = whole_numbers(groups, "int64") if groups else Shown("[]int64(nil)")
    if kind == MUST_RUN_AS and not groups:
        yield invalid_value(path, shown, "unable to validate empty groups against required ranges")
    for group in groups:
        if not _within(group, rule["ranges"]):
            detail = f"group {group} must be in the ranges: {_listed(rule['ranges'])}"
            yield invalid_value(path, shown, detail)


def label_problems(path: str, rule: Object, labels: Object | None) -> Iterator[FieldError]:
    """The errors of SELinux labels that differ from those which the rule demands."""
    if rule.get("rule") != MUST_RUN_AS:
        return
    if labels is None:
        yield required(path)
        return
    wanted = rule["seLinuxOptions"]
    for part in _LABEL_PARTS:
        value, must = labels.get(part) or "", wanted.get(part) or ""
        if value != must and not (part == "level" and _same_level(value, must)):
            yield invalid_value(f"{path}.{part}", value, f"must be {must}")


def _same_level(one: str, other: str) -> bool:
    """True if two levels differ in no more than the order of their categories."""
    (sensitivity, colon, categories), (second, also, more) = one.partition(":"), other.partition(":")
    both = bool(colon and also)
    return both and sensitivity == second and sorted(categories.split(",")) == sorted(more.split(","))


def _within(number: int, ranges: Sequence[Object]) -> bool:
    return any((one.get("min") or 0) <= number <= (one.get("max") or 0) for one in ranges)


def _listed(ranges: Sequence[Any]) -> str:
    each = (f"{{{one.get('min') or 0} {one.get('max') or 0}}}" for one in ranges)
    return f"[{' '.join(each)}]"

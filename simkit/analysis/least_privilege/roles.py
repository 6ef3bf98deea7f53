"""The smallest rules that allow some actions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from simkit.analysis.least_privilege.recorded_access import Action
from simkit.logic.rbac.rule import Rule

Names = Literal["repeated", "always", "never"]
FEW: Final = 5
"""The most names that are written into a rule."""
SPECIAL_VERBS: Final = ("impersonate", "bind", "escalate", "use", "approve", "sign")
"""Verbs that are dangerous without a limit to names."""
NAMED_VERBS: Final = ("get", "update", "patch", "delete", "list", "watch", *SPECIAL_VERBS)


def minimal_rules(actions: Mapping[Action, int], *, names: Names = "repeated") -> tuple[Rule, ...]:
    """The fewest rules that allow these actions and nothing else of their kind.

    Parameters
    ----------
    actions
        How often each was asked for.
    names
        Whether objects are named: ``repeated``, where each of a few names was asked for more than once; ``always``,
        where requests name objects; or ``never``.

    Returns
    -------
    tuple of Rule
        Rules with the same verbs, group and names merged.

    Examples
    --------
    >>> used = {Action("get", "", "pods", "", "dev", "a"): 1, Action("list", "", "pods", "", "dev"): 4}
    >>> [str(rule) for rule in minimal_rules(used)]
    ['{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}']
    """
    urls: dict[str, set[str]] = defaultdict(set)
    wanted: dict[tuple[str, str, tuple[str, ...]], set[str]] = defaultdict(set)
    counted: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for action, times in actions.items():
        if action.url:
            urls[action.url].add(action.verb)
        else:
            counted[action.api_group, action.resource_path, action.verb][action.name] += times
    for (group, resource, verb), seen in counted.items():
        wanted[group, resource, _named(verb, seen, resource, names)].add(verb)
    return (*_resource_rules(wanted), *_url_rules(urls))


def _named(verb: str, seen: Counter[str], resource: str, names: Names) -> tuple[str, ...]:
    """The names for the rule; empty for all objects."""
    if "" in seen or names == "never" or not (verb in NAMED_VERBS or "/" in resource):
        return ()
    if names == "repeated" and (len(seen) > FEW or min(seen.values()) < 2) and verb not in SPECIAL_VERBS:
        return ()
    return tuple(sorted(seen))


def _resource_rules(wanted: Mapping[tuple[str, str, tuple[str, ...]], set[str]]) -> list[Rule]:
    """Rules merged if they have the same verbs, group and names."""
    merged: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource, named), verbs in wanted.items():
        free = wanted.get((group, resource, ()), set()) if named else set()
        if verbs - free:
            merged[group, named, tuple(sorted(verbs - free))].append(resource)
    return [
        Rule(verbs, (group,), tuple(sorted(resources)), named)
        for (group, named, verbs), resources in sorted(merged.items())
    ]


def _url_rules(urls: Mapping[str, Iterable[str]]) -> list[Rule]:
    merged: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for url, verbs in urls.items():
        merged[tuple(sorted(verbs))].append(url)
    return [Rule(verbs, paths=tuple(sorted(paths))) for verbs, paths in sorted(merged.items())]

"""The form of the default roles: in which rules, and in which order, a release writes what a role grants.

What a role grants is in ``releases``; here is how kube-apiserver says it. A form counts only where it grants the same,
which feature gates may change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from simkit.meta import datasets
from simkit.meta.objects import Object, name_of
from simkit.schema.releases import BASE, minor_of

Permission = tuple[str, str, str, str]
_EVERY: Final = ("",)


@cache
def _forms() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    found: Mapping[str, Sequence[Mapping[str, Any]]] = datasets.load("rbac/forms.json")
    return found


def in_form(obj: Object, release: str) -> Object:
    """A default role with its rules as the release writes them, if that is known; any other object as it is."""
    if "rules" not in obj or release == BASE:
        return obj
    at = minor_of(release)
    for form in _forms().get(name_of(obj), ()):
        if minor_of(form["since"]) <= at <= minor_of(form["last"]) and granted(form["rules"]) == granted(obj["rules"]):
            return {**obj, "rules": form["rules"]}
    return obj


def granted(rules: Sequence[Object]) -> frozenset[Permission]:
    """The permissions in rules, one by one: group, resource, name, verb; a path stands in the place of a resource.

    Examples
    --------
    >>> sorted(granted([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]))
    [('', 'pods', '', 'get'), ('', 'pods', '', 'list')]
    """
    return frozenset(each for rule in rules for each in _of_rule(rule))


def _of_rule(rule: Object) -> Iterator[Permission]:
    for verb in rule["verbs"]:
        yield from (("", url, "", verb) for url in rule.get("nonResourceURLs", ()))
        for group in rule.get("apiGroups", ()):
            for resource in rule.get("resources", ()):
                yield from ((group, resource, name, verb) for name in rule.get("resourceNames", _EVERY))

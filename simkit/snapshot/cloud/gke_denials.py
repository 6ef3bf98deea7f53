"""Deny policies of IAM for clusters on GKE, and the conditions of statements.

A deny rule takes away permissions that allow policies grant; RBAC still allows what it allows.

References
----------
"Deny policies" and "Principal identifiers" in the documentation of IAM; DenyRule of the IAM API, version 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from simkit.seams.authorization import Denial, Named
from simkit.snapshot.cloud.gke_permissions import denied_permissions, rules_of_permissions
from simkit.snapshot.cloud.output import EVERYTHING, Unexpected, mapping, optional_text, texts

_PRINCIPAL: Final = re.compile(
    r"principal://goog/subject/(?P<user>[^/\s]+)|principalSet://goog/group/(?P<group>[^/\s]+)|"
    r"principal://iam\.googleapis\.com/projects/-/serviceAccounts/(?P<account>[^/\s]+@[^/\s]+)",
    re.ASCII,
)
_EVERYBODY: Final = "principalSet://goog/public:all"
UNREAD: Final = "which could not be read"
"""Why it is not known whom and what a rule denies that is not as documented: it may be anything."""


class _Denied(NamedTuple):
    """Those whom a deny rule names: users and groups, whether everybody, and whether others who are not known."""

    names: frozenset[Named]
    everybody: bool
    unread: bool


def condition_of(statement: Mapping[str, Any], name: str) -> tuple[str, str]:
    """The condition of a statement in words, and its expression; both empty if there is none."""
    if statement.get(name) is None:
        return "", ""
    condition = mapping(statement, name)
    title, expression = optional_text(condition, "title") or "without a title", condition.get("expression")
    written = " ".join(expression.split()) if isinstance(expression, str) else ""
    return f"on the condition {title!r}" + (f": {written}" if written else ""), written


def is_deny_policy(value: Mapping[str, Any]) -> bool:
    """True for a deny policy, also without its rules, as a list has it."""
    return value.get("kind") == "DenyPolicy" or "/denypolicies/" in str(value.get("name"))


def denials_of(
    policies: Mapping[str, tuple[str, Sequence[Any]]],
    whether: Callable[[str], str | None],
    members: Mapping[str, Collection[str]],
    pods: Callable[[str], str],
    undecided: Callable[[str, str], str | None],
    custom: Collection[tuple[str, str]],
) -> Iterator[Denial]:
    """What deny policies take away in a cluster.

    Parameters
    ----------
    policies
        Their places and rules, by name.
    whether
        Gives the reason for which it is not known whether a place is above the cluster; None for one that is not.
    members
        The members of the groups of which all are known.
    pods
        Gives the user name of the pods that a principal stands for.
    undecided
        Gives the reason for which a condition, in words and as an expression, is not decided; None if it is false.
    custom
        The groups and names of custom resources.
    """
    for name, (place, rules) in policies.items():
        where = whether(place)
        if where is None:
            continue  # of another project
        words = f"the deny policy {name.rpartition('/')[2]}" + (f" in {place}" if place else "")
        for rule in rules:
            try:
                denial = _denial(words, rule, members, pods, undecided, custom)
            except Unexpected as error:
                denial = Denial(words, everybody=True, rules=EVERYTHING, undecided=f"{UNREAD}: {error}")
            if denial is not None:
                yield replace(denial, undecided=", ".join(filter(None, (denial.undecided, where))))


def _denial(
    words: str,
    statement: Any,
    members: Mapping[str, Collection[str]],
    pods: Callable[[str], str],
    undecided: Callable[[str, str], str | None],
    custom: Collection[tuple[str, str]],
) -> Denial | None:
    """What one rule takes away, None for nothing. Raises Unexpected."""
    if not isinstance(statement, Mapping):
        raise Unexpected("its rules are not in it, or not the same in all outputs (gcloud iam policies get)")
    if "denyRule" not in statement:
        return None
    rule = mapping(statement, "denyRule")
    why, denied = undecided(*condition_of(rule, "denialCondition")), denied_permissions(rule)
    subjects = _named(texts(rule, "deniedPrincipals", optional=True), members, pods)
    excepted = _named(texts(rule, "exceptionPrincipals", optional=True), members, pods)
    taken, _ = rules_of_permissions(denied, custom)
    if why is None or not taken:
        return None
    return Denial(
        words,
        subjects.names,
        excepted.names,
        subjects.everybody,
        subjects.unread,
        excepted.unread or excepted.everybody,
        taken,
        undecided=why,
    )


def _named(principals: Iterable[str], members: Mapping[str, Collection[str]], pods: Callable[[str], str]) -> _Denied:
    """Those whom the principals of a deny rule stand for; one that was deleted stands for nobody."""
    names, everybody, unread = set[Named](), False, False
    for principal in principals:
        found, pod = _PRINCIPAL.fullmatch(principal), pods(principal)
        if principal == _EVERYBODY:
            everybody = True
        elif found is not None and found["group"]:
            group = found["group"].lower()
            names |= {("Group", group), *(("User", one) for one in members.get(group, ()))}
            unread = unread or group not in members
        elif found is not None:
            names.add(("User", (found["user"] or found["account"]).lower()))
        elif pod and "{{" not in pod:
            names.add(("User", pod))
        elif not principal.startswith("deleted:"):
            unread = True
    return _Denied(frozenset(names), everybody, unread)

"""The index's question about a permission, its scope, and the names that a grant of it holds for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from simkit.analysis.access.resolve import NAMESPACED_VERBS, Permission
from simkit.logic.rbac.binding import Grant
from simkit.logic.rbac.question import Question
from simkit.logic.rbac.rule import Rule
from simkit.meta.errors import SimkitError

SINGLE_OBJECT_VERBS: Final = ("get", "update", "patch", "delete")
"""Verbs on a single object: for these, the name of a namespace is the request's namespace."""


def question_of(asked: Permission, namespace: str | None = None, *, any_name: bool = False) -> Question:
    """The index's question about a target in a namespace (None: anywhere).

    Requests for resources without a namespace carry none, so that grants in a namespace never count; but a namespace
    itself is asked for under its own name, and what is asked as it is written is asked where it says.
    """
    where = namespace if asked.namespaced or asked.verb in NAMESPACED_VERBS else ""
    if asked.as_written and namespace is not None:
        where = namespace
    elif asked.is_namespace and (asked.verb in SINGLE_OBJECT_VERBS or asked.subresource):
        where = asked.name or namespace or None
        if not asked.name and namespace == "":
            where = ""
    name = None if any_name else asked.name
    if asked.url:
        return Question(asked.verb, path=asked.url)
    return Question(asked.verb, asked.api_group, asked.resource, asked.subresource, where, name)


def verbs_of(grants: Iterable[Grant]) -> Iterator[str]:
    """The verbs in the rules of some grants."""
    return (verb for grant in grants for rule in grant.rules for verb in rule.verbs)


def limits(rules: Sequence[Rule], first: int, question: Question) -> tuple[int, tuple[str, ...]]:
    """The rule of a grant that allows most of the question, and the only names that it holds for (empty: all).

    ``first`` is the index of the first rule that allows it.
    """
    if not rules[first].resource_names:
        return first, ()
    matching = [(index, rule) for index, rule in enumerate(rules) if question.allowed_by(rule)]
    for index, rule in matching:
        if not rule.resource_names:
            return index, ()
    return first, tuple(dict.fromkeys(name for _, rule in matching for name in rule.resource_names))


WHOLE_CLUSTER: Final = "*"
"""The text for the whole cluster, in arguments as in the column ``scope``."""


def scope_of(namespace: str | None) -> str | None:
    """The namespace of a question for the index: empty for the whole cluster, None for anywhere.

    Raises
    ------
    SimkitError
        For an empty text.

    Examples
    --------
    >>> scope_of("dev"), scope_of("*"), scope_of(None)
    ('dev', '', None)
    """
    if namespace == "":
        raise SimkitError("the namespace is empty: name one, write '*' for the whole cluster, or leave it out (None)")
    return "" if namespace == WHOLE_CLUSTER else namespace

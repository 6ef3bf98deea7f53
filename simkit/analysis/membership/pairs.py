"""Pairs of users and groups, collected into a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simkit.analysis.rbac.subject import Members

Pair = tuple[str, str]
"""A user's name and a group's, as the server sees them."""
MembershipTable = Mapping[str, tuple[str, ...]]
"""Group name to subjects, as ``parse`` reads them."""


def listed(value: Any) -> list[Any]:
    """The values of a field that holds several, or one alone.

    Examples
    --------
    >>> listed(["devs", "ops"]), listed("devs"), listed(None)
    (['devs', 'ops'], ['devs'], [])
    """
    return value if isinstance(value, list) else [value] if value else []


def membership_table(pairs: Iterable[Pair], *, user_prefix: str = "", group_prefix: str = "") -> MembershipTable:
    """The table of some pairs, in their order, with the prefixes that the server adds to names.

    Examples
    --------
    >>> membership_table([("ann", "devs"), ("bob", "devs")], user_prefix="oidc:")
    {'devs': ('user:oidc:ann', 'user:oidc:bob')}
    """
    found: dict[str, dict[str, None]] = {}
    for user, group in pairs:
        if user and group:
            found.setdefault(f"{group_prefix}{group}", {})[f"user:{user_prefix}{user}"] = None
    return {group: tuple(users) for group, users in found.items()}


def merge_members(*tables: Members) -> MembershipTable:
    """One table of several.

    Parameters
    ----------
    tables
        Tables of members, of which later ones add to earlier ones.

    Returns
    -------
    MembershipTable
        Subjects by the name of their group, each once.

    Examples
    --------
    >>> merge_members({"devs": ["user:ann"]}, {"devs": ["user:bob", "user:ann"], "ops": []})
    {'devs': ('user:ann', 'user:bob'), 'ops': ()}
    """
    found: dict[str, dict[str, None]] = {}
    for table in tables:
        for group, subjects in table.items():
            found.setdefault(group, {}).update(dict.fromkeys(subjects))
    return {group: tuple(subjects) for group, subjects in found.items()}

"""A comparison of access as a comment for code review: the worst first, the rest collapsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.present.escaping import markdown_cell, markdown_code

SHOWN: Final = 10
"""The lines before the collapsed part."""
LONGEST: Final = 253
"""The most letters of a name: as many as an object's name may have."""
VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_GRAVE: Final = frozenset({"escalate", "bind", "impersonate"})
_TELLING: Final = frozenset({"secrets", "serviceaccounts/token", "pods/exec", "pods/attach", "nodes/proxy", "*", "*/*"})
_GRANTING: Final = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
_WORDS: Final = {"gained": "gain", "lost": "lose"}
Row = Mapping[Any, Any]


class Line(NamedTuple):
    """The permissions that one subject gains or loses in one namespace: verbs on resources."""

    weight: int
    change: str
    subject: str
    scope: str
    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    bindings: tuple[str, ...]

    def __str__(self) -> str:
        where = "**everywhere**" if self.scope == "*" else f"in {markdown_code(_short(self.scope))}"
        verbs = "do anything with" if self.verbs == ("*",) else ", ".join(map(_cell, self.verbs))
        what = ", ".join(markdown_code(_short(each)) for each in self.resources[:4])
        more = f" and {len(self.resources) - 4} more" if len(self.resources) > 4 else ""
        can = "can now" if self.change == "gained" else "can no longer"
        mark = ":warning: " if self.weight and self.change == "gained" else ""
        by = f" (by {_cell(self.bindings[0])})" if self.bindings else ""
        return f"- {mark}{markdown_code(_short(self.subject))} {can} {verbs} {what}{more} {where}{by}"


def comment(rows: Sequence[Row]) -> str:
    """The markdown of a comparison.

    Examples
    --------
    >>> who = {"subject": "user:ann", "scope": "dev"}
    >>> what = {"verb": "get", "api_group": "", "resource": "secrets", "name": "", "url": ""}
    >>> print(comment([{"change": "gained", **who, **what, "bindings": ("RoleBinding dev/b",)}]))
    ### Access: 1 subject gains 1 permission, nobody loses access
    <BLANKLINE>
    - :warning: `user:ann` can now get `secrets` in `dev` (by RoleBinding dev/b)
    <BLANKLINE>
    """
    lines = sorted(_lines(rows), key=lambda line: (line.change != "gained", -line.weight, line.subject, line.scope))
    told = [f"### {headline(rows)}", ""]
    told += [str(line) for line in lines[:SHOWN]]
    if len(lines) > SHOWN:
        told += ["", f"<details><summary>{len(lines) - SHOWN} more</summary>", ""]
        told += [*(str(line) for line in lines[SHOWN:]), "", "</details>"]
    return "\n".join([*told, ""])


def _short(text: str) -> str:
    """A name cut to its share of the comment, since a comment that is too long is refused as a whole."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} letters)"


def _cell(text: str) -> str:
    return markdown_cell(_short(text))


def headline(rows: Sequence[Row]) -> str:
    """The number of subjects that gain and lose access, and of their permissions, in one sentence."""
    if not rows:
        return "Access: nothing changes"
    return f"Access: {', '.join(_changed(rows, change, verb) for change, verb in _WORDS.items())}"


def _changed(rows: Sequence[Row], change: str, verb: str) -> str:
    subjects = [row["subject"] for row in rows if row["change"] == change]
    count = len(set(subjects))
    if not count:
        return f"nobody {verb}s access"
    permissions = f"{len(subjects)} permission{'s' if len(subjects) > 1 else ''}"
    return f"{count} subjects {verb} {permissions}" if count > 1 else f"1 subject {verb}s {permissions}"


def _lines(rows: Iterable[Row]) -> Iterator[Line]:
    """Lines of resources with the same verbs in the same namespace through the same bindings."""
    verbs: dict[tuple[Any, ...], dict[str, None]] = {}
    for row in rows:
        place = (row["change"], row["subject"], row["scope"], _resource(row), tuple(row["bindings"]))
        verbs.setdefault(place, {})[row["verb"]] = None
    resources: dict[tuple[Any, ...], list[str]] = {}
    for (change, subject, scope, resource, bindings), found in verbs.items():
        ordered = tuple(sorted(found, key=lambda verb: (VERBS.index(verb) if verb in VERBS else -1, verb)))
        weight = _weight(ordered, resource, scope)
        resources.setdefault((weight, change, subject, scope, ordered, bindings), []).append(resource)
    for (weight, change, subject, scope, ordered, bindings), named in resources.items():
        yield Line(weight, change, subject, scope, ordered, tuple(named), bindings)


def _weight(verbs: Sequence[str], resource: str, scope: str) -> int:
    """The weight of a line for a reviewer: 0 for an ordinary one."""
    plural = resource.split(" ")[0].partition(".")[0]
    writes = set(verbs) - {"get", "list", "watch"}
    grave = bool(_GRAVE & set(verbs)) or "*" in verbs or (plural in _GRANTING and bool(writes))
    weight = (2 if grave else 0) + (1 if plural in _TELLING else 0)
    return weight + (1 if weight and scope == "*" else 0)


def _resource(row: Row) -> str:
    if row["url"]:
        return str(row["url"])
    named = f"{row['resource']}.{row['api_group']}" if row["api_group"] else str(row["resource"])
    return f"{named} {row['name']}" if row["name"] else named

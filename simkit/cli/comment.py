"""A comparison of access as a comment for code review: the worst first, the rest collapsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simkit.analysis.access.compare import AccessChange, Row, access_changes
from simkit.present.escaping import markdown_cell, markdown_code

SHOWN: Final = 10
"""The lines before the collapsed part."""
LONGEST: Final = 253
"""The most letters of a name: as many as an object's name may have."""
_WORDS: Final = {"gained": "gain", "lost": "lose"}


def _shown(line: AccessChange) -> str:
    """One change of access as an item of a list."""
    where = "**everywhere**" if line.scope == "*" else f"in {markdown_code(_short(line.scope))}"
    verbs = "do anything with" if line.verbs == ("*",) else ", ".join(map(_cell, line.verbs))
    what = ", ".join(markdown_code(_short(each)) for each in line.resources[:4])
    if line.verbs == ("*",) and "*.*" in line.resources:
        verbs, what = "do", "anything"
    more = f" and {len(line.resources) - 4} more" if len(line.resources) > 4 and what != "anything" else ""
    can = "can now" if line.change == "gained" else "can no longer"
    mark = ":warning: " if line.weight and line.change == "gained" else ""
    by = f" (by {_cell(line.bindings[0])})" if line.bindings else ""
    return f"- {mark}{markdown_code(_short(line.subject))} {can} {verbs} {what}{more} {where}{by}"


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
    lines = access_changes(rows)
    told = [f"### {headline(rows)}", ""]
    told += [_shown(line) for line in lines[:SHOWN]]
    if len(lines) > SHOWN:
        told += ["", f"<details><summary>{len(lines) - SHOWN} more</summary>", ""]
        told += [*(_shown(line) for line in lines[SHOWN:]), "", "</details>"]
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

"""Verdicts on answers to exercises: every checked point with an explanation where it is wrong."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from simkit.analysis.rbac.objects import NO_BINDING
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.names import GroupResource
from simkit.meta.objects import at
from simkit.meta.visible_text import html_text
from simkit.notebook.object_relations import object_yaml
from simkit.present.colours import GREEN, VERMILION
from simkit.seams.snapshot import Snapshot

RIGHT_COLOUR: Final = GREEN
WRONG_COLOUR: Final = VERMILION
_NO_EXIT: Final = "an answer must not end the program: leave exit out"
_LONGEST: Final = 600
"""The letters of a line that are shown, since an answer may be longer than a learner can read."""


@dataclass(frozen=True, slots=True)
class Note:
    """One checked point: whether it is right, its name, and an explanation if it is not."""

    right: bool
    text: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of an answer. It is true in a condition if everything was right."""

    notes: tuple[Note, ...]

    @property
    def right(self) -> bool:
        return all(note.right for note in self.notes)

    def __bool__(self) -> bool:
        return self.right

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        if self.right:
            return "Right."
        wrong = sum(not note.right for note in self.notes)
        return f"Not yet: {wrong} of {len(self.notes)} {'is' if wrong == 1 else 'are'} not as it should be."

    def __str__(self) -> str:
        lines = [self.headline]
        for note in self.notes:
            lines.append(f"  {'✓' if note.right else '✗'} {_shortened(note.text)}")
            lines += [f"      {_shortened(detail)}" for detail in note.details]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        items = "".join(map(_html, self.notes))
        colour = RIGHT_COLOUR if self.right else WRONG_COLOUR
        headline = f'<p style="color:{colour}"><b>{html_text(self.headline)}</b></p>'
        return f'{headline}<ul style="list-style:none;padding-left:1em;overflow-wrap:anywhere">{items}</ul>'


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} letters)"


def _html(note: Note) -> str:
    more = "".join(f"<li>{html_text(_shortened(detail))}</li>" for detail in note.details)
    mark = f'<b style="color:{RIGHT_COLOUR}">✓</b>' if note.right else f'<b style="color:{WRONG_COLOUR}">✗</b>'
    return f"<li>{mark} {html_text(_shortened(note.text))}{f'<ul>{more}</ul>' if more else ''}</li>"


def error_lines(error: Exception | SystemExit) -> tuple[str, ...]:
    """An error of a learner's code in a line, with the line of the function ``answer`` that raised it."""
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    more = (_NO_EXIT,) if isinstance(error, SystemExit) else ()
    return (told, *line_of_answer(error), *more)


def line_of_answer(error: BaseException) -> tuple[str, ...]:
    """The line of the function ``answer`` in which an error was raised; nothing if it was raised elsewhere."""
    frames = traceback.extract_tb(error.__traceback__)
    return tuple(f"in the line: {frame.line}" for frame in frames if frame.name == "answer" and frame.line)[:1]


def points(verdicts: Mapping[str, Verdict]) -> int:
    """The number of right answers, which nbgrader takes as points if a graded cell ends with it.

    Parameters
    ----------
    verdicts
        The verdicts of a lesson, by the name of the exercise.

    Returns
    -------
    int
        One point for each exercise that is wholly right. The exercises that are open are printed.

    Examples
    --------
    >>> points({"pods": Verdict((Note(True, "ann can list pods"),)), "secrets": Verdict((Note(False, "no"),))})
    exercises done: 1 of 2; open: secrets
    1
    """
    waiting = [name for name, verdict in verdicts.items() if not verdict]
    done = len(verdicts) - len(waiting)
    print(f"exercises done: {done} of {len(verdicts)}" + (f"; open: {', '.join(waiting)}" if waiting else ""))
    return done


# The rule behind a row of an answer, as YAML.

_ROLES: Final = {
    "Role": GroupResource(RBAC_GROUP, "roles"),
    "ClusterRole": GroupResource(RBAC_GROUP, "clusterroles"),
}


_NEEDS_NONE: Final = "<p>No binding or rule is needed: members of system:masters can do anything.</p>"


def rule_html(snapshot: Snapshot, row: Mapping[str, Any]) -> str:
    """The rule that gives a grant, under its binding and role; a sentence for a row that needs none, else empty."""
    if row.get("binding") == NO_BINDING:
        return _NEEDS_NONE
    resource = _ROLES.get(str(row.get("role_kind", "")))
    number = int(row["rule"]) if resource is not None else -1
    if resource is None or number < 0:
        return ""
    namespace = str(row.get("scope", "")) if resource.resource == "roles" else ""
    role = snapshot.get(resource, str(row["role"]), namespace)
    rules = at(role, "rules") if role is not None else None
    if not isinstance(rules, list) or number >= len(rules):
        return ""
    head = f"{row['binding_kind']} {row['binding']} grants {row['role_kind']} {row['role']}, rule {number}"
    return f"<p><b>{html_text(head)}</b></p><pre>{html_text(object_yaml(rules[number]))}</pre>"

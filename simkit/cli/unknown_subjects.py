"""Notes of subjects that a cluster does not know, so that a slip of the pen does not look like an answer."""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING, Final

from simkit.cli.notes import note

if TYPE_CHECKING:
    from simkit.snapshot.protocol import Snapshot

PREFIXES: Final = ("user", "group", "sa")


def note_unknown_subjects(snapshot: Snapshot, args: argparse.Namespace) -> None:
    """Tell which subjects of ``--subject`` no binding names, and which names are near.

    Nothing is told of the server's own names, and nothing where memberships are given, which may name anybody.
    """
    from simkit.analysis.rbac.index import index_of, known_subjects
    from simkit.analysis.rbac.subject import normalize_subject, parse_subject, text_of

    asked = [one for one in args.subject or () if ":" not in one or one.partition(":")[0] in PREFIXES]
    if not asked or args.members:
        return
    bound = map(normalize_subject, index_of(snapshot).subjects())
    known = {text_of(one) for one in (*bound, *known_subjects(snapshot))}
    for one in asked:
        subject = parse_subject(one)
        text = text_of(subject)
        if text not in known and not subject.name.startswith("system:"):
            near = difflib.get_close_matches(text, known, n=2)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            note(f"no binding names {text}, which has only the access that everybody has{hint}")

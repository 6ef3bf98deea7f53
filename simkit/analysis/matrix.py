"""Access as tables of yes and no: one subject over resources, or one resource over subjects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd

from simkit.analysis.access import NO_MEMBERS, known_subjects
from simkit.analysis.can import can
from simkit.analysis.custom import catalogue_of
from simkit.analysis.subject import Members, parse, text_of
from simkit.logic.rbac.binding import Subject
from simkit.snapshot.protocol import Snapshot

VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


def access_matrix(
    snapshot: Snapshot,
    subject: Subject | str,
    *,
    resources: Sequence[str] | None = None,
    verbs: Sequence[str] = VERBS,
    namespace: str = "",
    members: Members = NO_MEMBERS,
) -> pd.DataFrame:
    """What a subject may do with each resource.

    Parameters
    ----------
    resources
        Words for resources; left out: every resource of the release, custom ones included.
    namespace
        Where; empty for all namespaces at once.

    Returns
    -------
    DataFrame
        One row per resource (``deployments.apps``), one column per verb, booleans: what ``can`` says.

    Notes
    -----
    One decision per field, a few microseconds each.
    """
    words = list(resources or _all_resources(snapshot))
    fields = [
        [can(snapshot, subject, verb, word, namespace=namespace, members=members).allowed for verb in verbs]
        for word in words
    ]
    return pd.DataFrame(fields, index=pd.Index(words, name="resource"), columns=list(verbs), dtype=bool)


def subject_matrix(
    snapshot: Snapshot,
    resource: str,
    *,
    subjects: Sequence[Subject | str] | None = None,
    verbs: Sequence[str] = VERBS,
    name: str = "",
    namespace: str = "",
    members: Members = NO_MEMBERS,
) -> pd.DataFrame:
    """Who may do what with one resource.

    Parameters
    ----------
    subjects
        Whom to ask about; left out: every user and service account that is known.

    Returns
    -------
    DataFrame
        One row per subject (``sa:ns/name``), one column per verb, booleans: what ``can`` says. With ``subjects`` left
        out, those who may do nothing are not shown.
    """
    asked = [parse(subject) for subject in (known_subjects(snapshot) if subjects is None else subjects)]
    fields = [
        [can(snapshot, one, verb, resource, name=name, namespace=namespace, members=members).allowed for verb in verbs]
        for one in asked
    ]
    index = pd.Index([text_of(one) for one in asked], name="subject")
    found = pd.DataFrame(fields, index=index, columns=list(verbs), dtype=bool)
    return found[found.any(axis=1)] if subjects is None else found


def _all_resources(snapshot: Snapshot) -> list[str]:
    return list(dict.fromkeys(str(resource) for resource in catalogue_of(snapshot).resources()))

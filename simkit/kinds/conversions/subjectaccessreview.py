"""Conversions of access reviews: the list of groups is ``group`` in v1beta1. Others only change version.

Follows ``pkg/apis/authorization/v1beta1/zz_generated.conversion.go``, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.kinds.conversions.family import Family, Spoke, peek, rename
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import AUTHORIZATION_GROUP
from simkit.meta.objects import Draft


def _to_hub(draft: Draft) -> None:
    spec = peek(draft, "spec")
    spec.pop("groups", None)  # the name of the other version means nothing here
    rename(spec, "group", "groups")


def _from_hub(behaviour: ServedBehaviour, draft: Draft) -> None:
    spec = peek(draft, "spec")
    spec.pop("group", None)
    rename(spec, "groups", "group")


def _family(kind: str) -> Family:
    return Family(kind, f"{AUTHORIZATION_GROUP}/v1", {f"{AUTHORIZATION_GROUP}/v1beta1": Spoke(_to_hub, _from_hub)})


FAMILIES: Final = {kind: _family(kind) for kind in ("SubjectAccessReview", "LocalSubjectAccessReview")}

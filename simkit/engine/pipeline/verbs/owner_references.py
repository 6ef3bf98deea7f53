"""Duplicate owner references: each is kept once, and the client is warned.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/rest.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.meta.objects import Draft

_WARNING: Final = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)
_AFTER: Final = " after mutating admission happens"


def deduplicate(draft: Draft, warnings: list[str], *, admitted: bool) -> None:
    """Keep each owner in the metadata of a draft once, before and after admission.

    Other references to the same owner, which differ in something, stay.
    """
    metadata = draft.get("metadata") or {}
    owners: Sequence[Mapping[str, Any]] = metadata.get("ownerReferences") or ()
    if len(owners) < 2:
        return
    kept: dict[str, Mapping[str, Any]] = {}
    repeated = []
    for owner in owners:
        content = repr(sorted(owner.items()))
        if content in kept:
            repeated.append(owner.get("uid", ""))
        else:
            kept[content] = owner
    if repeated:
        warnings.append(_WARNING.format(when=_AFTER if admitted else "", uids=", ".join(repeated)))
        draft["metadata"] = {**metadata, "ownerReferences": list(kept.values())}

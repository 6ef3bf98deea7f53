"""The flow schemas and priority levels that a server of a release makes for itself.

Follows ``k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from simkit.meta import datasets
from simkit.meta.objects import Object, name_of

_MARKED_SINCE: Final = 21
"""The first release that marks its own objects for updates."""
_LENT_SINCE: Final = 26
"""The first release whose levels lend each other seats."""


@cache
def flow_objects(minor: int) -> Sequence[Object]:
    """The objects of a release by its number, in the newest version of their group.

    Examples
    --------
    >>> [name_of(each) for each in flow_objects(21) if each["kind"] == "FlowSchema"][:3]
    ['catch-all', 'exempt', 'global-default']
    """
    changes: dict[tuple[str, str], Mapping[str, Any]] = {
        (row["kind"], row["name"]): row for row in datasets.load("bootstrap/flow-changes.json")
    }
    found = []
    for obj in datasets.load("bootstrap/flow-1.30.json"):
        change = changes.get((obj["kind"], name_of(obj)), {})
        within = _number(change.get("since"), 0) <= minor <= _number(change.get("last"), minor)
        if "spec" in change or within:
            made = {**obj, "spec": change["spec"] if "spec" in change and within else _spec_of(obj, minor)}
            found.append(made if minor >= _MARKED_SINCE else {**made, "metadata": {"name": name_of(obj)}})
    return tuple(found)


def _spec_of(obj: Object, minor: int) -> Object:
    spec: Object = obj["spec"]
    if minor >= _LENT_SINCE or "limited" not in spec:
        return spec
    return {**spec, "limited": {name: value for name, value in spec["limited"].items() if name != "lendablePercent"}}


def _number(release: str | None, otherwise: int) -> int:
    return otherwise if release is None else int(release.partition(".")[2])

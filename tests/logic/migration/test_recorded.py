"""MigratedObject objects mean what real programs made of the same objects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from simkit.kinds.conversions import convert
from simkit.kinds.conversions.convert import differences
from simkit.logic.migration.migrate_object import migrate_object
from simkit.schema.behaviour import default_behaviour
from tests.kinds.conversions.test_recorded import EXCEPTIONS, lines, plain, typed
from tests.shared import needs_shared

_OLD_WORKLOADS: Final = r"^(Deployment|DaemonSet|ReplicaSet|StatefulSet) \S+ "
EXPLAINED: Final[Mapping[str, str]] = {
    **EXCEPTIONS,
    r"^HorizontalPodAutoscaler cpu-util spec\.scaleTargetRef\.apiVersion": "references are mended too",
    r"^HorizontalPodAutoscaler .*annotations\.autoscaling\.alpha": "numbers stay numbers where a quantity is meant",
    r"^CustomResourceDefinition \S+ spec\.(preserve|validation|versions)": "schemas are made structural",
    r"^IngressClass no-scope spec\.parameters\.scope": "the default is the same in both versions",
    r"^NetworkPolicy (ingress-from|types) .*protocol": "null is the default, TCP",
    r"^PriorityLevelConfiguration (shares-0|zero-with-annotation) ": "the older versions have no zero",
    _OLD_WORKLOADS + r"metadata\.labels\.": "the oldest versions copy the labels of the template when they are read",
}
"""Differences that stay: patterns over kind, case and path, with the reason."""


@needs_shared
def test_mended_objects_mean_the_same() -> None:
    """After a server has set its defaults, a mended object and a recorded conversion are the same."""
    compared, wrong = 0, []
    for record in lines():
        if record["step"] != 1 or record["from"] == record["to"] or "error" in record:
            continue
        mended = migrate_object(record["input"], "1.30", output_version=record["to"])
        if mended.person or not mended.changed:
            continue
        compared += 1
        ours = typed(convert(typed(mended.object), record["to"], default_behaviour("1.30"), defaults=True))
        for each in differences(plain(typed(record["output"])), plain(ours)):
            place = f"{record['kind']} {record['case']} {each.path}"
            quantity = str(each.before) == str(each.after)
            if not quantity and not each.path.startswith("status") and not _explained(place):
                wrong.append((record["from"], record["to"], place, each.before, each.after))
    assert compared > 400
    assert not wrong


def _explained(place: str) -> bool:
    return any(re.search(pattern, place) for pattern in EXPLAINED)

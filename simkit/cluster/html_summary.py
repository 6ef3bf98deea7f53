"""A cluster as notebooks show it: its objects by namespace."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from simkit.meta.objects import namespace_of
from simkit.meta.visible_text import html_text
from simkit.present.readable_table import html_table

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

MOST: Final = 12
"""The most resources and namespaces that are listed."""


def cluster_html(cluster: Cluster) -> str:
    """The release, the revision, and the largest resources and namespaces of a cluster. O(objects)."""
    made = cluster.engine
    by_resource: Counter[str] = Counter()
    by_namespace: Counter[str] = Counter()
    for resource in {each.storage for each in made.catalogue.stored()}:
        for entry in made.store.scan(resource):
            by_resource[str(resource)] += 1
            by_namespace[namespace_of(entry.object) or "(the whole cluster)"] += 1
    head = f"release {cluster.release}, {by_resource.total():,} objects at revision {made.store.revision}"
    shown = (_table(title, counts) for title, counts in (("resource", by_resource), ("namespace", by_namespace)))
    tables = "".join(f"<div>{each}</div>" for each in shown)
    lost = cluster.dump.lost if cluster.dump is not None else ()
    told = f"<p>{len(lost)} things in the dump could not be read: see <code>cluster.dump</code>.</p>" if lost else ""
    side_by_side = f"<div style='display:flex;flex-wrap:wrap;gap:0 2em'>{tables}</div>"
    return f"<p><b>Cluster</b>: {html_text(head)}</p>{told}{side_by_side}"


def _table(title: str, counts: Counter[str]) -> str:
    left_out = len(counts) - MOST
    return html_table((title, "objects"), counts.most_common(MOST), told=f"{left_out} more" if left_out > 0 else "")

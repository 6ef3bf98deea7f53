"""A cluster as notebooks show it: its objects by namespace."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from simkit.meta.escaping import html_text
from simkit.meta.objects import namespace_of

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
    tables = "".join(
        _table(title, counts) for title, counts in (("resource", by_resource), ("namespace", by_namespace))
    )
    lost = cluster.dump.lost if cluster.dump is not None else ()
    told = f"<p>{len(lost)} things in the dump could not be read: see <code>cluster.dump</code>.</p>" if lost else ""
    return f"<p><b>Cluster</b>: {html_text(head)}</p>{told}<div style='display:flex;gap:2em'>{tables}</div>"


def _table(title: str, counts: Counter[str]) -> str:
    rows = "".join(
        f"<tr><td style='text-align:left'>{html_text(name)}</td><td>{number:,}</td></tr>"
        for name, number in counts.most_common(MOST)
    )
    more = f"<tr><td style='text-align:left'>{len(counts) - MOST} more</td><td></td></tr>" if len(counts) > MOST else ""
    head = f"<tr><th style='text-align:left'>{title}</th><th>objects</th></tr>"
    return f"<table style='align-self:flex-start'>{head}{rows}{more}</table>"

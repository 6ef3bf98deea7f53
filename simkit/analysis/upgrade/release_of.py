"""The release of a cluster, as far as its objects and recorded requests show it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from simkit.analysis.audit_log.events import AuditLog
from simkit.analysis.audit_log.requests import recorded_requests
from simkit.analysis.upgrade.behaviour.skew import minor_in
from simkit.analysis.upgrade.items import Item
from simkit.meta.domain import API_SERVER
from simkit.meta.objects import at
from simkit.schema.lifecycle import spans
from simkit.schema.releases import RELEASES

_IMAGE: Final = re.compile(rf"(?:^|/){API_SERVER}[^:/]*:v?(1\.\d+)")


def release_of(items: Iterable[Item], audit_log: AuditLog | None = None) -> str:
    """The release that the image of the API server names, else that of the newest kubelet, else the newest one that has
    all that requests were answered for; empty where none of them tells a release.

    Examples
    --------
    >>> node = {"kind": "Node", "status": {"nodeInfo": {"kubeletVersion": "v1.23.17-eks"}}}
    >>> release_of([Item(node)])
    '1.23'
    """
    kubelets: set[int] = set()
    servers: set[int] = set()
    for item in items:
        if item.kind == "Node":
            kubelets.add(minor_in(str(at(item.obj, "status", "nodeInfo", "kubeletVersion"))) or 0)
        elif item.kind == "Pod":
            containers = at(item.obj, "spec", "containers")
            for container in containers if isinstance(containers, list) else ():
                match = _IMAGE.search(str(at(container, "image") or ""))
                servers.add((minor_in(match.group(1)) or 0) if match else 0)
    newest = min(servers - {0}, default=0) or max(kubelets, default=0)
    if newest == 0 and audit_log is not None:
        return _newest_that_answers(audit_log)
    return f"1.{newest}" if f"1.{newest}" in RELEASES else ""


def _newest_that_answers(audit_log: AuditLog) -> str:
    """The newest release with every version of which a recorded request was answered; empty if any later one has it."""
    asked = {(each.api_version, each.resource) for each in recorded_requests(audit_log) if 0 < each.code < 400}
    last = [span.releases[-1] for span in spans() if (span.api_version, span.plural) in asked]
    oldest = min(map(RELEASES.index, last), default=len(RELEASES) - 1)
    return RELEASES[oldest] if oldest + 1 < len(RELEASES) else ""

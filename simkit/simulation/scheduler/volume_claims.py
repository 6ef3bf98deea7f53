"""The scheduler's writes to claims before it binds their pod: the node for which volumes are provided.

Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go (``BindPodVolumes``), release 1.30.
"""

from __future__ import annotations

from simkit.client.controller import Client
from simkit.client.lister import uid_of
from simkit.client.requests import expect, merge
from simkit.meta.objects import Object, annotations_of, metadata, name_of, namespace_of
from simkit.simulation.scheduler.node_info import NodeInfo, PodInfo
from simkit.simulation.scheduler.view import CLAIMS, VOLUMES, View
from simkit.simulation.scheduler.volume_filters import SELECTED_NODE, available_volume, claims_of, is_bound


def prepare_claims(client: Client, view: View, pod: PodInfo, info: NodeInfo) -> bool:
    """True if all claims of a pod are bound; for those that are not, volumes are chosen or asked for."""
    waiting = []
    for name, _ in claims_of(pod.pod):
        claim = view.claim(pod.namespace, name)
        if claim is not None and not is_bound(claim):
            waiting.append(claim)
    for claim in waiting:
        _prepare(client, view, claim, info)
    return not waiting


def _prepare(client: Client, view: View, claim: Object, info: NodeInfo) -> None:
    if annotations_of(claim).get(SELECTED_NODE):
        return
    volume = available_volume(view, claim, info.object)
    if volume is not None:
        expect(merge(client, VOLUMES, volume, {"spec": {"claimRef": _reference(claim)}}), 404, 409)
        return
    expect(merge(client, CLAIMS, claim, {"metadata": {"annotations": {SELECTED_NODE: info.name}}}), 404, 409)


def _reference(claim: Object) -> dict[str, str]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": namespace_of(claim),
        "name": name_of(claim),
        "uid": uid_of(claim),
        "resourceVersion": metadata(claim).get("resourceVersion", ""),
    }

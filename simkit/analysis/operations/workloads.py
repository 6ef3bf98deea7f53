"""Workloads that are rolled out anew, and workloads under load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.analysis.operations.observation import PODS, Observation, OperationSandbox, owner_of, uid_of
from simkit.analysis.operations.result import Operation
from simkit.logic.workloads.status_conditions import find
from simkit.meta.clock import timestamp
from simkit.meta.domain import label
from simkit.meta.duration import seconds
from simkit.meta.errors import SimkitError
from simkit.meta.labels import of_object
from simkit.meta.objects import Object, at, labels_of, metadata, namespace_of

_RESOURCES: Final = {"deployment": "deployments", "statefulset": "statefulsets", "daemonset": "daemonsets"}
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_RESTARTED: Final = label("restartedAt", "kubectl")


def roll_out(
    sandbox: OperationSandbox,
    workload: str,
    namespace: str = "default",
    *,
    change: Object | None = None,
    image: str = "",
    timeout: str = "10m",
    ready_after: str = "10s",
) -> Operation:
    """The course of a rollout: how many pods are ready meanwhile, and what does not start and why.

    Parameters
    ----------
    sandbox
        The cluster on whose fork it is done.
    workload
        Kind and name: ``deployment/web``, ``statefulset/db``, ``daemonset/agent``.
    namespace
        Its namespace.
    change
        A strategic merge patch of the workload. Without one, and without an image, its pods are restarted. In the
        annotations of the template, ``simkit/ready: "false"`` says that the new pods never become ready.
    image
        The new image of its first container.
    timeout
        The time after which the rollout is given up.
    ready_after
        The time from the start of a container until it is ready.

    Returns
    -------
    Operation
        One row per pod of the workload, old and new.

    Raises
    ------
    SimkitError
        For a workload that is not there, and for a change that the server refuses.

    Examples
    --------
    >>> from simkit import Cluster
    >>> cluster = Cluster(seed=1)
    >>> added = cluster.add_nodes(1)
    >>> labels, containers = {"app": "web"}, [{"name": "web", "image": "web:1"}]
    >>> template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    >>> spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    >>> web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    >>> made = cluster.create(web)
    >>> rounds = cluster.settle()
    >>> [each.outcome for each in cluster.roll_out("deployment/web", image="web:2").pods]
    ['moved', 'moved']
    """
    kind, _, name = workload.partition("/")
    resource = _RESOURCES.get(kind.lower().removesuffix("s"))
    if resource is None or not name:
        raise SimkitError(f"{workload!r} cannot be rolled out; name a workload as deployment/NAME or statefulset/NAME")
    observed = Observation(sandbox.rehearsal(settings={"ready-after": ready_after}))
    path = f"/apis/apps/v1/namespaces/{namespace}/{resource}/{name}"
    held = observed.demand(observed.send("GET", path))
    touched = {uid_of(pod): "replaced" for pod in _pods_of(observed, held)}
    observed.demand(observed.send("PATCH", path, _patch(held, change, image), content_type=_STRATEGIC))

    def is_done() -> bool:
        return _is_rolled_out(observed.demand(observed.send("GET", path)), resource)

    complete = observed.wait_for(is_done, seconds(timeout), 2.0)
    if complete:
        observed.wait_for(lambda: not observed.unsettled(), 60.0, 2.0)
    return observed.result(f"rollout of {kind}/{name}", touched, complete=complete, planned=True)


def _patch(held: Object, change: Object | None, image: str) -> Mapping[str, Any]:
    if change is not None:
        return change
    if image:
        first = (at(held, "spec", "template", "spec", "containers") or [{}])[0]
        return {"spec": {"template": {"spec": {"containers": [{"name": first.get("name", ""), "image": image}]}}}}
    return {"spec": {"template": {"metadata": {"annotations": {_RESTARTED: timestamp(0)}}}}}


def _is_rolled_out(obj: Object, resource: str) -> bool:
    status = obj.get("status") or {}
    if status.get("observedGeneration", 0) < metadata(obj).get("generation", 0):
        return False
    if resource == "daemonsets":
        wanted = status.get("desiredNumberScheduled", 0)
        return bool(status.get("updatedNumberScheduled", 0) == wanted == status.get("numberAvailable", 0))
    wanted = at(obj, "spec", "replicas") or 0
    ready = status.get("availableReplicas", 0) if resource == "deployments" else status.get("readyReplicas", 0)
    return bool(status.get("updatedReplicas", 0) == wanted == ready and status.get("replicas", 0) == wanted)


def _pods_of(observed: Observation, held: Object) -> list[Object]:
    chosen = of_object(at(held, "spec", "selector") or {})
    return [
        pod
        for pod in observed.snapshot.scan(PODS, namespace_of(held))
        if owner_of(pod) and chosen.matches(labels_of(pod))
    ]


def put_under_load(
    sandbox: OperationSandbox,
    autoscaler: str,
    namespace: str = "default",
    *,
    cpu: str,
    minutes: float = 10,
    ready_after: str = "10s",
) -> Operation:
    """The course of autoscaling under a load: how many pods there are, and which of them find no node.

    Parameters
    ----------
    sandbox
        The cluster on whose fork it is done.
    autoscaler
        The name of a HorizontalPodAutoscaler.
    namespace
        Its namespace.
    cpu
        The CPU that all ready pods of its target share, such as ``"12"``.
    minutes
        The simulated time that is looked at.
    ready_after
        The time from the start of a container until it is ready.

    Returns
    -------
    Operation
        One row per pod that is new, or that is gone.

    Raises
    ------
    SimkitError
        For an autoscaler that is not there, whose target has no pods, or that does not scale, with its reason.

    Examples
    --------
    >>> from simkit import Cluster
    >>> cluster = Cluster(seed=1)
    >>> added = cluster.add_nodes(1)
    >>> labels, requests = {"app": "web"}, {"cpu": "2"}
    >>> containers = [{"name": "web", "image": "web:1", "resources": {"requests": requests}}]
    >>> template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    >>> spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    >>> web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    >>> target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    >>> limits = {"minReplicas": 1, "maxReplicas": 6, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": target}
    >>> scaler = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": limits}
    >>> made = [cluster.create(each) for each in (web, {"apiVersion": "autoscaling/v1", **scaler})]
    >>> rounds = cluster.settle()
    >>> sorted(each.outcome for each in cluster.put_under_load("web", cpu="8").pods)
    ['pending', 'pending', 'started', 'started']
    """
    observed = Observation(sandbox.rehearsal(settings={"ready-after": ready_after}))
    path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/{autoscaler}"
    target = observed.demand(observed.send("GET", path))["spec"]["scaleTargetRef"]
    resource = _RESOURCES.get(str(target["kind"]).lower())
    if resource is None:
        raise SimkitError(f"{target['kind']}/{target['name']} has no pods in the dump")
    scale = observed.demand(
        observed.send("GET", f"/apis/apps/v1/namespaces/{namespace}/{resource}/{target['name']}/scale")
    )
    observed.cluster.set_load(scale["status"]["selector"], namespace, cpu)
    before = {uid_of(pod) for pod in observed.snapshot.scan(PODS, namespace)}
    while observed.seconds < minutes * 60:
        observed.wait(min(15.0, minutes * 60 - observed.seconds))
    active = find(at(observed.demand(observed.send("GET", path)), "status", "conditions"), "ScalingActive") or {}
    if active.get("status") == "False":
        raise SimkitError(
            f"the autoscaler {autoscaler} does not scale: {active.get('message') or active.get('reason')}"
        )
    now = {uid_of(pod) for pod in observed.snapshot.scan(PODS, namespace)}
    touched = dict.fromkeys(sorted(before - now), "scaled")
    return observed.result(f"load of {cpu} CPU on {target['name']}", touched, complete=True, planned=True)

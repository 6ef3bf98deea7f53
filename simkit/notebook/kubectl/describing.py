"""kubectl describe: well-known kinds in their own form, all others field by field, with their events.

Upstream: k8s.io/kubectl/pkg/describe/describe.go, release 1.32.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from simkit.meta.objects import Object
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.description import (
    access,
    fields,
    ingresses,
    limits,
    namespaces,
    nodes,
    pods,
    schedules,
    services,
    storage,
    traffic,
    workloads,
)
from simkit.notebook.kubectl.selection import Selected, meant
from simkit.notebook.kubectl.tab_writer import tabbed

LINES: Final[Mapping[str, Callable[[Client, Object], Iterator[str]]]] = {
    "ClusterRole": access.role_lines,
    "ClusterRoleBinding": access.binding_lines,
    "ConfigMap": access.config_map_lines,
    "CronJob": schedules.cron_job_lines,
    "DaemonSet": workloads.daemon_set_lines,
    "Deployment": workloads.deployment_lines,
    "EndpointSlice": traffic.endpoint_slice_lines,
    "Endpoints": traffic.endpoints_lines,
    "HorizontalPodAutoscaler": schedules.autoscaler_lines,
    "Ingress": ingresses.ingress_lines,
    "IngressClass": traffic.ingress_class_lines,
    "Job": workloads.job_lines,
    "LimitRange": limits.limit_range_lines,
    "Namespace": namespaces.namespace_lines,
    "NetworkPolicy": traffic.network_policy_lines,
    "Node": nodes.node_lines,
    "PersistentVolume": storage.volume_lines,
    "PersistentVolumeClaim": storage.claim_lines,
    "Pod": pods.pod_lines,
    "PodDisruptionBudget": limits.disruption_budget_lines,
    "PriorityClass": storage.priority_class_lines,
    "ReplicaSet": workloads.replica_set_lines,
    "ReplicationController": workloads.replication_controller_lines,
    "ResourceQuota": limits.quota_lines,
    "Role": access.role_lines,
    "RoleBinding": access.binding_lines,
    "Secret": access.secret_lines,
    "Service": services.service_lines,
    "ServiceAccount": access.service_account_lines,
    "StatefulSet": workloads.stateful_set_lines,
    "StorageClass": storage.storage_class_lines,
}
"""The kinds of Kubernetes with a form of their own."""


def describe(client: Client, args: Namespace, stdin: str) -> str:
    """The objects that the words name, in full."""
    parts: list[str] = []
    for one in meant(client, args, stdin):
        kinds = {"apiVersion": one.resource.api_version, "kind": one.resource.kind}
        listed, by_beginning = _found(client, one, args)
        found = [{**kinds, **each} for each in listed]
        lines = fields.field_lines if one.resource.custom else LINES.get(one.resource.kind, fields.field_lines)
        texts = [tabbed("".join(f"{line}\n" for line in lines(client, each))) for each in found]
        parts += ["".join(f"{text}\n" for text in texts)] if by_beginning else texts
    if not parts:
        raise KubectlError(f"No resources found in {client.namespace} namespace.", code=0)
    return "\n\n".join(parts)


def _found(client: Client, one: Selected, args: Namespace) -> tuple[list[Object], bool]:
    """The objects that are meant: that of a name, else those whose names begin with it, or all. True for a beginning.

    Raises KubectlError if there is none of the name.
    """
    namespace = one.namespace or (client.namespace if one.resource.namespaced and not args.all_namespaces else "")
    listed = client.path(one.resource, namespace)
    if not one.name:
        query = {"labelSelector": args.selector} if args.selector else None
        return list(client.ask("GET", listed, query=query).object["items"]), False
    try:
        return [client.ask("GET", client.path(one.resource, namespace, one.name)).object], False
    except KubectlError as error:
        items = client.ask("GET", listed).object["items"] if "(NotFound)" in error.text else ()
        begun = [each for each in items if each["metadata"]["name"].startswith(one.name)]
        if not begun:
            raise
        return begun, True

"""Descriptions of Table columns that show one field: those of the field.

What kube-apiserver says of other columns is written for them alone, and is not here.

References
----------
k8s.io/kubernetes/pkg/printers/internalversion/printers.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simkit.schema.openapi import descriptions

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_SHARED: Final[Mapping[str, str]] = {"Name": "name", "Age": "creationTimestamp", "Created At": "creationTimestamp"}
"""Columns of all resources, with their fields of metadata."""
_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "configmaps": {"Data": "core.v1.ConfigMap.data"},
    "cronjobs": {
        "Schedule": "batch.v1.CronJobSpec.schedule",
        "TimeZone": "batch.v1.CronJobSpec.timeZone",
        "Suspend": "batch.v1.CronJobSpec.suspend",
        "Active": "batch.v1.CronJobStatus.active",
        "Last Schedule": "batch.v1.CronJobStatus.lastScheduleTime",
    },
    "daemonsets": {
        "Desired": "apps.v1.DaemonSetStatus.desiredNumberScheduled",
        "Current": "apps.v1.DaemonSetStatus.currentNumberScheduled",
        "Ready": "apps.v1.DaemonSetStatus.numberReady",
        "Up-to-date": "apps.v1.DaemonSetStatus.updatedNumberScheduled",
        "Available": "apps.v1.DaemonSetStatus.numberAvailable",
        "Node Selector": "core.v1.PodSpec.nodeSelector",
    },
    "deployments": {
        "Up-to-date": "apps.v1.DeploymentStatus.updatedReplicas",
        "Available": "apps.v1.DeploymentStatus.availableReplicas",
    },
    "endpoints": {"Endpoints": "core.v1.Endpoints.subsets"},
    "events": {
        "Last Seen": "core.v1.Event.lastTimestamp",
        "Type": "core.v1.Event.type",
        "Reason": "core.v1.Event.reason",
        "Message": "core.v1.Event.message",
        "First Seen": "core.v1.Event.firstTimestamp",
        "Count": "core.v1.Event.count",
    },
    "jobs": {"Completions": "batch.v1.JobStatus.succeeded"},
    "leases": {"Holder": "coordination.v1.LeaseSpec.holderIdentity"},
    "nodes": {
        "Version": "core.v1.NodeSystemInfo.kubeletVersion",
        "OS-Image": "core.v1.NodeSystemInfo.osImage",
        "Kernel-Version": "core.v1.NodeSystemInfo.kernelVersion",
        "Container-Runtime": "core.v1.NodeSystemInfo.containerRuntimeVersion",
    },
    "persistentvolumeclaims": {
        "Status": "core.v1.PersistentVolumeClaimStatus.phase",
        "Volume": "core.v1.PersistentVolumeClaimSpec.volumeName",
        "Capacity": "core.v1.PersistentVolumeClaimStatus.capacity",
        "Access Modes": "core.v1.PersistentVolumeClaimStatus.accessModes",
        "VolumeMode": "core.v1.PersistentVolumeClaimSpec.volumeMode",
    },
    "persistentvolumes": {
        "Capacity": "core.v1.PersistentVolumeSpec.capacity",
        "Access Modes": "core.v1.PersistentVolumeSpec.accessModes",
        "Reclaim Policy": "core.v1.PersistentVolumeSpec.persistentVolumeReclaimPolicy",
        "Status": "core.v1.PersistentVolumeStatus.phase",
        "Reason": "core.v1.PersistentVolumeStatus.reason",
        "VolumeMode": "core.v1.PersistentVolumeSpec.volumeMode",
    },
    "pods": {
        "IP": "core.v1.PodStatus.podIP",
        "Node": "core.v1.PodSpec.nodeName",
        "Nominated Node": "core.v1.PodStatus.nominatedNodeName",
        "Readiness Gates": "core.v1.PodSpec.readinessGates",
    },
    "priorityclasses": {
        "Value": "scheduling.v1.PriorityClass.value",
        "Global-Default": "scheduling.v1.PriorityClass.globalDefault",
    },
    "replicasets": {
        "Desired": "apps.v1.ReplicaSetSpec.replicas",
        "Current": "apps.v1.ReplicaSetStatus.replicas",
        "Ready": "apps.v1.ReplicaSetStatus.readyReplicas",
    },
    "replicationcontrollers": {
        "Desired": "core.v1.ReplicationControllerSpec.replicas",
        "Current": "core.v1.ReplicationControllerStatus.replicas",
        "Ready": "core.v1.ReplicationControllerStatus.readyReplicas",
    },
    "secrets": {"Type": "core.v1.Secret.type", "Data": "core.v1.Secret.data"},
    "serviceaccounts": {"Secrets": "core.v1.ServiceAccount.secrets"},
    "services": {
        "Type": "core.v1.ServiceSpec.type",
        "Cluster-IP": "core.v1.ServiceSpec.clusterIP",
        "External-IP": "core.v1.ServiceSpec.externalIPs",
        "Port(s)": "core.v1.ServiceSpec.ports",
        "Selector": "core.v1.ServiceSpec.selector",
    },
    "storageclasses": {
        "Provisioner": "storage.v1.StorageClass.provisioner",
        "ReclaimPolicy": "storage.v1.StorageClass.reclaimPolicy",
        "VolumeBindingMode": "storage.v1.StorageClass.volumeBindingMode",
        "AllowVolumeExpansion": "storage.v1.StorageClass.allowVolumeExpansion",
    },
}
"""Columns by resource, with their fields."""


def column_description(resource: str, column: str) -> str:
    """The description of a column of a built-in resource; empty if it shows several fields or has none."""
    if column in _SHARED:
        return descriptions.text(_META, _SHARED[column])
    definition, _, field = _FIELDS.get(resource, {}).get(column, "").rpartition(".")
    return descriptions.text(f"io.k8s.api.{definition}", field) if definition else ""

"""Names of the resources that controllers read and write."""

from __future__ import annotations

from typing import Final

from simkit.meta.domain import CERTIFICATES_GROUP, api_group
from simkit.meta.names import GroupResource

NAMESPACES: Final = GroupResource("", "namespaces")
NODES: Final = GroupResource("", "nodes")
EVENTS: Final = GroupResource("", "events")
PODS: Final = GroupResource("", "pods")
SERVICES: Final = GroupResource("", "services")
ENDPOINTS: Final = GroupResource("", "endpoints")
SECRETS: Final = GroupResource("", "secrets")
CONFIG_MAPS: Final = GroupResource("", "configmaps")
SERVICE_ACCOUNTS: Final = GroupResource("", "serviceaccounts")
QUOTAS: Final = GroupResource("", "resourcequotas")
CLAIMS: Final = GroupResource("", "persistentvolumeclaims")
VOLUMES: Final = GroupResource("", "persistentvolumes")
REPLICATION_CONTROLLERS: Final = GroupResource("", "replicationcontrollers")
DEPLOYMENTS: Final = GroupResource("apps", "deployments")
REPLICA_SETS: Final = GroupResource("apps", "replicasets")
STATEFUL_SETS: Final = GroupResource("apps", "statefulsets")
DAEMON_SETS: Final = GroupResource("apps", "daemonsets")
REVISIONS: Final = GroupResource("apps", "controllerrevisions")
JOBS: Final = GroupResource("batch", "jobs")
CRON_JOBS: Final = GroupResource("batch", "cronjobs")
STORAGE_CLASSES: Final = GroupResource(api_group("storage"), "storageclasses")
LEASES: Final = GroupResource(api_group("coordination"), "leases")
AUTOSCALERS: Final = GroupResource("autoscaling", "horizontalpodautoscalers")
SLICES: Final = GroupResource(api_group("discovery"), "endpointslices")
DEVICE_CLASSES: Final = GroupResource(api_group("resource"), "deviceclasses")
BUDGETS: Final = GroupResource("policy", "poddisruptionbudgets")
SIGNING_REQUESTS: Final = GroupResource(CERTIFICATES_GROUP, "certificatesigningrequests")

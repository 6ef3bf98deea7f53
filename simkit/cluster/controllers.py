"""The controllers, the order in which they run, and those that are on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import util
from typing import Any, Final

from simkit.engine.controllers.bootstrap_tokens import BootstrapSigner, TokenCleaner
from simkit.engine.controllers.certificate_approver import CSRApprovingController
from simkit.engine.controllers.certificate_authority import CertificateAuthority
from simkit.engine.controllers.certificate_cleaner import CSRCleanerController
from simkit.engine.controllers.certificate_signer import CSRSigningController
from simkit.engine.controllers.cluster_role_aggregation import ClusterRoleAggregationController
from simkit.engine.controllers.controller_manager import Client, Controller, select_controllers
from simkit.engine.controllers.cron_job import CronJobController
from simkit.engine.controllers.daemon_set import DaemonSetsController
from simkit.engine.controllers.deployment import DeploymentController
from simkit.engine.controllers.device_taint_eviction import DeviceTaintEvictionController
from simkit.engine.controllers.disruption import DisruptionController
from simkit.engine.controllers.endpoint_slice import EndpointSliceController
from simkit.engine.controllers.endpoint_slice_mirroring import EndpointSliceMirroringController
from simkit.engine.controllers.endpoints import EndpointsController
from simkit.engine.controllers.ephemeral_volume import EphemeralVolumeController
from simkit.engine.controllers.event_recorder import EventRecorder
from simkit.engine.controllers.garbage_collector import GarbageCollector
from simkit.engine.controllers.job import JobController
from simkit.engine.controllers.legacy_token_cleaner import LegacyTokenCleaner
from simkit.engine.controllers.namespace import NamespaceController
from simkit.engine.controllers.node_lifecycle import NodeLifecycleController
from simkit.engine.controllers.node_ttl import TTLController
from simkit.engine.controllers.node_zones import DEFAULT_RATES, EvictionRates
from simkit.engine.controllers.persistent_volume_binder import PersistentVolumeController
from simkit.engine.controllers.pod_autoscaler import HorizontalController
from simkit.engine.controllers.pod_gc import PodGCController
from simkit.engine.controllers.reconciler import Reconciler, ReconcilingController
from simkit.engine.controllers.replica_set import ReplicaSetController
from simkit.engine.controllers.resource_claim import ResourceClaimController
from simkit.engine.controllers.resource_quota import ResourceQuotaController
from simkit.engine.controllers.root_ca_cert_publisher import RootCACertPublisher
from simkit.engine.controllers.service_account import ServiceAccountsController
from simkit.engine.controllers.service_account_tokens import TokensController
from simkit.engine.controllers.service_cidrs import ServiceCIDRsController
from simkit.engine.controllers.stateful_set import StatefulSetController
from simkit.engine.controllers.storage_protection import PVCProtectionController, PVProtectionController
from simkit.engine.controllers.storage_version_migrator import StorageVersionMigrator
from simkit.engine.controllers.taint_eviction import TaintEvictionController
from simkit.engine.controllers.ttl_after_finished import TTLAfterFinishedController
from simkit.engine.controllers.validating_admission_policy_status import PolicyStatusController
from simkit.meta.behaviour import BASE_MINOR, ServedBehaviour, applies, serving
from simkit.meta.clock import Clock, NameSource
from simkit.meta.names import GroupResource, GroupVersionKind
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue

_JOB: Final = GroupVersionKind("batch", "v1", "Job")


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """The parts from which controllers are made (``app.ControllerContext``)."""

    clock: Clock
    catalogue: Callable[[], Catalogue]
    """The resources that are served now."""
    authority: CertificateAuthority
    issue: Callable[[Mapping[str, Any]], str]
    """The function that signs the claims of a service account token."""
    alive: Callable[[str], bool] = lambda _: False
    """A predicate for nodes that live although they do not report."""
    captured: Collection[GroupResource] | None = None
    """The resources that a dump captured; None: all resources."""
    behaviour: ServedBehaviour = field(default_factory=lambda: ServedBehaviour(BASE_MINOR))
    """The behaviour of the release that is served."""
    eviction_rates: EvictionRates = DEFAULT_RATES
    """The rates at which pods are evicted from nodes that have failed."""
    name_source: NameSource = field(default_factory=NameSource)
    """The source of the parts of names that controllers make up."""


Maker = Callable[[ControllerContext], Reconciler]


def _account_tokens(means: ControllerContext) -> Reconciler:
    with serving(means.behaviour):
        names = None if applies("account-secrets-on-demand") else means.name_source
    return TokensController(means.issue, lambda: means.authority.bundle, names)


def _jobs(means: ControllerContext) -> Reconciler:
    status = means.catalogue().schema(_JOB).fields["status"]
    with serving(means.behaviour):
        in_two_steps = applies("jobs-end-in-two-steps")
    return JobController(means.clock, tracked="uncountedTerminatedPods" in status.fields, in_two_steps=in_two_steps)


KEYED: Final[Mapping[str, tuple[bool, Maker]]] = {
    "clusterrole-aggregation-controller": (True, lambda _: ClusterRoleAggregationController()),
    "validatingadmissionpolicy-status-controller": (True, lambda means: PolicyStatusController(means.catalogue)),
    "serviceaccount-token-controller": (True, _account_tokens),
    "legacy-serviceaccount-token-cleaner-controller": (True, lambda means: LegacyTokenCleaner(means.clock)),
    "serviceaccount-controller": (True, lambda _: ServiceAccountsController()),
    "root-ca-certificate-publisher-controller": (
        True,
        lambda means: RootCACertPublisher(lambda: means.authority.bundle),
    ),
    "namespace-controller": (True, lambda means: NamespaceController(means.catalogue, means.clock)),
    "endpoints-controller": (True, lambda _: EndpointsController()),
    "endpointslice-controller": (True, lambda _: EndpointSliceController()),
    "endpointslice-mirroring-controller": (True, lambda _: EndpointSliceMirroringController()),
    "replicationcontroller-controller": (True, lambda means: ReplicaSetController.controllers(means.clock)),
    "replicaset-controller": (True, lambda means: ReplicaSetController.sets(means.clock)),
    "deployment-controller": (True, lambda means: DeploymentController(means.clock)),
    "statefulset-controller": (True, lambda means: StatefulSetController(means.clock)),
    "daemonset-controller": (True, lambda means: DaemonSetsController(means.clock)),
    "job-controller": (True, _jobs),
    "cronjob-controller": (True, lambda means: CronJobController(means.clock)),
    "ttl-after-finished-controller": (True, lambda means: TTLAfterFinishedController(means.clock)),
    "pod-garbage-collector-controller": (True, lambda means: PodGCController(means.clock)),
    "resourcequota-controller": (
        True,
        lambda means: ResourceQuotaController(means.catalogue, means.clock, means.behaviour),
    ),
    "horizontal-pod-autoscaler-controller": (True, lambda means: HorizontalController(means.clock, means.catalogue)),
    "node-lifecycle-controller": (
        True,
        lambda means: NodeLifecycleController(means.clock, means.alive, means.eviction_rates),
    ),
    "taint-eviction-controller": (True, lambda means: TaintEvictionController(means.clock)),
    "ttl-controller": (True, lambda _: TTLController()),
    "persistentvolume-binder-controller": (True, lambda means: PersistentVolumeController(means.clock)),
    "ephemeral-volume-controller": (True, lambda means: EphemeralVolumeController(means.clock)),
    "resourceclaim-controller": (True, lambda means: ResourceClaimController(means.clock, means.behaviour)),
    "device-taint-eviction-controller": (
        True,
        lambda means: DeviceTaintEvictionController(means.clock, means.behaviour),
    ),
    "disruption-controller": (True, lambda means: DisruptionController(means.clock, means.catalogue)),
    "persistentvolumeclaim-protection-controller": (True, lambda _: PVCProtectionController()),
    "persistentvolume-protection-controller": (True, lambda _: PVProtectionController()),
    "certificatesigningrequest-approving-controller": (True, lambda _: CSRApprovingController()),
    "certificatesigningrequest-signing-controller": (
        True,
        lambda means: CSRSigningController(means.authority, means.clock),
    ),
    "certificatesigningrequest-cleaner-controller": (True, lambda means: CSRCleanerController(means.clock)),
    "storage-version-migrator-controller": (True, lambda means: StorageVersionMigrator(means.catalogue, means.clock)),
    "service-cidr-controller": (True, lambda means: ServiceCIDRsController(means.catalogue, means.clock)),
    "bootstrap-signer-controller": (False, lambda means: BootstrapSigner(means.clock)),
    "token-cleaner-controller": (False, lambda means: TokenCleaner(means.clock)),
}
"""Controllers with a queue of keys: whether they are on by default, and their constructors."""

_WHOLE: Final[Mapping[str, Callable[[ControllerContext], Controller]]] = {
    "garbage-collector-controller": lambda means: GarbageCollector(means.catalogue, means.clock, means.captured),
}
"""Controllers without a queue."""

_OF_CERTIFICATES: Final = frozenset({"root-ca-certificate-publisher-controller"})
"""Controllers that do nothing without certificates, for which browsers may lack the library."""

ALIASES: Final = {
    "serviceaccount-token": "serviceaccount-token-controller",
    "endpoint": "endpoints-controller",
    "endpointslice": "endpointslice-controller",
    "endpointslicemirroring": "endpointslice-mirroring-controller",
    "replicationcontroller": "replicationcontroller-controller",
    "podgc": "pod-garbage-collector-controller",
    "resourcequota": "resourcequota-controller",
    "namespace": "namespace-controller",
    "serviceaccount": "serviceaccount-controller",
    "garbagecollector": "garbage-collector-controller",
    "daemonset": "daemonset-controller",
    "job": "job-controller",
    "deployment": "deployment-controller",
    "replicaset": "replicaset-controller",
    "horizontalpodautoscaling": "horizontal-pod-autoscaler-controller",
    "disruption": "disruption-controller",
    "statefulset": "statefulset-controller",
    "cronjob": "cronjob-controller",
    "csrsigning": "certificatesigningrequest-signing-controller",
    "csrapproving": "certificatesigningrequest-approving-controller",
    "csrcleaner": "certificatesigningrequest-cleaner-controller",
    "ttl": "ttl-controller",
    "bootstrapsigner": "bootstrap-signer-controller",
    "tokencleaner": "token-cleaner-controller",
    "nodeipam": "node-ipam-controller",
    "nodelifecycle": "node-lifecycle-controller",
    "persistentvolume-binder": "persistentvolume-binder-controller",
    "attachdetach": "persistentvolume-attach-detach-controller",
    "persistentvolume-expander": "persistentvolume-expander-controller",
    "clusterrole-aggregation": "clusterrole-aggregation-controller",
    "pvc-protection": "persistentvolumeclaim-protection-controller",
    "pv-protection": "persistentvolume-protection-controller",
    "ttl-after-finished": "ttl-after-finished-controller",
    "root-ca-cert-publisher": "root-ca-certificate-publisher-controller",
    "ephemeral-volume": "ephemeral-volume-controller",
    "storage-version-gc": "storageversion-garbage-collector-controller",
    "legacy-service-account-token-cleaner": "legacy-serviceaccount-token-cleaner-controller",
    "validatingadmissionpolicy-status": "validatingadmissionpolicy-status-controller",
    "service": "service-lb-controller",
    "route": "node-route-controller",
    "cloud-node-lifecycle": "cloud-node-lifecycle-controller",
}
"""Older names of controllers."""


def controllers(means: ControllerContext, flags: Sequence[str]) -> list[Controller]:
    """The selected controllers in their order. Raises SimkitError for an unknown name.

    Over a dump, those are left out that would have to know objects of which the dump did not hold all, and where
    cryptography is not installed, those that need certificates.
    """
    absent = _OF_CERTIFICATES if util.find_spec("cryptography") is None else frozenset()
    known = (*_WHOLE, *KEYED)
    default = [name for name in known if name in _WHOLE or KEYED[name][0]]
    foreign = [name for name in ALIASES.values() if name not in known]
    made: list[Controller] = []
    for name in select_controllers(flags, known, default, aliases=ALIASES, foreign=foreign):
        if name in absent:
            continue
        if name in _WHOLE:
            made.append(_WHOLE[name](means))
            continue
        reconciler = KEYED[name][1](means)
        if means.captured is None or reconciler.watches <= set(means.captured):
            recorder = EventRecorder(means.clock, reconciler.name)
            made.append(ReconcilingController(reconciler, means.clock, partial(_warn, recorder)))
    return made


def _warn(recorder: EventRecorder, client: Client, about: Object, message: str) -> None:
    """Record a warning about an object that a controller cannot reconcile."""
    recorder.event(client, about, "ReconcileError", message, warning=True)

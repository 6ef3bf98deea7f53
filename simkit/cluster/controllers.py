"""The controllers, the order in which they run, and those that are on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from simkit.client.controller import Client, Controller
from simkit.client.event_recorder import EventRecorder
from simkit.client.reconciler import Reconciler, ReconcilingController
from simkit.engine.controllers.certificate_authority import CertificateAuthority, RootCACertPublisher
from simkit.engine.controllers.certificates import CSRApprovingController, CSRSigningController
from simkit.engine.controllers.cluster_role_aggregation import ClusterRoleAggregationController
from simkit.engine.controllers.controller_manager import select_controllers
from simkit.engine.controllers.cron_job import CronJobController
from simkit.engine.controllers.daemon_set import DaemonSetsController
from simkit.engine.controllers.deployment import DeploymentController, ReplicaSetController
from simkit.engine.controllers.disruption import DisruptionController
from simkit.engine.controllers.endpoints import (
    EndpointsController,
    EndpointSliceController,
    EndpointSliceMirroringController,
)
from simkit.engine.controllers.garbage_collector import GarbageCollector
from simkit.engine.controllers.job import JobController
from simkit.engine.controllers.lifetimes import (
    BootstrapSigner,
    PodGCController,
    TaintEvictionController,
    TokenCleaner,
    TTLAfterFinishedController,
)
from simkit.engine.controllers.namespace import NamespaceController
from simkit.engine.controllers.node_lifecycle import DEFAULT_RATES, EvictionRates, NodeLifecycleController
from simkit.engine.controllers.persistent_volumes import (
    EphemeralVolumeController,
    PersistentVolumeController,
    PVCProtectionController,
    PVProtectionController,
)
from simkit.engine.controllers.pod_autoscaler import HorizontalController
from simkit.engine.controllers.service_accounts import ServiceAccountsController, TokensController
from simkit.engine.controllers.service_addresses import ServiceCIDRsController
from simkit.engine.controllers.stateful_set import StatefulSetController
from simkit.engine.controllers.status_writers import PolicyStatusController, ResourceQuotaController
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import Clock, NameSource
from simkit.meta.names import GroupResource, GroupVersionKind
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue
from simkit.seams.parts import PartRegistry
from simkit.seams.snapshot import Snapshot

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
    snapshot: Callable[[], Snapshot]
    """The function that returns the objects which are stored now."""
    alive: Callable[[str], bool] = lambda _: False
    """A predicate for nodes that live although they do not report."""
    captured: Collection[GroupResource] | None = None
    """The resources that a dump captured; None: all resources."""
    eviction_rates: EvictionRates = DEFAULT_RATES
    """The rates at which pods are evicted from nodes that have failed."""
    name_source: NameSource = field(default_factory=NameSource)
    """The source of the parts of names that controllers make up."""

    @property
    def behaviour(self) -> ServedBehaviour:
        """The rules of the server."""
        return self.catalogue().behaviour


Maker = Callable[[ControllerContext], Reconciler | Controller]


def _account_tokens(means: ControllerContext) -> Reconciler:
    names = None if means.behaviour.applies("account-secrets-on-demand") else means.name_source
    return TokensController(means.issue, lambda: means.authority.bundle, names)


def _jobs(means: ControllerContext) -> Reconciler:
    status = means.catalogue().schema(_JOB).fields["status"]
    in_two_steps = means.behaviour.applies("jobs-end-in-two-steps")
    return JobController(means.clock, tracked="uncountedTerminatedPods" in status.fields, in_two_steps=in_two_steps)


CONTROLLERS: Final = PartRegistry[Maker](
    "simkit.controllers",
    {
        "garbage-collector-controller": lambda means: GarbageCollector(means.catalogue, means.clock, means.captured),
        "clusterrole-aggregation-controller": lambda _: ClusterRoleAggregationController(),
        "validatingadmissionpolicy-status-controller": lambda means: PolicyStatusController(means.catalogue),
        "serviceaccount-token-controller": _account_tokens,
        "serviceaccount-controller": lambda _: ServiceAccountsController(),
        "root-ca-certificate-publisher-controller": lambda means: RootCACertPublisher(lambda: means.authority.bundle),
        "namespace-controller": lambda means: NamespaceController(means.catalogue, means.clock),
        "endpoints-controller": lambda _: EndpointsController(),
        "endpointslice-controller": lambda _: EndpointSliceController(),
        "endpointslice-mirroring-controller": lambda _: EndpointSliceMirroringController(),
        "replicationcontroller-controller": lambda means: ReplicaSetController.controllers(means.clock),
        "replicaset-controller": lambda means: ReplicaSetController.sets(means.clock),
        "deployment-controller": lambda means: DeploymentController(means.clock),
        "statefulset-controller": lambda means: StatefulSetController(means.clock),
        "daemonset-controller": lambda means: DaemonSetsController(means.clock),
        "job-controller": _jobs,
        "cronjob-controller": lambda means: CronJobController(means.clock),
        "ttl-after-finished-controller": lambda means: TTLAfterFinishedController(means.clock),
        "pod-garbage-collector-controller": lambda means: PodGCController(means.clock),
        "resourcequota-controller": lambda means: ResourceQuotaController(
            means.catalogue, means.clock, means.behaviour
        ),
        "horizontal-pod-autoscaler-controller": lambda means: HorizontalController(means.clock, means.catalogue),
        "node-lifecycle-controller": lambda means: NodeLifecycleController(
            means.clock, means.alive, means.eviction_rates
        ),
        "taint-eviction-controller": lambda means: TaintEvictionController(means.clock),
        "persistentvolume-binder-controller": lambda means: PersistentVolumeController(means.clock),
        "ephemeral-volume-controller": lambda means: EphemeralVolumeController(means.clock),
        "disruption-controller": lambda means: DisruptionController(means.clock, means.catalogue),
        "persistentvolumeclaim-protection-controller": lambda _: PVCProtectionController(),
        "persistentvolume-protection-controller": lambda _: PVProtectionController(),
        "certificatesigningrequest-approving-controller": lambda _: CSRApprovingController(),
        "certificatesigningrequest-signing-controller": lambda means: CSRSigningController(
            means.authority, means.clock
        ),
        "service-cidr-controller": lambda means: ServiceCIDRsController(means.catalogue, means.clock),
        "bootstrap-signer-controller": lambda means: BootstrapSigner(means.clock),
        "token-cleaner-controller": lambda means: TokenCleaner(means.clock),
    },
)
"""The constructors of controllers, in their order. One with a queue of keys is given as a reconciler."""

_OFF_BY_DEFAULT: Final = frozenset({"bootstrap-signer-controller", "token-cleaner-controller"})
"""The controllers of simkit that are off by default, as all controllers of other packages are."""

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
    "storage-version-migrator": "storage-version-migrator-controller",
    "storage-version-gc": "storageversion-garbage-collector-controller",
    "legacy-service-account-token-cleaner": "legacy-serviceaccount-token-cleaner-controller",
    "validatingadmissionpolicy-status": "validatingadmissionpolicy-status-controller",
    "service": "service-lb-controller",
    "route": "node-route-controller",
    "cloud-node-lifecycle": "cloud-node-lifecycle-controller",
}
"""Older names of controllers."""
_ABSENT: Final = ("resourceclaim-controller", "device-taint-eviction-controller")
"""Controllers of kube-controller-manager without an older name that simkit does not have."""


def controllers(
    means: ControllerContext, flags: Sequence[str], given: Sequence[Reconciler | Controller] = ()
) -> list[Controller]:
    """The selected controllers in their order.

    Over a dump, those are left out that would have to know objects of which the dump did not hold all.

    Parameters
    ----------
    flags
        The names, as ``--controllers`` has them. A controller that an installed package registers is named as itself:
        ``*`` does not mean it.
    given
        Controllers of other packages, which are on; they come last.

    Raises
    ------
    SimkitError
        For an unknown name, or a name that is taken.
    """
    registry = CONTROLLERS.with_given((each.name, _returned(each)) for each in given)
    default = [name for name in CONTROLLERS.ours if name not in _OFF_BY_DEFAULT]
    foreign = [name for name in (*ALIASES.values(), *_ABSENT) if name not in CONTROLLERS.ours]
    named = {flag.removeprefix("-") for flag in flags} - {"*", *ALIASES, *foreign, *CONTROLLERS.ours}
    known = [*CONTROLLERS.ours, *registry.given, *(name for name in registry.installed(named))]
    wanted = select_controllers((*flags, *registry.given), known, default, aliases=ALIASES, foreign=foreign)
    parts = {name: registry[name](means) for name in wanted}
    for name, part in parts.items():
        registry.check_name(name, part.name)
    made = (_made(part, means) for part in parts.values())
    return [controller for controller in made if controller is not None]


def _returned(controller: Reconciler | Controller) -> Maker:
    """The constructor of a controller that is made already."""
    return lambda _: controller


def _made(part: Reconciler | Controller, means: ControllerContext) -> Controller | None:
    """A controller, or a reconciler behind a queue; None if it watches what a dump did not capture."""
    if not isinstance(part, Reconciler):
        return part
    if means.captured is not None and not part.watches <= set(means.captured):
        return None
    recorder = EventRecorder(means.clock, part.name)
    return ReconcilingController(part, means.clock, partial(_warn, recorder))


def _warn(recorder: EventRecorder, client: Client, about: Object, message: str) -> None:
    """Record a warning about an object that a controller cannot reconcile."""
    recorder.event(client, about, "ReconcileError", message, warning=True)

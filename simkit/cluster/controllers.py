"""The controllers, the order in which they run, and those that are on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from simkit.client.controller import Client, Controller
from simkit.client.event_recorder import EventRecorder
from simkit.client.reconciler import Reconciler, ReconcilingController
from simkit.cluster.extensions import ServerOfPart
from simkit.cluster.options import constantly
from simkit.engine.controllers.certificate_authority import RootCACertPublisher
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
from simkit.engine.controllers.node_lifecycle import NodeLifecycleController
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
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Object
from simkit.seams.parts import PartRegistry

if TYPE_CHECKING:
    from simkit.cluster.control_plane import ControlPlane

_JOB: Final = GroupVersionKind("batch", "v1", "Job")


Maker = Callable[[Any], Reconciler | Controller]
"""Makes a controller of simkit for its ``ControlPlane``, one of another package for a ``PartContext``."""


def _account_tokens(server: ControlPlane) -> Reconciler:
    def issue(claims: Mapping[str, Any]) -> str:
        issuer = server.engine.authentication.issuer or server.token_key
        return issuer.issue(claims)

    names = None if server.engine.behaviour.applies("account-secrets-on-demand") else server.names
    return TokensController(issue, lambda: server.authority.bundle, names)


def _node_lifecycle(server: ControlPlane) -> Reconciler | Controller:
    def alive(node: str) -> bool:
        return server.simulation is not None and server.simulation.kubelets.keeps_alive(node)

    return NodeLifecycleController(server.clock, alive, server.options.eviction_rates)


def _jobs(server: ControlPlane) -> Reconciler:
    status = server.catalogue.schema(_JOB).fields["status"]
    in_two_steps = server.engine.behaviour.applies("jobs-end-in-two-steps")
    return JobController(server.clock, tracked="uncountedTerminatedPods" in status.fields, in_two_steps=in_two_steps)


CONTROLLERS: Final = PartRegistry[Maker](
    "simkit.controllers",
    {
        "garbage-collector-controller": lambda server: GarbageCollector(
            lambda: server.catalogue, server.clock, server.captured
        ),
        "clusterrole-aggregation-controller": lambda _: ClusterRoleAggregationController(),
        "validatingadmissionpolicy-status-controller": lambda server: PolicyStatusController(lambda: server.catalogue),
        "serviceaccount-token-controller": _account_tokens,
        "serviceaccount-controller": lambda _: ServiceAccountsController(),
        "root-ca-certificate-publisher-controller": lambda server: RootCACertPublisher(lambda: server.authority.bundle),
        "namespace-controller": lambda server: NamespaceController(lambda: server.catalogue, server.clock),
        "endpoints-controller": lambda _: EndpointsController(),
        "endpointslice-controller": lambda _: EndpointSliceController(),
        "endpointslice-mirroring-controller": lambda _: EndpointSliceMirroringController(),
        "replicationcontroller-controller": lambda server: ReplicaSetController.controllers(server.clock),
        "replicaset-controller": lambda server: ReplicaSetController.sets(server.clock),
        "deployment-controller": lambda server: DeploymentController(server.clock),
        "statefulset-controller": lambda server: StatefulSetController(server.clock),
        "daemonset-controller": lambda server: DaemonSetsController(server.clock),
        "job-controller": _jobs,
        "cronjob-controller": lambda server: CronJobController(server.clock),
        "ttl-after-finished-controller": lambda server: TTLAfterFinishedController(server.clock),
        "pod-garbage-collector-controller": lambda server: PodGCController(server.clock),
        "resourcequota-controller": lambda server: ResourceQuotaController(
            lambda: server.catalogue, server.clock, server.engine.behaviour
        ),
        "horizontal-pod-autoscaler-controller": lambda server: HorizontalController(
            server.clock, lambda: server.catalogue
        ),
        "node-lifecycle-controller": _node_lifecycle,
        "taint-eviction-controller": lambda server: TaintEvictionController(server.clock),
        "persistentvolume-binder-controller": lambda server: PersistentVolumeController(server.clock),
        "ephemeral-volume-controller": lambda server: EphemeralVolumeController(server.clock),
        "disruption-controller": lambda server: DisruptionController(server.clock, lambda: server.catalogue),
        "persistentvolumeclaim-protection-controller": lambda _: PVCProtectionController(),
        "persistentvolume-protection-controller": lambda _: PVProtectionController(),
        "certificatesigningrequest-approving-controller": lambda _: CSRApprovingController(),
        "certificatesigningrequest-signing-controller": lambda server: CSRSigningController(
            server.authority, server.clock
        ),
        "service-cidr-controller": lambda server: ServiceCIDRsController(lambda: server.catalogue, server.clock),
        "bootstrap-signer-controller": lambda server: BootstrapSigner(server.clock),
        "token-cleaner-controller": lambda server: TokenCleaner(server.clock),
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


def controllers(server: ControlPlane) -> list[Controller]:
    """The selected controllers in their order; those that the options hold come last.

    Over a dump, those are left out that would have to know objects of which the dump did not hold all. A controller
    that an installed package registers is named as itself: ``*`` does not mean it.

    Raises
    ------
    SimkitError
        For an unknown name, or a name that is taken.
    """
    flags, given = server.options.controllers, server.options.reconcilers
    registry = CONTROLLERS.with_given((each.name, constantly(each)) for each in given)
    default = [name for name in CONTROLLERS.ours if name not in _OFF_BY_DEFAULT]
    foreign = [name for name in (*ALIASES.values(), *_ABSENT) if name not in CONTROLLERS.ours]
    named = {flag.removeprefix("-") for flag in flags} - {"*", *ALIASES, *foreign, *CONTROLLERS.ours}
    known = [*CONTROLLERS.ours, *registry.given, *(name for name in registry.installed(named))]
    wanted = select_controllers((*flags, *registry.given), known, default, aliases=ALIASES, foreign=foreign)
    parts = {name: registry[name](server if name in CONTROLLERS.ours else ServerOfPart(server)) for name in wanted}
    for name, part in parts.items():
        registry.check_name(name, part.name)
    made = (_made(part, server) for part in parts.values())
    return [controller for controller in made if controller is not None]


def _made(part: Reconciler | Controller, server: ControlPlane) -> Controller | None:
    """A controller, or a reconciler behind a queue; None if it watches what a dump did not capture."""
    if not isinstance(part, Reconciler):
        return part
    if server.captured is not None and not part.watches <= set(server.captured):
        return None
    recorder = EventRecorder(server.clock, part.name)
    return ReconcilingController(part, server.clock, partial(_warn, recorder))


def _warn(recorder: EventRecorder, client: Client, about: Object, message: str) -> None:
    """Record a warning about an object that a controller cannot reconcile."""
    recorder.event(client, about, "ReconcileError", message, warning=True)

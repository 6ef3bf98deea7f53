"""The admission plugins, the order in which they are called, and those that are on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from simkit.cluster import plugin_settings as read
from simkit.cluster.extensions import Extensions
from simkit.engine.admission.always import AlwaysAdmit, AlwaysDeny
from simkit.engine.admission.always_pull_images import AlwaysPullImages
from simkit.engine.admission.certificate_approval import CertificateApproval
from simkit.engine.admission.certificate_signing import CertificateSigning
from simkit.engine.admission.certificate_subject_restriction import CertificateSubjectRestriction
from simkit.engine.admission.chain import Plugin
from simkit.engine.admission.cluster_trust_bundle_attest import ClusterTrustBundleAttest
from simkit.engine.admission.default_ingress_class import DefaultIngressClass
from simkit.engine.admission.default_storage_class import DefaultStorageClass
from simkit.engine.admission.default_toleration_seconds import SECONDS, DefaultTolerationSeconds
from simkit.engine.admission.deny_service_external_ips import DenyServiceExternalIPs
from simkit.engine.admission.event_rate_limit import EventRateLimit
from simkit.engine.admission.extended_resource_toleration import ExtendedResourceToleration
from simkit.engine.admission.image_policy_webhook import ImagePolicyWebhook
from simkit.engine.admission.limit_pod_hard_anti_affinity_topology import LimitPodHardAntiAffinityTopology
from simkit.engine.admission.limit_ranger import LimitRanger
from simkit.engine.admission.namespace_exists import NamespaceAutoProvision, NamespaceExists
from simkit.engine.admission.namespace_lifecycle import NamespaceLifecycle
from simkit.engine.admission.node_restriction import NodeRestriction
from simkit.engine.admission.owner_references_permission_enforcement import OwnerReferencesPermissionEnforcement
from simkit.engine.admission.persistent_volume_claim_resize import PersistentVolumeClaimResize
from simkit.engine.admission.persistent_volume_label import PersistentVolumeLabel
from simkit.engine.admission.pod_node_selector import PodNodeSelector
from simkit.engine.admission.pod_security import PodSecurity
from simkit.engine.admission.pod_toleration_restriction import PodTolerationRestriction
from simkit.engine.admission.priority import Priority
from simkit.engine.admission.resource_quota import Charge, ResourceQuota
from simkit.engine.admission.review_attributes import Convert, LiveClusterReader
from simkit.engine.admission.runtime_class import RuntimeClass
from simkit.engine.admission.security_context_deny import SecurityContextDeny
from simkit.engine.admission.service_account import ServiceAccount
from simkit.engine.admission.storage_object_in_use_protection import StorageObjectInUseProtection
from simkit.engine.admission.taint_nodes_by_condition import TaintNodesByCondition
from simkit.engine.admission.validating_admission_policy import ValidatingAdmissionPolicy
from simkit.engine.admission.webhook import MutatingAdmissionWebhook, Restore, ValidatingAdmissionWebhook
from simkit.engine.admission.webhook_client import WebhookClient
from simkit.engine.egress.call import Caller as EndpointCaller
from simkit.engine.egress.call import CallFailed, Poster
from simkit.engine.egress.policy import EgressPolicy
from simkit.engine.seams import Authorizer, Meter, Store, Unmetered
from simkit.meta.clock import Clock, NameSource
from simkit.meta.errors import SimkitError
from simkit.schema.admissionplugins import on_by_default, plugins_of, span
from simkit.schema.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class PluginInitializer:
    """The parts from which plugins are made (``admission.PluginInitializer``)."""

    store: Store
    authorizer: Authorizer
    clock: Clock
    name_source: NameSource
    catalogue: Callable[[], Catalogue]
    """The resources that are served now."""
    convert: Convert
    restore: Restore
    extensions: Extensions
    charge: Charge
    """The function that writes the usage into a quota's status."""
    provide: Callable[[str], None]
    """The function that creates a namespace."""
    meter: Meter = field(default_factory=Unmetered)
    """Counts what plugins do."""
    settings: Mapping[str, read.Settings] = field(default_factory=dict)
    """The settings of plugins in a file, by name."""
    folder: Path = Path()
    """The folder of that file: paths in it are relative to the folder."""
    toleration_seconds: tuple[int, int] = SECONDS
    """Seconds for which pods stay on nodes that are not ready, and on unreachable ones."""

    def of(self, name: str) -> read.Settings:
        """The settings of a plugin."""
        return self.settings.get(name) or {}

    @property
    def reader(self) -> LiveClusterReader:
        """The stored objects for policies and webhooks."""
        return LiveClusterReader(self.store, self.authorizer, self.catalogue, self.convert)


Maker = Callable[[PluginInitializer], Plugin]


def _pod_toleration_restriction(initializer: PluginInitializer) -> Plugin:
    settings = initializer.of("PodTolerationRestriction")
    return PodTolerationRestriction(initializer.store, settings.get("default") or (), settings.get("whitelist") or ())


def _pod_node_selector(initializer: PluginInitializer) -> Plugin:
    return PodNodeSelector(initializer.store, initializer.of("PodNodeSelector").get("podNodeSelectorPluginConfig"))


def _resource_quota(initializer: PluginInitializer) -> Plugin:
    return ResourceQuota(
        initializer.store, initializer.clock, initializer.charge, read.limited(initializer.of("ResourceQuota"))
    )


def _owner_references(initializer: PluginInitializer) -> Plugin:
    return OwnerReferencesPermissionEnforcement(initializer.authorizer, initializer.catalogue)


def _pod_security_policy(initializer: PluginInitializer) -> Plugin:
    from simkit.engine.admission.pod_security_policy import PodSecurityPolicy  # later releases start without it

    return PodSecurityPolicy(initializer.store, initializer.authorizer)


def _pod_topology_labels(initializer: PluginInitializer) -> Plugin:
    from simkit.engine.admission.pod_topology_labels import PodTopologyLabels  # earlier releases start without it

    return PodTopologyLabels(initializer.store)


def _pod_group_protection(_: PluginInitializer) -> Plugin:
    from simkit.engine.admission.pod_groups import PodGroupProtection  # off by default at all releases

    return PodGroupProtection()


def _pod_group_workload_exists(initializer: PluginInitializer) -> Plugin:
    from simkit.engine.admission.pod_groups import PodGroupWorkloadExists  # as above

    return PodGroupWorkloadExists(initializer.store)


def _node_declared_features(initializer: PluginInitializer) -> Plugin:
    from simkit.engine.admission.node_declared_feature_validator import NodeDeclaredFeatureValidator  # as above

    return NodeDeclaredFeatureValidator(initializer.store)


def _pod_resize_validator(initializer: PluginInitializer) -> Plugin:
    from simkit.engine.admission.pod_resize_validator import PodResizeValidator  # earlier releases start without it

    return PodResizeValidator(initializer.store)


def _mutating_policies(initializer: PluginInitializer) -> Plugin:
    from simkit.engine.admission.mutating_admission_policy import MutatingAdmissionPolicy  # as above

    return MutatingAdmissionPolicy(
        initializer.reader, initializer.extensions.mutating_policies, initializer.restore, initializer.meter
    )


def _mutating_webhooks(initializer: PluginInitializer) -> Plugin:
    caller = WebhookClient(initializer.extensions.egress, initializer.reader)
    return MutatingAdmissionWebhook(
        initializer.reader,
        initializer.extensions.webhooks,
        caller,
        initializer.name_source,
        initializer.restore,
        initializer.meter,
    )


def _validating_webhooks(initializer: PluginInitializer) -> Plugin:
    caller = WebhookClient(initializer.extensions.egress, initializer.reader)
    return ValidatingAdmissionWebhook(
        initializer.reader, initializer.extensions.webhooks, caller, initializer.name_source, initializer.meter
    )


class _WithEgressPolicy:
    """A service under the egress policy."""

    def __init__(self, egress: EgressPolicy, caller: Poster) -> None:
        self._gateway, self._caller = egress, caller

    def post(self, body: bytes) -> bytes:
        if not self._gateway.allowed:
            raise CallFailed("no connections to the outside are opened here")
        return self._caller.post(body)


def _image_policy(initializer: PluginInitializer) -> Plugin:
    endpoint, policy = read.image_policy(initializer.of("ImagePolicyWebhook"), initializer.folder)
    return ImagePolicyWebhook(
        _WithEgressPolicy(initializer.extensions.egress, EndpointCaller(endpoint)), policy, initializer.clock
    )


PLUGINS: Final[Mapping[str, Maker]] = {
    "AlwaysAdmit": lambda _: AlwaysAdmit(),
    "NamespaceAutoProvision": lambda initializer: NamespaceAutoProvision(initializer.store, initializer.provide),
    "NamespaceLifecycle": lambda initializer: NamespaceLifecycle(initializer.store),
    "NamespaceExists": lambda initializer: NamespaceExists(initializer.store),
    "SecurityContextDeny": lambda _: SecurityContextDeny(),
    "LimitPodHardAntiAffinityTopology": lambda _: LimitPodHardAntiAffinityTopology(),
    "LimitRanger": lambda initializer: LimitRanger(initializer.store),
    "ServiceAccount": lambda initializer: ServiceAccount(initializer.store, initializer.name_source),
    "NodeRestriction": lambda initializer: NodeRestriction(initializer.store, initializer.authorizer),
    "TaintNodesByCondition": lambda _: TaintNodesByCondition(),
    "AlwaysPullImages": lambda _: AlwaysPullImages(),
    "ImagePolicyWebhook": _image_policy,
    "PodSecurity": lambda initializer: PodSecurity(
        initializer.store, *read.pod_security(initializer.of("PodSecurity")), meter=initializer.meter
    ),
    "PodSecurityPolicy": _pod_security_policy,
    "PodNodeSelector": _pod_node_selector,
    "Priority": lambda initializer: Priority(initializer.store),
    "DefaultTolerationSeconds": lambda initializer: DefaultTolerationSeconds(initializer.toleration_seconds),
    "PodTolerationRestriction": _pod_toleration_restriction,
    "EventRateLimit": lambda initializer: EventRateLimit(
        initializer.clock, read.event_limits(initializer.of("EventRateLimit"))
    ),
    "ExtendedResourceToleration": lambda _: ExtendedResourceToleration(),
    "PersistentVolumeLabel": lambda _: PersistentVolumeLabel(),
    "DefaultStorageClass": lambda initializer: DefaultStorageClass(initializer.store),
    "StorageObjectInUseProtection": lambda _: StorageObjectInUseProtection(),
    "PodGroupProtection": _pod_group_protection,
    "OwnerReferencesPermissionEnforcement": _owner_references,
    "PersistentVolumeClaimResize": lambda initializer: PersistentVolumeClaimResize(initializer.store),
    "RuntimeClass": lambda initializer: RuntimeClass(initializer.store),
    "CertificateApproval": lambda initializer: CertificateApproval(initializer.authorizer),
    "CertificateSigning": lambda initializer: CertificateSigning(initializer.authorizer),
    "ClusterTrustBundleAttest": lambda initializer: ClusterTrustBundleAttest(initializer.authorizer),
    "CertificateSubjectRestriction": lambda _: CertificateSubjectRestriction(),
    "DefaultIngressClass": lambda initializer: DefaultIngressClass(initializer.store),
    "DenyServiceExternalIPs": lambda _: DenyServiceExternalIPs(),
    "PodTopologyLabels": _pod_topology_labels,
    "PodGroupWorkloadExists": _pod_group_workload_exists,
    "NodeDeclaredFeatureValidator": _node_declared_features,
    "PodResizeValidator": _pod_resize_validator,
    "MutatingAdmissionPolicy": _mutating_policies,
    "MutatingAdmissionWebhook": _mutating_webhooks,
    "ValidatingAdmissionPolicy": lambda initializer: ValidatingAdmissionPolicy(
        initializer.reader, initializer.extensions.policies, initializer.meter
    ),
    "ValidatingAdmissionWebhook": _validating_webhooks,
    "ResourceQuota": _resource_quota,
    "AlwaysDeny": lambda _: AlwaysDeny(),
}
"""The constructors of plugins, in the order of their calls."""


def plugins(
    initializer: PluginInitializer,
    release: str,
    gates: Mapping[str, bool],
    enable: Sequence[str] = (),
    disable: Sequence[str] = (),
) -> list[Plugin]:
    """The enabled plugins of a release, in order.

    Raises SimkitError for a name that the release does not know, that is missing here, or that is in both lists.
    """
    for flag, names in (("enable", enable), ("disable", disable)):
        for name in names:
            _check(flag, name, release)
    both = sorted(set(enable) & set(disable))
    if both:
        raise SimkitError(f"{', '.join(both)}: in --enable-admission-plugins and --disable-admission-plugins")
    on = {*on_by_default(release, gates), *enable} - {*disable}
    return [maker(initializer) for name, maker in PLUGINS.items() if name in on]


def _check(flag: str, name: str, release: str) -> None:
    known = plugins_of(release)
    if name in known and (name in PLUGINS or flag == "disable"):
        return
    if name in known:
        raise SimkitError(f'--{flag}-admission-plugins: plugin "{name}" is known, but simkit does not have it')
    first, last = span(name)
    from difflib import get_close_matches  # for wrong names alone

    near = get_close_matches(name, known, n=2)
    if first or last:
        hint = f"it comes with {first}" if first and name not in known and not last else f"its last release is {last}"
    else:
        hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
    raise SimkitError(f'--{flag}-admission-plugins: plugin "{name}" is unknown; {hint}')

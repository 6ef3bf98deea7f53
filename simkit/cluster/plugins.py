"""The admission plugins, the order in which they are called, and those that are on."""

from __future__ import annotations

import difflib
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
from simkit.engine.seams import Authorizer, Store
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


def _pod_toleration_restriction(needs: PluginInitializer) -> Plugin:
    settings = needs.of("PodTolerationRestriction")
    return PodTolerationRestriction(needs.store, settings.get("default") or (), settings.get("whitelist") or ())


def _pod_node_selector(needs: PluginInitializer) -> Plugin:
    return PodNodeSelector(needs.store, needs.of("PodNodeSelector").get("podNodeSelectorPluginConfig"))


def _resource_quota(needs: PluginInitializer) -> Plugin:
    return ResourceQuota(needs.store, needs.clock, needs.charge, read.limited(needs.of("ResourceQuota")))


def _owner_references(needs: PluginInitializer) -> Plugin:
    return OwnerReferencesPermissionEnforcement(needs.authorizer, needs.catalogue)


def _mutating_webhooks(needs: PluginInitializer) -> Plugin:
    caller = WebhookClient(needs.extensions.egress, needs.reader)
    return MutatingAdmissionWebhook(needs.reader, needs.extensions.hooks, caller, needs.name_source, needs.restore)


def _validating_webhooks(needs: PluginInitializer) -> Plugin:
    caller = WebhookClient(needs.extensions.egress, needs.reader)
    return ValidatingAdmissionWebhook(needs.reader, needs.extensions.hooks, caller, needs.name_source)


class _Behind:
    """A service under the egress policy."""

    def __init__(self, egress: EgressPolicy, caller: Poster) -> None:
        self._gateway, self._caller = egress, caller

    def post(self, body: bytes) -> bytes:
        if not self._gateway.allowed:
            raise CallFailed("no connections to the outside are opened here")
        return self._caller.post(body)


def _image_policy(needs: PluginInitializer) -> Plugin:
    endpoint, policy = read.image_policy(needs.of("ImagePolicyWebhook"), needs.folder)
    return ImagePolicyWebhook(_Behind(needs.extensions.egress, EndpointCaller(endpoint)), policy, needs.clock)


PLUGINS: Final[Mapping[str, Maker]] = {
    "AlwaysAdmit": lambda _: AlwaysAdmit(),
    "NamespaceAutoProvision": lambda needs: NamespaceAutoProvision(needs.store, needs.provide),
    "NamespaceLifecycle": lambda needs: NamespaceLifecycle(needs.store),
    "NamespaceExists": lambda needs: NamespaceExists(needs.store),
    "SecurityContextDeny": lambda _: SecurityContextDeny(),
    "LimitPodHardAntiAffinityTopology": lambda _: LimitPodHardAntiAffinityTopology(),
    "LimitRanger": lambda needs: LimitRanger(needs.store),
    "ServiceAccount": lambda needs: ServiceAccount(needs.store, needs.name_source),
    "NodeRestriction": lambda needs: NodeRestriction(needs.store),
    "TaintNodesByCondition": lambda _: TaintNodesByCondition(),
    "AlwaysPullImages": lambda _: AlwaysPullImages(),
    "ImagePolicyWebhook": _image_policy,
    "PodSecurity": lambda needs: PodSecurity(needs.store, *read.pod_security(needs.of("PodSecurity"))),
    "PodNodeSelector": _pod_node_selector,
    "Priority": lambda needs: Priority(needs.store),
    "DefaultTolerationSeconds": lambda needs: DefaultTolerationSeconds(needs.toleration_seconds),
    "PodTolerationRestriction": _pod_toleration_restriction,
    "EventRateLimit": lambda needs: EventRateLimit(needs.clock, read.event_limits(needs.of("EventRateLimit"))),
    "ExtendedResourceToleration": lambda _: ExtendedResourceToleration(),
    "PersistentVolumeLabel": lambda _: PersistentVolumeLabel(),
    "DefaultStorageClass": lambda needs: DefaultStorageClass(needs.store),
    "StorageObjectInUseProtection": lambda _: StorageObjectInUseProtection(),
    "OwnerReferencesPermissionEnforcement": _owner_references,
    "PersistentVolumeClaimResize": lambda needs: PersistentVolumeClaimResize(needs.store),
    "RuntimeClass": lambda needs: RuntimeClass(needs.store),
    "CertificateApproval": lambda needs: CertificateApproval(needs.authorizer),
    "CertificateSigning": lambda needs: CertificateSigning(needs.authorizer),
    "ClusterTrustBundleAttest": lambda needs: ClusterTrustBundleAttest(needs.authorizer),
    "CertificateSubjectRestriction": lambda _: CertificateSubjectRestriction(),
    "DefaultIngressClass": lambda needs: DefaultIngressClass(needs.store),
    "DenyServiceExternalIPs": lambda _: DenyServiceExternalIPs(),
    "MutatingAdmissionWebhook": _mutating_webhooks,
    "ValidatingAdmissionPolicy": lambda needs: ValidatingAdmissionPolicy(needs.reader, needs.extensions.policies),
    "ValidatingAdmissionWebhook": _validating_webhooks,
    "ResourceQuota": _resource_quota,
    "AlwaysDeny": lambda _: AlwaysDeny(),
}
"""The constructors of plugins, in the order of their calls."""


def plugins(
    needs: PluginInitializer,
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
    made = [maker(needs) for name, maker in PLUGINS.items() if name in on]
    for index, plugin in enumerate(made):
        if isinstance(plugin, MutatingAdmissionWebhook):
            plugin.earlier = made[:index]
    return made


def _instead(name: str) -> str:
    """A note about the objects of a plugin that simkit does not have."""
    if name != "PodSecurityPolicy":
        return ""
    return ": its policies are kept and shown, and no pod is held to them; PodSecurity comes with 1.22"


def _check(flag: str, name: str, release: str) -> None:
    known = plugins_of(release)
    if name in known and (name in PLUGINS or flag == "disable"):
        return
    if name in known:
        raise SimkitError(
            f'--{flag}-admission-plugins: plugin "{name}" is known, but simkit does not have it{_instead(name)}'
        )
    first, last = span(name)
    near = difflib.get_close_matches(name, known, n=2)
    if first or last:
        hint = f"it comes with {first}" if first and name not in known and not last else f"its last release is {last}"
    else:
        hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
    raise SimkitError(f'--{flag}-admission-plugins: plugin "{name}" is unknown; {hint}')

"""The admission plugins, the order in which they are called, those that are on, and what their settings mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from simkit.cluster import bootstrap
from simkit.cluster.extensions import ServerOfPart
from simkit.cluster.options import constantly
from simkit.engine.admission.limit_ranger import LimitRanger
from simkit.engine.admission.namespaces import NamespaceAutoProvision, NamespaceExists, NamespaceLifecycle
from simkit.engine.admission.node_restriction import NodeRestriction
from simkit.engine.admission.pod_changes import (
    NodeDeclaredFeatureValidator,
    PodGroupProtection,
    PodGroupWorkloadExists,
    PodResizeValidator,
)
from simkit.engine.admission.pod_scheduling import (
    LimitPodHardAntiAffinityTopology,
    PodNodeSelector,
    PodTopologyLabels,
    Priority,
    RuntimeClass,
)
from simkit.engine.admission.pod_security import Exemptions, PodSecurity
from simkit.engine.admission.policies import MutatingAdmissionPolicy, ValidatingAdmissionPolicy
from simkit.engine.admission.resource_quota import LimitedResource, ResourceQuota
from simkit.engine.admission.security_context_constraints import SecurityContextConstraint
from simkit.engine.admission.service_account import ServiceAccount
from simkit.engine.admission.signers import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
)
from simkit.engine.admission.single_rules import (
    AlwaysAdmit,
    AlwaysDeny,
    AlwaysPullImages,
    DenyServiceExternalIPs,
    OwnerReferencesPermissionEnforcement,
    PodSecurityPolicy,
    SecurityContextDeny,
)
from simkit.engine.admission.storage import (
    DefaultIngressClass,
    DefaultStorageClass,
    PersistentVolumeClaimResize,
    PersistentVolumeLabel,
    StorageObjectInUseProtection,
)
from simkit.engine.admission.tolerations import (
    DefaultTolerationSeconds,
    ExtendedResourceToleration,
    PodTolerationRestriction,
    TaintNodesByCondition,
)
from simkit.engine.admission.webhook import MutatingAdmissionWebhook, Restore, ValidatingAdmissionWebhook
from simkit.engine.admission.webhook_calls import WebhookClient
from simkit.engine.pipeline.verbs.request_object import stored_form
from simkit.engine.pipeline.verbs.server_writes import charge_quota
from simkit.logic.podsecurity.policy import PREFIX, Policy, policy_of
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.schema.admissionplugins import on_by_default, plugins_of, span
from simkit.seams import Plugin
from simkit.seams.authorization import OPENSHIFT
from simkit.seams.parts import PartRegistry

if TYPE_CHECKING:
    from simkit.cluster.control_plane import ControlPlane


Maker = Callable[[Any], Plugin]
"""Makes a plugin of simkit for its ``ControlPlane``, one of another package for an ``AdmissionContext``."""
Settings = Mapping[str, Any]


def _settings(server: ControlPlane, name: str) -> Settings:
    """The settings of a plugin in the file; empty if it has none."""
    return server.admission_settings.get(name) or {}


def _pod_toleration_restriction(server: ControlPlane) -> Plugin:
    settings = _settings(server, "PodTolerationRestriction")
    return PodTolerationRestriction(server.store, settings.get("default") or (), settings.get("whitelist") or ())


def _toleration_seconds(server: ControlPlane) -> Plugin:
    options = server.options
    seconds = options.default_not_ready_toleration_seconds, options.default_unreachable_toleration_seconds
    return DefaultTolerationSeconds(seconds)


def _resource_quota(server: ControlPlane) -> Plugin:
    rules = limited(_settings(server, "ResourceQuota"))
    return ResourceQuota(
        server.store, server.clock, lambda quota, used: charge_quota(server.engine, quota, used), rules
    )


def _restore(server: ControlPlane) -> Restore:
    """The function that gives a changed object the form of the store."""
    return lambda obj, resource: stored_form(server.engine.request_scope(resource), obj)


def _mutating_webhooks(server: ControlPlane) -> Plugin:
    reader, extensions = server.reader(), server.extensions
    caller = WebhookClient(extensions.egress, reader)
    return MutatingAdmissionWebhook(reader, extensions.webhooks, caller, server.names, _restore(server))


def _validating_webhooks(server: ControlPlane) -> Plugin:
    reader, extensions = server.reader(), server.extensions
    return ValidatingAdmissionWebhook(
        reader, extensions.webhooks, WebhookClient(extensions.egress, reader), server.names
    )


PLUGINS: Final = PartRegistry[Maker](
    "simkit.admission",
    {
        "AlwaysAdmit": lambda _: AlwaysAdmit(),
        "NamespaceAutoProvision": lambda server: NamespaceAutoProvision(
            server.store, lambda name: bootstrap.provide(server.engine, name)
        ),
        "NamespaceLifecycle": lambda server: NamespaceLifecycle(server.store),
        "NamespaceExists": lambda server: NamespaceExists(server.store),
        "SecurityContextDeny": lambda _: SecurityContextDeny(),
        "LimitPodHardAntiAffinityTopology": lambda _: LimitPodHardAntiAffinityTopology(),
        "LimitRanger": lambda server: LimitRanger(server.store),
        "ServiceAccount": lambda server: ServiceAccount(server.store, server.names),
        "NodeRestriction": lambda server: NodeRestriction(server.store, server.authorizer),
        "TaintNodesByCondition": lambda _: TaintNodesByCondition(),
        "AlwaysPullImages": lambda _: AlwaysPullImages(),
        "PodSecurity": lambda server: PodSecurity(
            server.store,
            server.base.behaviour,
            *pod_security(_settings(server, "PodSecurity")),
        ),
        "PodSecurityPolicy": lambda server: PodSecurityPolicy(server.store),
        "PodNodeSelector": lambda server: PodNodeSelector(
            server.store, _settings(server, "PodNodeSelector").get("podNodeSelectorPluginConfig")
        ),
        "Priority": lambda server: Priority(server.store),
        "DefaultTolerationSeconds": _toleration_seconds,
        "PodTolerationRestriction": _pod_toleration_restriction,
        "ExtendedResourceToleration": lambda _: ExtendedResourceToleration(),
        "PersistentVolumeLabel": lambda _: PersistentVolumeLabel(),
        "DefaultStorageClass": lambda server: DefaultStorageClass(server.store),
        "StorageObjectInUseProtection": lambda _: StorageObjectInUseProtection(),
        "PodGroupProtection": lambda _: PodGroupProtection(),
        "OwnerReferencesPermissionEnforcement": lambda server: OwnerReferencesPermissionEnforcement(
            server.authorizer, lambda: server.engine.catalogue
        ),
        "PersistentVolumeClaimResize": lambda server: PersistentVolumeClaimResize(server.store),
        "RuntimeClass": lambda server: RuntimeClass(server.store),
        "CertificateApproval": lambda server: CertificateApproval(server.authorizer),
        "CertificateSigning": lambda server: CertificateSigning(server.authorizer),
        "ClusterTrustBundleAttest": lambda server: ClusterTrustBundleAttest(server.authorizer),
        "CertificateSubjectRestriction": lambda _: CertificateSubjectRestriction(),
        "DefaultIngressClass": lambda server: DefaultIngressClass(server.store),
        "DenyServiceExternalIPs": lambda _: DenyServiceExternalIPs(),
        "PodTopologyLabels": lambda server: PodTopologyLabels(server.store),
        "PodGroupWorkloadExists": lambda server: PodGroupWorkloadExists(server.store),
        "NodeDeclaredFeatureValidator": lambda server: NodeDeclaredFeatureValidator(server.store),
        "PodResizeValidator": lambda server: PodResizeValidator(server.store),
        "SecurityContextConstraint": lambda server: SecurityContextConstraint(server.store, server.authorizer),
        "MutatingAdmissionPolicy": lambda server: MutatingAdmissionPolicy(
            server.reader(), server.extensions.mutating_policies, _restore(server)
        ),
        "MutatingAdmissionWebhook": _mutating_webhooks,
        "ValidatingAdmissionPolicy": lambda server: ValidatingAdmissionPolicy(
            server.reader(), server.extensions.policies
        ),
        "ValidatingAdmissionWebhook": _validating_webhooks,
        "ResourceQuota": _resource_quota,
        "AlwaysDeny": lambda _: AlwaysDeny(),
    },
)
"""The constructors of plugins, in the order of their calls."""


PLUGINS_OF_PROVIDERS: Final[Mapping[str, Sequence[str]]] = {OPENSHIFT: ("SecurityContextConstraint",)}
"""The plugins that the API servers of a provider have besides those of kube-apiserver."""
_OF_PROVIDERS: Final = frozenset(name for names in PLUGINS_OF_PROVIDERS.values() for name in names)
_UNEVALUATED: Final = "PodSecurityPolicy"
"""The plugin that only warns of objects which it would evaluate."""
_SEE_THE_RESULT: Final = (
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
)
"""The plugins that are called after those of other packages, so that policies, webhooks and quotas see what these make
of an object."""


def plugins(server: ControlPlane) -> list[Plugin]:
    """The enabled plugins of a server, in order.

    Plugins of other packages that the options hold are on. They are called in their order, after those of simkit and
    before policies, webhooks and quotas; behind them come those that packages register and the options enable.

    Raises
    ------
    SimkitError
        For a name that the release does not know, that is missing here, that is in both lists, or that is taken.
    """
    options, release = server.options, server.options.release
    enable, disable = options.enable_admission_plugins, options.disable_admission_plugins
    known = PLUGINS.with_given((plugin.name, constantly(plugin)) for plugin in options.admission_plugins)
    for flag, names in (("enable", enable), ("disable", disable)):
        for name in names:
            _check(flag, name, release, known)
    both = sorted(set(enable) & set(disable))
    if both:
        raise SimkitError(f"{', '.join(both)}: in --enable-admission-plugins and --disable-admission-plugins")
    warning = [_UNEVALUATED] if _UNEVALUATED in plugins_of(release) else []
    own = PLUGINS_OF_PROVIDERS.get(server.dumped.provider if server.dumped is not None else "", ())
    on = {*on_by_default(release, server.gates), *warning, *own, *enable, *known.given} - {*disable}
    others = [name for name in dict.fromkeys((*known.given, *enable)) if name not in PLUGINS.ours]
    early = [name for name in PLUGINS.ours if name not in _SEE_THE_RESULT]
    made = {
        name: known[name](server if name in PLUGINS.ours else ServerOfPart(server))
        for name in (*early, *others, *_SEE_THE_RESULT)
        if name in on
    }
    for name, plugin in made.items():
        known.check_name(name, plugin.name)
    return list(made.values())


def _check(flag: str, name: str, release: str, registry: PartRegistry[Maker]) -> None:
    known = plugins_of(release)
    if name == _UNEVALUATED and name in known and flag == "enable":
        why = "simkit does not hold pods to pod security policies. Leave it out, and see docs/gaps.md"
        raise SimkitError(f'--{flag}-admission-plugins: plugin "{name}" is not simulated: {why}')
    if name in known and (name in PLUGINS.ours or flag == "disable"):
        return
    if name not in known and (name not in PLUGINS.ours or name in _OF_PROVIDERS) and name in registry:
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


def pod_security(settings: Settings) -> tuple[Policy, Exemptions]:
    """The default policy of namespaces and the exemptions. Raises SimkitError."""
    defaults = settings.get("defaults") or {}
    policy, errors = policy_of({PREFIX + name: str(value) for name, value in defaults.items()})
    if errors:
        raise SimkitError(f"PodSecurity: {'; '.join(f'{error.value!r} {error.detail}' for error in errors)}")
    exempt = settings.get("exemptions") or {}
    parts = ("namespaces", "usernames", "runtimeClasses")
    return policy, Exemptions(*(frozenset(exempt.get(part) or ()) for part in parts))


def limited(settings: Settings) -> list[LimitedResource]:
    """The resources that may only be used if a quota covers them."""
    return [
        LimitedResource(
            GroupResource(each.get("apiGroup", ""), each.get("resource", "")),
            each.get("matchContains") or (),
            each.get("matchScopes") or (),
        )
        for each in settings.get("limitedResources") or ()
    ]

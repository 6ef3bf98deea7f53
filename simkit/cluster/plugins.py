"""The admission plugins, the order in which they are called, those that are on, and their settings in the file of
``--admission-control-config-file``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from simkit.cluster.extensions import Extensions
from simkit.engine.admission.candidates import LiveClusterReader
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
from simkit.engine.admission.resource_quota import Charge, LimitedResource, ResourceQuota
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
    SECONDS,
    DefaultTolerationSeconds,
    ExtendedResourceToleration,
    PodTolerationRestriction,
    TaintNodesByCondition,
)
from simkit.engine.admission.webhook import MutatingAdmissionWebhook, Restore, ValidatingAdmissionWebhook
from simkit.engine.admission.webhook_calls import WebhookClient
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.small_files import value_of_bytes
from simkit.logic.podsecurity.policy import PREFIX, Policy, policy_of
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import Clock, NameSource
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.schema.admissionplugins import on_by_default, plugins_of, span
from simkit.schema.catalogue import Catalogue, Resource
from simkit.seams import Authorizer, Plugin, Store
from simkit.seams.authorization import OPENSHIFT
from simkit.seams.parts import PartRegistry
from simkit.seams.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PluginInitializer:
    """The parts from which plugins are made (``admission.PluginInitializer``)."""

    store: Store
    authorizer: Authorizer
    clock: Clock
    name_source: NameSource
    catalogue: Callable[[], Catalogue]
    """The resources that are served now."""
    behaviour: ServedBehaviour
    convert: Callable[[Object, Resource], Object]
    restore: Restore
    extensions: Extensions
    charge: Charge
    """The function that writes the usage into a quota's status."""
    provide: Callable[[str], None]
    """The function that creates a namespace."""
    snapshot: Callable[[], Snapshot]
    """The function that returns the objects which are stored now."""
    settings: Mapping[str, Settings] = field(default_factory=dict)
    """The settings of plugins in a file, by name."""
    toleration_seconds: tuple[int, int] = SECONDS
    """Seconds for which pods stay on nodes that are not ready, and on unreachable ones."""
    provider: str = ""
    """The provider whose cluster it is, where a dump shows it."""

    def of(self, name: str) -> Settings:
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
        initializer.store, initializer.clock, initializer.charge, limited(initializer.of("ResourceQuota"))
    )


def _mutating_policies(initializer: PluginInitializer) -> Plugin:
    return MutatingAdmissionPolicy(initializer.reader, initializer.extensions.mutating_policies, initializer.restore)


def _mutating_webhooks(initializer: PluginInitializer) -> Plugin:
    caller = WebhookClient(initializer.extensions.egress, initializer.reader)
    return MutatingAdmissionWebhook(
        initializer.reader,
        initializer.extensions.webhooks,
        caller,
        initializer.name_source,
        initializer.restore,
    )


def _validating_webhooks(initializer: PluginInitializer) -> Plugin:
    caller = WebhookClient(initializer.extensions.egress, initializer.reader)
    return ValidatingAdmissionWebhook(
        initializer.reader, initializer.extensions.webhooks, caller, initializer.name_source
    )


PLUGINS: Final = PartRegistry[Maker](
    "simkit.admission",
    {
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
        "PodSecurity": lambda initializer: PodSecurity(
            initializer.store,
            initializer.behaviour,
            *pod_security(initializer.of("PodSecurity")),
        ),
        "PodSecurityPolicy": lambda initializer: PodSecurityPolicy(initializer.store),
        "PodNodeSelector": _pod_node_selector,
        "Priority": lambda initializer: Priority(initializer.store),
        "DefaultTolerationSeconds": lambda initializer: DefaultTolerationSeconds(initializer.toleration_seconds),
        "PodTolerationRestriction": _pod_toleration_restriction,
        "ExtendedResourceToleration": lambda _: ExtendedResourceToleration(),
        "PersistentVolumeLabel": lambda _: PersistentVolumeLabel(),
        "DefaultStorageClass": lambda initializer: DefaultStorageClass(initializer.store),
        "StorageObjectInUseProtection": lambda _: StorageObjectInUseProtection(),
        "PodGroupProtection": lambda _: PodGroupProtection(),
        "OwnerReferencesPermissionEnforcement": lambda initializer: OwnerReferencesPermissionEnforcement(
            initializer.authorizer, initializer.catalogue
        ),
        "PersistentVolumeClaimResize": lambda initializer: PersistentVolumeClaimResize(initializer.store),
        "RuntimeClass": lambda initializer: RuntimeClass(initializer.store),
        "CertificateApproval": lambda initializer: CertificateApproval(initializer.authorizer),
        "CertificateSigning": lambda initializer: CertificateSigning(initializer.authorizer),
        "ClusterTrustBundleAttest": lambda initializer: ClusterTrustBundleAttest(initializer.authorizer),
        "CertificateSubjectRestriction": lambda _: CertificateSubjectRestriction(),
        "DefaultIngressClass": lambda initializer: DefaultIngressClass(initializer.store),
        "DenyServiceExternalIPs": lambda _: DenyServiceExternalIPs(),
        "PodTopologyLabels": lambda initializer: PodTopologyLabels(initializer.store),
        "PodGroupWorkloadExists": lambda initializer: PodGroupWorkloadExists(initializer.store),
        "NodeDeclaredFeatureValidator": lambda initializer: NodeDeclaredFeatureValidator(initializer.store),
        "PodResizeValidator": lambda initializer: PodResizeValidator(initializer.store),
        "SecurityContextConstraint": lambda initializer: SecurityContextConstraint(
            initializer.store, initializer.authorizer
        ),
        "MutatingAdmissionPolicy": _mutating_policies,
        "MutatingAdmissionWebhook": _mutating_webhooks,
        "ValidatingAdmissionPolicy": lambda initializer: ValidatingAdmissionPolicy(
            initializer.reader, initializer.extensions.policies
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


def plugins(
    initializer: PluginInitializer,
    release: str,
    gates: Mapping[str, bool],
    enable: Sequence[str] = (),
    disable: Sequence[str] = (),
    given: Sequence[Plugin] = (),
) -> list[Plugin]:
    """The enabled plugins of a release, in order.

    Parameters
    ----------
    given
        Plugins of other packages, which are on. They are called in their order, after those of simkit and before
        policies, webhooks and quotas; behind them come those that packages register and ``enable`` names.

    Raises
    ------
    SimkitError
        For a name that the release does not know, that is missing here, that is in both lists, or that is taken.
    """
    known = PLUGINS.with_given((plugin.name, _returned(plugin)) for plugin in given)
    for flag, names in (("enable", enable), ("disable", disable)):
        for name in names:
            _check(flag, name, release, known)
    both = sorted(set(enable) & set(disable))
    if both:
        raise SimkitError(f"{', '.join(both)}: in --enable-admission-plugins and --disable-admission-plugins")
    warning = [_UNEVALUATED] if _UNEVALUATED in plugins_of(release) else []
    own = PLUGINS_OF_PROVIDERS.get(initializer.provider, ())
    on = {*on_by_default(release, gates), *warning, *own, *enable, *known.given} - {*disable}
    others = [name for name in dict.fromkeys((*known.given, *enable)) if name not in PLUGINS.ours]
    early = [name for name in PLUGINS.ours if name not in _SEE_THE_RESULT]
    made = {name: known[name](initializer) for name in (*early, *others, *_SEE_THE_RESULT) if name in on}
    for name, plugin in made.items():
        known.check_name(name, plugin.name)
    return list(made.values())


def _returned(plugin: Plugin) -> Maker:
    """The constructor of a plugin that is made already."""
    return lambda _: plugin


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


Settings = Mapping[str, Any]


def read_settings(path: str | Path) -> dict[str, Settings]:
    """The settings in a file, by plugin. Raises SimkitError for a file that cannot be read."""
    path = Path(path)
    found: dict[str, Settings] = {}
    for plugin in _document(path).get("plugins") or ():
        settings = plugin.get("configuration")
        if settings is None and plugin.get("path"):
            settings = _document(path.parent / plugin["path"])
        found[plugin.get("name", "")] = settings or {}
    return found


def _document(path: Path) -> Mapping[str, Any]:
    try:
        document = value_of_bytes(path.read_bytes())
    except (OSError, BrokenText) as error:
        raise SimkitError(f"the settings of admission plugins cannot be read from {path}: {error}") from None
    if not isinstance(document, Mapping):
        raise SimkitError(f"{path} holds no settings of admission plugins")
    return document


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

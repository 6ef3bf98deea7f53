"""The authorizers of the options.

Upstream: pkg/kubeapiserver/options/authorization.go, release 1.30.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, cast

from simkit.cluster.options import Options, constantly
from simkit.engine.authz.config import AuthorizerChain, NamedAuthorizer, ReloadingAuthorizer
from simkit.engine.authz.rbac import RBACAuthorizer
from simkit.engine.authz.webhook import FailurePolicy, ReviewVersion, Settings, WebhookAuthorizer
from simkit.engine.egress.call import Caller, Poster
from simkit.engine.egress.files import ClientConfig, load_kubeconfig
from simkit.engine.egress.policy import Unreachable
from simkit.engine.pipeline.metrics.counters import Metrics
from simkit.logic.authorizers.node import NodeAuthorizer
from simkit.logic.authorizers.node_graph import FOLLOWED, NodeGraph
from simkit.logic.authorizers.union import AlwaysAllow, AlwaysDeny
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import Clock
from simkit.meta.domain import AUTHORIZATION_GROUP, LABEL_DOMAIN
from simkit.meta.errors import SimkitError
from simkit.meta.fielderror import quoted
from simkit.schema.feature_gates import parse_feature_gates
from simkit.seams import Authorizer, Change, Store
from simkit.seams.authorization import Authorization, stated
from simkit.seams.parts import PartRegistry
from simkit.seams.snapshot import Snapshot

_LOG: Final = logging.getLogger("simkit.cluster")
_MOUNTED: Final = Path("/var/run/secrets") / LABEL_DOMAIN / "serviceaccount"


def apply_authorization(options: Options) -> Options:
    """The options, without anonymous authentication if AlwaysAllow is among the modes; a warning is logged.

    A mode that is named in a configuration file does not count.

    References
    ----------
    ``ApplyAuthorization`` in k8s.io/kubernetes/pkg/kubeapiserver/options/authentication.go, release 1.30.
    """
    if not options.anonymous_auth or "AlwaysAllow" not in (options.authorization_mode or ()):
        return options
    _LOG.warning(
        "AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. "
        "You should use a different authorizer"
    )
    return replace(options, anonymous_auth=False)


def with_modes(options: Options, dumped: Authorization | None = None) -> Options:
    """The options with authorization modes: their own, or those of a dump that can be decided here, or RBAC."""
    if options.authorization_mode is not None:
        return options
    decided = dumped.decided if dumped is not None and not options.authorization_config else ()
    return replace(options, authorization_mode=decided or ("RBAC",))


class _NoAnswer:
    """A service that a fork does not call."""

    def post(self, body: bytes) -> bytes:
        raise Unreachable("forks call no services outside")


@dataclass
class Access:
    """The parts of authorizers, and the authorizers that follow the store."""

    options: Options
    behaviour: ServedBehaviour
    store: Store
    snapshot: Callable[[], Snapshot]
    clock: Clock
    metrics: Metrics
    roles: RBACAuthorizer
    graph: NodeGraph | None = None
    """The graph of nodes and their objects, made for the mode Node."""
    forked: bool = False
    _nodes: NodeAuthorizer | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.graph is not None:
            self._follow(self.graph)

    def authorizer(self) -> Authorizer:
        """The authorizers in order. Raises SimkitError for inconsistent options."""
        options = self.options
        if options.authorization_config:
            _check_alone(options)
            return ReloadingAuthorizer(options.authorization_config, self._configured, self.clock, self.metrics)
        known = self._known()
        _check_modes(options, known)
        modes = options.authorization_mode or ()
        modules = [NamedAuthorizer(mode, mode.lower(), known[mode](self)) for mode in modes]
        return AuthorizerChain(modules, self.metrics)

    def _known(self) -> PartRegistry[Callable[[Access], Authorizer]]:
        """The constructors of authorizers, with those of the options. Raises SimkitError for a name that is taken."""
        return AUTHORIZERS.with_given((mode, constantly(given)) for mode, given in self.options.authorizers.items())

    def told(self, authorizer: Authorizer) -> Authorization:
        """The authorizers for snapshots of the store."""
        modes = [each.type for each in getattr(authorizer, "modules", ())]
        file = self.options.authorization_policy_file
        policies = Path(file).read_bytes() if file and "ABAC" in modes else b""
        return stated(modes, policies, self.options.feature_gates)

    def node(self) -> NodeAuthorizer:
        """The authorizer of the mode Node, with the graph that follows the store."""
        if self._nodes is None:
            if self.graph is None:
                self.graph = NodeGraph.of(self.snapshot())
                self._follow(self.graph)
            release = self.options.release
            gates = parse_feature_gates(self.options.feature_gates, release).values
            self._nodes = NodeAuthorizer(self.graph, release, gates)
        return self._nodes

    def _follow(self, graph: NodeGraph) -> None:
        """Keep a graph up to date with the store."""

        def follow(changes: Sequence[Change]) -> None:
            for change in changes:
                key = change.entry.key
                if key.resource not in FOLLOWED:
                    continue
                if change.type == "DELETED":
                    graph.remove(key)
                else:
                    graph.put(key, change.entry.object)

        self.store.listen(follow, FOLLOWED)

    def policy_file(self) -> Authorizer:
        """The authorizer of the mode ABAC. Raises SimkitError without its file."""
        from simkit.logic.authorizers.abac import load

        if not self.options.authorization_policy_file:
            raise SimkitError("authorization-mode ABAC's authorization policy file not passed")
        return load(self.options.authorization_policy_file)

    def webhook(self) -> Authorizer:
        """The authorizer of the mode Webhook, of the flags."""
        options = self.options
        settings = Settings(
            version=options.authorization_webhook_version,
            authorized_ttl=options.authorization_webhook_cache_authorized_ttl,
            unauthorized_ttl=options.authorization_webhook_cache_unauthorized_ttl,
        )
        poster = self._poster(lambda: load_kubeconfig(str(options.authorization_webhook_config_file)), 30.0)
        return WebhookAuthorizer(self.behaviour, poster, settings, self.clock)

    def _poster(self, endpoint: Callable[[], ClientConfig], timeout: float) -> Poster:
        return _NoAnswer() if self.forked else Caller(endpoint(), timeout)

    def _configured(self, content: bytes) -> Sequence[NamedAuthorizer]:
        """The authorizers of a configuration file."""
        from simkit.engine.authz.config_file import ConfiguredAuthorizer, parse

        known = self._known()

        def made(each: ConfiguredAuthorizer) -> Authorizer:
            entry = each.webhook
            if entry is None:
                return known[each.type](self)
            settings = Settings(
                each.name,
                cast(ReviewVersion, entry.version),
                entry.authorized_ttl,
                entry.unauthorized_ttl,
                cast(FailurePolicy, entry.failure_policy),
            )
            named = entry.connection.file
            poster = self._poster(
                lambda: load_kubeconfig(named) if named else _from_inside(entry.version), entry.timeout
            )
            return WebhookAuthorizer(self.behaviour, poster, settings, self.clock, conditions=each.conditions)

        chosen = parse(self.behaviour, content, str(self.options.authorization_config), sorted(known))
        return [NamedAuthorizer(each.type, each.name, made(each)) for each in chosen]


AUTHORIZERS: Final = PartRegistry[Callable[[Access], Authorizer]](
    "simkit.authorizers",
    {
        "AlwaysAllow": lambda _: AlwaysAllow(),
        "AlwaysDeny": lambda _: AlwaysDeny(),
        "ABAC": Access.policy_file,
        "Webhook": Access.webhook,
        "RBAC": lambda access: access.roles,
        "Node": Access.node,
    },
)
"""The constructors of authorizers, by the mode that names them in flags and configuration files."""


def _check_alone(options: Options) -> None:
    """Raise SimkitError for other authorization options beside a configuration file."""
    others = (options.authorization_webhook_config_file, options.authorization_policy_file)
    if tuple(options.authorization_mode or ()) != ("RBAC",) or any(others):
        flags = "--authorization-mode or --authorization-webhook-* flags are defined"
        raise SimkitError(f"--authorization-config can not be specified when {flags}")
    if not options.feature_gates.get("StructuredAuthorizationConfiguration", True):
        gate = "StructuredAuthorizationConfiguration feature flag"
        raise SimkitError(f"--authorization-config cannot be used without enabling {gate}")


def _check_modes(options: Options, known: PartRegistry[Callable[[Access], Authorizer]]) -> None:
    modes, errors = list(options.authorization_mode or ()), list[str]()
    if not modes:
        errors.append("at least one authorization-mode must be passed")
    errors += [f"authorization-mode {quoted(mode)} is not a valid mode" for mode in modes if mode not in known]
    errors += [
        f"authorizer {quoted(name)} is not among the authorization modes" for name in known.given if name not in modes
    ]
    for mode, flag, given, what in (
        ("ABAC", "policy-file", options.authorization_policy_file, "authorization policy file"),
        ("Webhook", "webhook-config-file", options.authorization_webhook_config_file, "authorization config file"),
    ):
        if mode in modes and not given:
            errors.append(f"authorization-mode {mode}'s {what} not passed")
        if given and mode not in modes:
            errors.append(f"cannot specify --authorization-{flag} without mode {mode}")
    if len(set(modes)) != len(modes):
        errors.append(f"authorization-mode {' '.join(map(quoted, modes))} has mode specified more than once")
    if errors:
        raise SimkitError(f"{'; '.join(errors)} (known modes: {', '.join(known)})")


def _from_inside(version: str) -> ClientConfig:
    """The review API of the cluster in which this process runs as a pod."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        why = "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
        raise SimkitError(f"unable to load in-cluster configuration, {why}")
    try:
        authorities, token = (_MOUNTED / "ca.crt").read_bytes(), (_MOUNTED / "token").read_text().strip()
    except OSError as error:
        raise SimkitError(f"unable to load in-cluster configuration: {error}") from error
    path = f"/apis/{AUTHORIZATION_GROUP}/{version}/subjectaccessreviews"
    address = f"[{host}]" if ":" in host else host
    return ClientConfig(f"https://{address}:{port}{path}", authorities, token=token)

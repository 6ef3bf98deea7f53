"""The engine: all parts of a server, assembled, behind one function from a request to a response."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simkit.engine.admission.chain import Chain
from simkit.engine.authn.options import Authentication
from simkit.engine.pipeline.api_services import Aggregator, APIService, APIServices
from simkit.engine.pipeline.flowcontrol.controller import FlowControl
from simkit.engine.pipeline.flowcontrol.flow_schema import MaxInFlight
from simkit.engine.pipeline.metrics.counters import Metrics
from simkit.engine.pipeline.request_context import ClientHook
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.registry.allocation import ServiceAllocation
from simkit.engine.registry.registry import Registry
from simkit.engine.watch.watch_cache import WatchCache
from simkit.kinds.apiextensions.definition import Conversion, uncalled
from simkit.meta.clock import Clock, NameSource, SystemClock
from simkit.meta.errors import future_revision
from simkit.meta.message import Request
from simkit.meta.names import GroupVersionResource, Revision
from simkit.meta.pausing import unpaused
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.disabled_fields import FieldGates
from simkit.schema.feature_gates import parse_feature_gates
from simkit.schema.shared_parts import SharedParts
from simkit.seams import Authenticator, Authorizer, Change, EscalationGuard, PodConnections, Store

if TYPE_CHECKING:
    from simkit.engine.pipeline.audit.auditor import Auditor

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_CONNECTING = re.compile("/exec|/attach|/portforward|/proxy")
"""Segments in paths of connections, which admission handles with every method."""
FUTURE_WAIT = 3.0
"""Seconds that a read waits for a future revision."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The parts of an engine; made only by ``cluster.control_plane``."""

    store: Store
    catalogue: Catalogue
    authentication: Authentication
    authorizer: Authorizer
    guard: EscalationGuard
    admission: Chain
    clock: Clock
    name_source: NameSource
    gates: Mapping[str, bool] = field(default_factory=dict)
    grace: float = 0.0
    """Seconds for which livez ignores the post-start checks."""
    paths: Sequence[str] = ()
    limits: MaxInFlight | FlowControl = field(default_factory=MaxInFlight)
    metrics: Metrics = field(default_factory=Metrics)
    audit: Auditor | None = None
    allocation: ServiceAllocation | None = None
    """The allocation of Services' addresses; None: the default ranges."""
    api_services: APIServices | None = None
    """The APIServices of the store; None: they are read on demand."""
    allow_privileged: bool = False
    loaded: int = 0
    """The revision through which objects are as a dump had them, perhaps without defaults."""
    remote: Aggregator | None = None
    """The client of aggregated servers; None: there are none."""
    calls_webhooks: Callable[[Request], bool] | None = None
    """A predicate for writes that may call a webhook; None: none does."""
    conversion: Conversion = uncalled
    """The client of conversion webhooks."""


def _nothing() -> None:
    """No effect."""


class Engine:
    """A server in memory. ``answer`` may be called from several threads; reads take no lock."""

    def __init__(self, parts: EngineConfig) -> None:
        self.parts = parts
        self.store, self.clock, self.name_source = parts.store, parts.clock, parts.name_source
        self.authentication = parts.authentication
        self.authenticator: Authenticator = parts.authentication.authenticator
        self.authorizer, self.guard = parts.authorizer, parts.guard
        self.admission = parts.admission
        self.gates = parts.gates or parse_feature_gates({}, parts.catalogue.release).values
        self._fields = FieldGates.shared(parts.catalogue.release, self.gates)
        self.behaviour = parts.catalogue.behaviour
        """The behaviour for ``simkit.meta.behaviour.applies`` while a request is served."""
        self.registry = Registry(
            parts.store,
            parts.clock,
            parts.name_source,
            self.behaviour,
            parts.allocation,
            allow_privileged=parts.allow_privileged,
            loaded=parts.loaded,
        )
        self.shared_store = parts.store.leaves_process
        """True if other servers may write into the store: latest values are read there."""
        self.inner_parts_leave_process = self.shared_store or parts.admission.leaves_process
        """True if handling a request may wait for a service outside: the store's, or one of admission."""
        self.shared_parts = SharedParts(self.behaviour)
        """Parts of objects that callers in this process send again and again."""
        self.watch_cache = WatchCache(parts.store)
        self.limits, self.metrics, self.audit = parts.limits, parts.metrics, parts.audit
        self.api_services = parts.api_services or APIServices(parts.store)
        self._serving: tuple[Catalogue, dict[GroupVersionResource, RequestScope]] = (parts.catalogue, {})
        self.started, self.stopping = True, False
        """True after the start is complete, and True once a server is about to stop; health checks report both."""
        self.own_checks: dict[str, Callable[[], str]] = {}
        """Checks of readyz besides those of kube-apiserver: each gives what is wrong, or nothing."""
        self.verbosity = 0
        """The log level, as klog has it."""
        self.since = parts.clock.now()
        """The start of the server, in seconds since 1970."""
        self.client_hook: ClientHook | None = None
        """Sees and disturbs the requests of clients, in tests; None: nobody does."""
        self.connections: PodConnections | None = None
        """Answers connections to pods; None: there is nothing to connect to."""
        self.impersonation_modes: dict[str, int] = {}
        """By caller: the mode of impersonation that it was last allowed."""
        self.after_write: Callable[[], None] = _nothing
        """Called after a write, before it is answered."""
        self._heard = self._settled = 0
        """The number of writes that all have heard of, and of those that it was called for."""
        self.converting: Collection[str] = ()
        """Groups whose objects may need a conversion webhook."""
        self.met: set[tuple[GroupVersionResource, str, str]] = set()
        """Resources, verbs and subresources that were requested before: their modules are loaded."""
        self.met_forms: set[tuple[GroupVersionResource, str]] = set()
        """Resources and forms other than plain JSON in which they were read or written before."""
        self._news, self._awaiting = threading.Condition(), 0
        """Told of every write while requests wait for a future revision, and the number of these."""
        parts.store.listen(self._wake)

    @property
    def chain_leaves_process(self) -> bool:
        """True if finding out who may do what may wait for a service outside."""
        return self.authenticator.leaves_process or self.decision_leaves_process

    @property
    def decision_leaves_process(self) -> bool:
        """True if finding out what a known sender may do may wait for a service outside."""
        return self.authorizer.leaves_process or self.guard.leaves_process

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue of the currently served resources."""
        return self._serving[0]

    def authenticate_with(self, authentication: Authentication) -> None:
        """Replace the authenticators; they also issue and review tokens."""
        self.authentication, self.authenticator = authentication, authentication.authenticator

    def serve_catalogue(self, catalogue: Catalogue, *, converting: Collection[str] = ()) -> None:
        """Replace the served resources, after custom resources changed.

        ``converting`` are the groups whose objects a webhook may have to convert.
        """
        self._serving, self.converting = (catalogue, {}), converting

    def request_scope(self, resource: Resource) -> RequestScope:
        """The request scope of a resource, made once."""
        catalogue, made = self._serving
        found = made.get(resource.gvr)
        if found is None:
            found = made[resource.gvr] = RequestScope(catalogue, resource, self._fields, self.parts.conversion)
        return found

    def aggregated_service(self, group: str, version: str) -> tuple[Aggregator, APIService] | None:
        """The aggregator and the APIService of an aggregated group version; None if this server serves it."""
        if self.parts.remote is None:
            return None
        found = self.api_services.aggregated_service(group, version)
        return (self.parts.remote, found) if found is not None else None

    def request_leaves_process(self, request: Request) -> bool:
        """True if another server is asked before the request is answered: a backing server, or a webhook."""
        parts = self.parts
        if self.converting and request.path.startswith("/apis/") and request.path.split("/", 3)[2] in self.converting:
            return True
        remote = parts.remote if request.path.startswith(("/apis", "/openapi")) else None
        if remote is not None and any(self.api_services.remote):
            return True
        if parts.calls_webhooks is None or (request.method in _READING and not _CONNECTING.search(request.path)):
            return False
        return parts.calls_webhooks(request)

    @property
    def age(self) -> float:
        """Seconds since the start."""
        return self.clock.now() - self.since

    def in_grace(self) -> bool:
        """True if the grace period of livez lasts."""
        return self.age < self.parts.grace

    def hear(self, changes: Sequence[Change]) -> None:
        """Hear of a write, as the last one who listens: all others know by then what follows from it."""
        self._heard += 1

    def settle(self) -> None:
        """Do what follows from writes, if there were any since the last time."""
        heard = self._heard
        if heard != self._settled:
            if self.shared_store:
                with unpaused():  # who settles may hold locks
                    self.after_write()
            else:
                self.after_write()
            self._settled = heard  # that of before: what was written just now has its turn next time

    def gate(self, name: str) -> bool:
        """True if a feature gate is on."""
        return self.gates.get(name, False)

    def _wake(self, changes: Sequence[Change]) -> None:
        if self._awaiting:  # who begins to wait now finds the change in the store
            with self._news:
                self._news.notify_all()

    def is_future(self, requested: int) -> bool:
        """True if a revision has not come yet: the request for it has to wait."""
        return requested > self.store.revision

    def await_revision(self, requested: int) -> None:
        """Wait for a revision. Raises kube-apiserver's 504 if it does not come.

        With a simulated clock time stands still, and waiting for it would be for nothing.
        """
        if requested <= self.store.revision:
            return
        wait = FUTURE_WAIT if isinstance(self.clock, SystemClock) else 0.0
        with self._news:
            self._awaiting += 1
            try:
                self._news.wait_for(lambda: requested <= self.store.revision, timeout=wait)
            finally:
                self._awaiting -= 1
        if requested > self.store.revision:
            raise future_revision(requested, Revision(self.store.revision))

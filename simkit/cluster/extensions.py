"""Effects of stored objects on the server: admission policies, webhooks, aggregated groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simkit.client.controller import Controller
from simkit.cluster.bootstrap import SERVER
from simkit.cluster.options import Options
from simkit.engine.admission.candidates import LiveClusterReader
from simkit.engine.admission.policies import MUTATING, VALIDATING, PolicyIndex
from simkit.engine.admission.webhook_index import WebhookIndex
from simkit.engine.aggregation.proxy_handler import ProxyCertificate, ProxyHandler
from simkit.engine.controllers.served_version import with_served_version
from simkit.engine.controllers.server_records import AvailableConditionController, CRDRegistrationController
from simkit.engine.egress.policy import EgressPolicy
from simkit.engine.egress.webhook import WebhookConverter
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.engine.pipeline.request_info import parse_request_info
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import Clock, NameSource
from simkit.meta.errors import SimkitError
from simkit.meta.identity import AUTHENTICATED, Identity
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource, GroupVersionResource, Key
from simkit.schema.catalogue import Catalogue
from simkit.seams import ListWatcher
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    from simkit.cluster.control_plane import ControlPlane

MANAGER: Final = Identity("system:kube-controller-manager", (AUTHENTICATED,))
"""The identity of controllers without service accounts."""
_SERVICES: Final = GroupResource("", "services")
_PROXY_NAME: Final = "front-proxy-client"
_CENTURY: Final = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class ServerOfPart:
    """The server for which a part of another package is made: see ``PartContext`` and ``AdmissionContext``."""

    server: ControlPlane

    @property
    def clock(self) -> Clock:
        """The clock of the server."""
        return self.server.clock

    @property
    def snapshot(self) -> Callable[[], Snapshot]:
        """The function that returns the objects which are stored now."""
        return self.server.everything

    def of(self, name: str) -> Mapping[str, Any]:
        """The settings of an admission plugin."""
        return self.server.admission_settings.get(name) or {}


class ProxyIdentity:
    """The client certificate for aggregated servers, of a server and its forks: from files, or generated on demand."""

    def __init__(self, certificate: str | Path | None = None, key: str | Path | None = None) -> None:
        self._certificate, self._key = certificate, key

    @cached_property
    def made(self) -> ProxyCertificate:
        from simkit.engine.http.keypair import make_authority

        if self._certificate is not None and self._key is not None:
            try:
                return ProxyCertificate(Path(self._certificate).read_bytes(), Path(self._key).read_bytes())
            except OSError as error:
                raise SimkitError(f"--proxy-client-cert-file and its key cannot be read: {error}") from error
        authority = make_authority("simkit-front-proxy-ca", _CENTURY)
        pair = authority.sign_client(_PROXY_NAME, [], (_CENTURY[0], _CENTURY[1] - timedelta(days=1)))
        return ProxyCertificate(pair.certificate_pem(), pair.key_pem(), authority.certificate_pem())


class Extensions:
    """The parts of one server that follow its policies, webhooks and API services.

    Attributes
    ----------
    egress
        The door to what is outside of the process.
    policies, mutating_policies
        The compiled admission policies.
    webhooks
        The webhooks.
    proxy
        The certificate that backing servers know this one by.
    """

    def __init__(
        self,
        store: ListWatcher,
        behaviour: ServedBehaviour,
        egress: EgressPolicy,
        proxy: ProxyIdentity,
        origin: Extensions | None = None,
    ) -> None:
        self.egress, self.proxy = egress, proxy
        if origin is None:
            self.policies = PolicyIndex(VALIDATING, store, behaviour)
            self.mutating_policies = PolicyIndex(MUTATING, store, behaviour)
            self.webhooks = WebhookIndex(store, behaviour)
        else:
            self.policies = origin.policies.fork(store, behaviour)
            self.mutating_policies = origin.mutating_policies.fork(store, behaviour)
            self.webhooks = origin.webhooks.fork(store, behaviour)
        self.forwarder = ProxyHandler(behaviour, self.egress, lambda: self.proxy.made)
        self._store, self._behaviour = store, behaviour

    @classmethod
    def of(cls, options: Options, store: ListWatcher, behaviour: ServedBehaviour, *, calls: bool = True) -> Extensions:
        """The extensions of a new server; ``calls`` says whether connections to the outside are allowed."""
        proxy = ProxyIdentity(options.proxy_client_cert_file, options.proxy_client_key_file)
        return cls(store, behaviour, EgressPolicy(allowed=calls, services=options.services), proxy)

    def fork(self, store: ListWatcher, behaviour: ServedBehaviour) -> Extensions:
        """The extensions over a fork of the store, without egress."""
        return Extensions(store, behaviour, self.egress.fork(), self.proxy, self)

    def conversions(self, name_source: NameSource) -> WebhookConverter:
        """The client of conversion webhooks."""
        return WebhookConverter(
            self._behaviour,
            self.egress,
            lambda namespace, name: self._store.get(Key(_SERVICES, namespace, name)) is not None,
            name_source.uid,
        )

    def calls_webhooks(self, request: Request, reader: LiveClusterReader) -> bool:
        """True if a write may have to wait for a webhook outside of this process."""
        if not self.egress.allowed or not self.webhooks.any():
            return False
        target = parse_request_info(request.method, request.path, request.query)
        resource = GroupVersionResource(target.group, target.version, target.resource)
        return target.is_resource and self.webhooks.concerns(reader, resource, target.subresource)

    def server_controllers(self, catalogue: Callable[[], Catalogue], clock: Clock) -> list[Controller]:
        """The controllers of the server itself, which no flag disables."""
        egress = self.egress
        availability = AvailableConditionController(
            self.forwarder.probe,
            lambda found: egress.address(*(found.service or ("", "", 0))) is not None,
            lambda: egress.allowed,
            clock,
        )
        return [CRDRegistrationController(catalogue), availability]


def performing(engine: Engine, *, as_one: bool = False) -> Callable[[Request, Identity], Response]:
    """The function by which controllers send requests, in the served versions.

    ``as_one`` has all others act as one user, whose default role is not enough for them: bind it to what they need.
    """

    def perform(request: Request, identity: Identity) -> Response:
        request = with_served_version(request, engine.catalogue)
        if identity.user == SERVER.user:
            return serve_request(engine, request, SERVER)
        return serve_request(engine, request, MANAGER if as_one else identity)

    return perform

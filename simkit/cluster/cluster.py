"""The facade: a cluster as a Python object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode

from simkit.cluster import assembly
from simkit.cluster.analysis_methods import AnalysisMethods
from simkit.cluster.control_plane import ControlPlane
from simkit.cluster.disabled_apis import runtime_config_disabling
from simkit.cluster.options import LATEST, Options
from simkit.cluster.releases import at_release
from simkit.cluster.simulation_methods import SimulationMethods
from simkit.cluster.traffic_methods import TrafficMethods
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta.attributes import Decision
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.garbage_collection import collection_paused
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.snapshot.manifests import manifests
from simkit.snapshot.protocol import Snapshot

if TYPE_CHECKING:
    from pandas import DataFrame

    from simkit.cluster.admit import Admitted
    from simkit.cluster.object_history import History
    from simkit.cluster.traced_request import TracedRequest
    from simkit.cluster.trial import Trial
    from simkit.engine.egress.policy import ConversionFunction, EgressPolicy, WebhookFunction
    from simkit.engine.http.server import Server
    from simkit.snapshot.dump import Dump
    from simkit.snapshot.sources import Source


class Cluster(AnalysisMethods, SimulationMethods, TrafficMethods):
    """An API server in memory, with the analyses at hand.

    Parameters
    ----------
    release
        The release that it behaves as; 1.30 unless said otherwise.
    seed
        Makes uids and generated names repeat.
    options
        All settings at once, ``release`` and ``seed`` among them.

    Raises
    ------
    SimkitError
        Where ``options`` say another release or seed than the arguments.

    Examples
    --------
    >>> cluster = Cluster(seed=1)
    >>> obj = cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    >>> obj["metadata"]["namespace"]
    'default'
    """

    def __init__(self, release: str | None = None, *, seed: int | None = None, options: Options | None = None) -> None:
        with collection_paused():
            self._control_plane = assembly.fresh(_options(release, seed, options))
        self.dump: Dump | None = None
        """The dump from which the cluster was loaded; None for any other cluster."""

    @classmethod
    def _of(cls, control_plane: ControlPlane, dump: Dump | None = None) -> Self:
        cluster = cls.__new__(cls)
        cluster._control_plane, cluster.dump = control_plane, dump
        return cluster

    @classmethod
    def load(
        cls,
        source: Source,
        *,
        options: Options | None = None,
        captured: Iterable[str | GroupResource] = (),
        secrets: bool = False,
        namespace: str = DEFAULT_NAMESPACE,
    ) -> Self:
        """A cluster with the objects of a dump in its store: see ``simkit.load``."""
        from simkit.snapshot.load import load

        options = options or Options()
        with collection_paused():
            dump = load(source, release=options.release, captured=captured, secrets=secrets, namespace=namespace)
            return cls.of(dump, options)

    @classmethod
    def of(cls, dump: Dump, options: Options | None = None) -> Self:
        """A cluster with the objects of a loaded dump in its store."""
        return cls._of(assembly.loaded(options or Options(release=dump.release), dump), dump)

    @property
    def engine(self) -> Any:
        """The server itself (``simkit.engine.pipeline.engine.Engine``)."""
        return self._control_plane.engine

    @property
    def release(self) -> str:
        return self._control_plane.catalogue.release

    def __repr__(self) -> str:
        stored = sum(self._control_plane.store.count(each.storage) for each in self._control_plane.catalogue.stored())
        return f"<Cluster release {self.release}, {stored} objects at revision {self._control_plane.store.revision}>"

    def _repr_html_(self) -> str:
        from simkit.cluster.html_summary import cluster_html

        return cluster_html(self)

    # The server, request by request

    def perform(self, request: Request, *, identity: Identity | None = None) -> Response:
        """The answer to a request, through the whole handler chain; by default as an administrator."""
        return serve_request(self._control_plane.engine, request, identity or administrator())

    def snapshot(self) -> Snapshot:
        """The current objects, for the analyses."""
        return self._control_plane.snapshot()

    def fork(self, *, release: str | None = None) -> Self:
        """An independent copy, in constant time; with a release, as a server of that release over the same objects."""
        options = None if release in (None, self.release) else at_release(self._control_plane.options, str(release))
        return self._derived(self._control_plane.fork(options))

    def with_apis_disabled(self, *elements: str) -> Self:
        """A fork that no longer serves some versions, groups or resources: ``policy/v1beta1``, ``batch``, ..."""
        options = self._control_plane.options
        off = runtime_config_disabling(self._control_plane.engine.catalogue, elements)
        settings = {**options.runtime_config, **off}
        return self._derived(self._control_plane.fork(replace(options, runtime_config=settings)))

    def forked(self) -> ControlPlane:
        """The parts of an independent copy."""
        return self._control_plane.fork(None)

    def _derived(self, made: ControlPlane) -> Self:
        """The cluster of a control plane that was forked from this one's."""
        return self._of(made, self.dump)

    def settle(self) -> int:
        """Run the controllers until nothing is left to do; returns the number of rounds."""
        return self._control_plane.runner.settle()

    def audit_log(self) -> list[dict[str, Any]]:
        """The audit events so far, oldest first. Raises SimkitError where the options ask for no audit log."""
        from simkit.cluster.recording import recorded

        return recorded(self._control_plane.engine.audit)

    # Objects

    def create(self, obj: Object, *, identity: Identity | None = None) -> Object:
        """The stored object. Raises StatusError with the error for a client."""
        path, namespaced = self._collection(obj)
        return self._one("POST", path, self._placed(obj, namespaced), identity)

    def apply(self, source: Source, *, identity: Identity | None = None) -> list[Object]:
        """Create or replace objects from YAML or JSON text, a path, or mappings; returns the stored objects.

        Lists are taken apart. Raises StatusError for the first object that is refused; those before it stay.
        """
        return [self._put(obj, identity) for obj in manifests(source, self.release)]

    def _put(self, obj: Object, identity: Identity | None) -> Object:
        path, namespaced = self._collection(obj)
        placed = self._placed(obj, namespaced)
        if not name_of(obj):
            return self._one("POST", path, placed, identity)
        live = self.perform(Request.of("GET", f"{path}/{name_of(obj)}"), identity=identity)
        if live.status == 404:
            return self._one("POST", path, placed, identity)
        current = {key: value for key, value in placed["metadata"].items() if key != "resourceVersion"}
        version = (live.object.get("metadata") or {}).get("resourceVersion", "")
        placed = {**placed, "metadata": {**current, "resourceVersion": version}}
        return self._one("PUT", f"{path}/{name_of(obj)}", placed, identity)

    def get(self, word: str, name: str, namespace: str | None = None) -> Object:
        """One object by any name of its resource; None is the namespace ``default``. Raises StatusError 404."""
        return self._one("GET", f"{self._path(word, namespace)}/{name}")

    def list(
        self, word: str, namespace: str | None = None, *, label_selector: str = "", field_selector: str = ""
    ) -> list[Object]:
        """The objects of a resource in one namespace or (None) in all.

        Parameters
        ----------
        label_selector, field_selector
            Which of them, as kubectl takes them: ``app=web,tier!=db``, ``metadata.name=web``.

        Examples
        --------
        >>> cluster = Cluster(seed=1)
        >>> [each["metadata"]["name"] for each in cluster.list("namespaces", field_selector="metadata.name=default")]
        ['default']
        """
        resource = self._control_plane.catalogue.lookup(word)
        if namespace == "" and resource.namespaced:
            raise SimkitError("the namespace is empty: name one, or leave it out (None) for all of them")
        scope = f"/namespaces/{namespace}" if namespace and resource.namespaced else ""
        chosen = {"labelSelector": label_selector, "fieldSelector": field_selector}
        query = urlencode({name: text for name, text in chosen.items() if text})
        path = f"{resource.path}{scope}/{resource.resource}"
        items = self._asked("GET", f"{path}?{query}" if query else path, None, None)["items"]
        return [{"apiVersion": resource.api_version, "kind": resource.kind, **item} for item in items]

    def delete(self, word: str, name: str, namespace: str | None = None, *, identity: Identity | None = None) -> Object:
        """Delete one object; returns the server's answer."""
        return self._one("DELETE", f"{self._path(word, namespace)}/{name}", None, identity)

    def _path(self, word: str, namespace: str | None) -> str:
        resource = self._control_plane.catalogue.lookup(word)
        if namespace == "" and resource.namespaced:
            raise SimkitError(f"the namespace is empty: name one, or leave it out (None) for {DEFAULT_NAMESPACE!r}")
        scope = f"/namespaces/{namespace or DEFAULT_NAMESPACE}" if resource.namespaced else ""
        return f"{resource.path}{scope}/{resource.resource}"

    def _collection(self, obj: Object) -> tuple[str, bool]:
        resource = self._control_plane.catalogue.resource_of(obj)
        namespace = namespace_of(obj) or "default"
        scope = f"/namespaces/{namespace}" if resource.namespaced else ""
        return f"{resource.path}{scope}/{resource.resource}", resource.namespaced

    @staticmethod
    def _placed(obj: Object, namespaced: bool) -> dict[str, Any]:
        metadata = dict(obj.get("metadata") or {})
        if namespaced:
            metadata.setdefault("namespace", "default")
        return {**obj, "metadata": metadata}

    def _one(self, method: str, path: str, body: Object | None = None, identity: Identity | None = None) -> Object:
        obj: Object = self._asked(method, path, body, identity)
        return obj

    def _asked(self, method: str, path: str, body: Object | None, identity: Identity | None) -> Any:
        response = self.perform(Request.of(method, path, body, headers={"user-agent": "simkit"}), identity=identity)
        if not response.succeeded:
            raise status_error(response)
        return response.object

    def admit(self, obj: Object, *, identity: Identity | None = None) -> Admitted:
        """The changes, messages and refusals of each admission plugin for an object; nothing is stored.

        Examples
        --------
        >>> cluster = Cluster(seed=1)
        >>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"serviceAccountName": "no"}}
        >>> bool(cluster.admit(pod))
        False
        """
        from simkit.cluster.admit import admit

        return admit(self._control_plane, obj, identity or administrator())

    def trace_request(
        self, request: Request, *, identity: Identity | None = None, on_fork: bool = True
    ) -> TracedRequest:
        """One request through the handler chain, with the decision of each stage.

        Parameters
        ----------
        request
            The request: ``Request.of("POST", "/api/v1/namespaces/dev/configmaps", {...})``.
        identity
            Skips authentication; None: an administrator, or whoever the credentials in its headers are.
        on_fork
            Whether it is executed on a fork, so that this cluster stays as it is. A fork also shows what controllers
            write because of it.

        Returns
        -------
        TracedRequest
            Its steps (stage, step, outcome, detail): who asks, impersonation, the rule that allows it, each admission
            plugin with its changes, validation, what is stored, the watches and controllers that hear of it.

        Examples
        --------
        >>> from simkit.meta.message import Request
        >>> found = Cluster(seed=1).trace_request(Request.of("GET", "/api/v1/namespaces/default"))
        >>> [(step.stage, step.outcome) for step in found.steps][-2:]
        [('authorization', 'allowed'), ('answer', 'passed')]
        """
        from simkit.cluster.traced_request import traced

        if identity is None and "authorization" not in request.headers:
            identity = administrator()
        made = self._control_plane.fork(None) if on_fork else self._control_plane
        return traced(made, request, identity, origin=self._control_plane)

    # Decisions, and the past

    def authorize(self, question: Any) -> Decision:
        """The authorizer's decision on attributes, with its evidence."""
        decision: Decision = self._control_plane.engine.authorizer.authorize(question)
        return decision

    def at(self, revision: int | str) -> Snapshot:
        """The snapshot of a revision, for all analyses: ``compare(cluster.at(7), cluster.snapshot())``."""
        from simkit.cluster.object_history import past

        return past(self._control_plane.store, self._control_plane.catalogue, revision, self._control_plane.captured)

    def history(self, what: str | Object, name: str = "", namespace: str | None = None) -> History:
        """The history of an object with authors and differences. Takes an object, or word, name, namespace."""
        from simkit.cluster.object_history import history

        if isinstance(what, str):
            resource = self._control_plane.catalogue.lookup(what)
        else:
            resource, name, namespace = (
                self._control_plane.catalogue.resource_of(what),
                name_of(what),
                namespace_of(what),
            )
        place = (namespace or "default") if resource.namespaced else ""
        return history(self._control_plane.store, Key(resource.storage, place, name))

    # What is outside: webhooks, and servers behind registered group versions

    @property
    def egress(self) -> EgressPolicy:
        """The egress policy: ``egress.allowed`` permits calls, ``egress.services`` gives addresses of services."""
        return self._control_plane.extensions.egress

    @property
    def proxy_authority(self) -> bytes:
        """The authority, in PEM form, that backing servers must trust for the user headers of this one."""
        return self._control_plane.extensions.proxy.made.authority

    def webhook(self, name: str, function: WebhookFunction) -> None:
        """Call a function instead of the webhook of that name, in this cluster and its forks.

        It gets a copy of the admission request. None or True let the write pass, False or a text refuse it; a mapping
        is a response as webhooks give it, or the changed object.
        """
        self.egress.functions[name] = function

    def conversion(self, definition: str, function: ConversionFunction) -> None:
        """Call a function instead of the conversion webhook of a CustomResourceDefinition.

        It gets a copy of an object and the apiVersion that is wanted (``example.com/v2``), and gives back the object
        in that version; a text says why it cannot. It is called in this cluster and its forks.
        """
        self.egress.conversions[definition] = function

    def uncalled_webhooks(self) -> DataFrame:
        """Calls to webhooks and backing servers that were not made because egress is not allowed."""
        from simkit.analysis.admission.policies import skipped_calls

        return skipped_calls(self.egress.uncalled)

    @contextmanager
    def what_if(self) -> Iterator[Trial]:
        """A fork for changes; ``compare`` gives their effect on access."""
        from simkit.cluster.trial import Trial

        yield Trial.on(self)

    # Files and wires

    def save(self, path: str | Path) -> None:
        """Write all objects to a file that ``simkit.load`` reads (.yaml, .json, each also with .gz)."""
        from simkit.snapshot.save import save

        save(self.snapshot(), path)

    def close(self) -> None:
        """Close the file of ``storage="sqlite:..."``, so that it can be opened again. Nothing can be written
        afterwards."""
        self._control_plane.store.close()

    def serve(self, *, port: int = 0, bind_address: str = "127.0.0.1", kubeconfig: str | Path | None = None) -> Server:
        """Serve this cluster over HTTPS in the background, with controllers; returns the running server.

        Port 0 picks a free one. The kubeconfig of an administrator is written, by default beside the certificates.
        """
        from simkit.engine.http.server import serve

        return serve(self._control_plane, port=port, bind_address=bind_address, kubeconfig=kubeconfig)


def _options(release: str | None, seed: int | None, options: Options | None) -> Options:
    """The options for the arguments of a cluster."""
    if options is None:
        return Options(release=release or LATEST, seed=seed)
    if seed is not None and options.seed is None:
        options = replace(options, seed=seed)
    for name, said, there in (("release", release, options.release), ("seed", seed, options.seed)):
        if said is not None and said != there:
            raise SimkitError(f"{name} is {said!r}, and the options say {there!r}; say it in one place")
    return options


def status_error(response: Response) -> StatusError:
    """The refusal in a response as an exception."""
    try:
        status: Mapping[str, Any] = response.object
    except ValueError:
        return StatusError(response.status, "", response.body.decode("utf-8", "replace").strip())
    return StatusError(
        response.status, status.get("reason", ""), status.get("message", ""), details=status.get("details")
    )

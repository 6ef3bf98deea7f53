"""The facade: a cluster as a Python object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self
from urllib.parse import urlsplit

from simkit.cluster.analysis_methods import AnalysisMethods
from simkit.cluster.control_plane import ControlPlane, fresh, loaded
from simkit.cluster.inspection_methods import InspectionMethods
from simkit.cluster.options import LATEST, Options
from simkit.cluster.question import ARGUMENTS, METHODS
from simkit.cluster.releases import at_release, runtime_config_disabling
from simkit.cluster.simulation_methods import SimulationMethods
from simkit.cluster.traffic_methods import EgressMethods, TrafficMethods
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource
from simkit.meta.objects import Draft
from simkit.meta.python_gc import collection_paused
from simkit.meta.visible_text import html_text
from simkit.meta.wrong_names import absent, explains_wrong_calls
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.unpacking import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from simkit.engine.http.server import Server
    from simkit.engine.pipeline.engine import Engine
    from simkit.logic.rbac.binding import Subject
    from simkit.snapshot.dump import Dump
    from simkit.snapshot.sources import Source


@partial(explains_wrong_calls, hints=ARGUMENTS)
class Cluster(AnalysisMethods, EgressMethods, InspectionMethods, SimulationMethods, TrafficMethods):
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
        Where ``options`` say another release or seed than the arguments, or stand in the place of the release.

    Examples
    --------
    >>> cluster = Cluster(seed=1)
    >>> obj = cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    >>> obj["metadata"]["namespace"]
    'default'
    """

    def __init__(self, release: str | None = None, *, seed: int | None = None, options: Options | None = None) -> None:
        with collection_paused():
            self._control_plane = fresh(_options(release, seed, options))
        self.dump: Dump | None = None
        """The dump from which the cluster was loaded; None for any other cluster."""

    if not TYPE_CHECKING:  # a type checker knows all attributes

        def __getattr__(self, name: str) -> Any:
            raise absent(type(self).__name__, name, () if name.startswith("_") else dir(self), METHODS)

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
        limits: Limits = DEFAULT_LIMITS,
    ) -> Self:
        """A cluster with the objects of a dump in its store.

        Parameters
        ----------
        source
            What ``simkit.load`` reads: paths, text, mappings.
        options
            The settings of the cluster; None: the defaults.
        captured
            Resources that the dump holds completely, besides those that can be told from it.
        secrets
            True to keep the values of Secrets.
        namespace
            The namespace of objects that name none.
        limits
            What compressed files and archives may unpack to.

        Returns
        -------
        The cluster.
        """
        from simkit.snapshot.load import load

        options = options or Options()
        with collection_paused():
            dump = load(
                source,
                release=options.release,
                captured=captured,
                secrets=secrets,
                namespace=namespace,
                limits=limits,
            )
            return cls.of(dump, options)

    @classmethod
    def of(cls, dump: Dump, options: Options | None = None) -> Self:
        """A cluster with the objects of a loaded dump in its store.

        Parameters
        ----------
        dump
            The dump.
        options
            The settings of the cluster; None: the defaults, at the release of the dump.

        Returns
        -------
        The cluster.
        """
        return cls._of(loaded(options or Options(release=dump.release), dump), dump)

    @property
    def engine(self) -> Engine:
        """The API server."""
        return self._control_plane.engine

    @property
    def release(self) -> str:
        """The release that the cluster behaves as."""
        return self._control_plane.catalogue.release

    def __repr__(self) -> str:
        stored = sum(self._control_plane.store.count(each.storage) for each in self._control_plane.catalogue.stored())
        return f"<Cluster release {self.release}, {stored} objects at revision {self._control_plane.store.revision}>"

    def _repr_html_(self) -> str:
        from simkit.cluster.inspection_methods import cluster_html

        return cluster_html(self)

    # The server, request by request

    def perform(self, request: Request, *, identity: Identity | None = None) -> Response:
        """The answer to a request, through the whole handler chain.

        Parameters
        ----------
        request
            The request: ``Request.of("GET", "/api/v1/namespaces")``.
        identity
            The user who asks; None: an administrator.

        Returns
        -------
        The response. A refused request is a response too, with a Status.

        Raises
        ------
        SimkitError
            For an identity that is none, such as a text.
        """
        if identity is not None and not isinstance(identity, Identity):
            raise SimkitError(f"{identity!r} is no identity; write identity=simkit.Identity('alice', ('devs',))")
        return serve_request(self._control_plane.engine, request, identity or administrator())

    def snapshot(self) -> Snapshot:
        """The current objects, for the analyses.

        Returns
        -------
        A snapshot that later writes do not change.
        """
        return self._control_plane.snapshot()

    def fork(self, *, release: str | None = None) -> Self:
        """An independent copy of the cluster, made in constant time.

        Parameters
        ----------
        release
            Another release that serves the same objects; None: the same one.

        Returns
        -------
        The copy.
        """
        options = None if release in (None, self.release) else at_release(self._control_plane.options, str(release))
        return self._derived(self._control_plane.fork(options))

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SimkitError(
            "a cluster is not copied or pickled: fork() copies it, save() writes what simkit.load() reads"
        )

    def with_apis_disabled(self, *elements: str) -> Self:
        """A fork that no longer serves some APIs.

        Parameters
        ----------
        elements
            Versions, groups or resources: ``policy/v1beta1``, ``batch``, ``batch/v1/cronjobs``.

        Returns
        -------
        The fork.
        """
        options = self._control_plane.options
        off = runtime_config_disabling(self._control_plane.engine.catalogue, elements)
        settings = {**options.runtime_config, **off}
        return self._derived(self._control_plane.fork(replace(options, runtime_config=settings)))

    def forked(self) -> ControlPlane:
        """The parts of an independent copy.

        Returns
        -------
        The control plane of the copy.
        """
        return self._control_plane.fork(None)

    def _derived(self, made: ControlPlane) -> Self:
        """The cluster of a control plane that was forked from this one's."""
        return self._of(made, self.dump)

    def settle(self) -> int:
        """Run the controllers until nothing is left to do.

        Returns
        -------
        The number of rounds.
        """
        return self._control_plane.runner.settle()

    def audit_log(self) -> list[Draft]:
        """The audit events so far.

        Returns
        -------
        The events, oldest first.

        Raises
        ------
        SimkitError
            If the options ask for no audit log.
        """
        from simkit.cluster.parts import recorded

        return recorded(self._control_plane.engine.audit)

    def what_if(self) -> Trial:
        """A fork for changes; its ``compare`` gives their effect on access.

        Returns
        -------
        The fork, which is a cluster. It can be the subject of a ``with`` statement.
        """
        return Trial.on(self)

    # Files and wires

    def save(self, path: str | Path) -> None:
        """Write all objects to a file that ``simkit.load`` reads.

        Parameters
        ----------
        path
            The file: .yaml or .json, each also with .gz.
        """
        from simkit.snapshot.save import save

        save(self.snapshot(), path)

    def close(self) -> None:
        """Close the file of ``storage="sqlite:..."``, so that it can be opened again. Nothing can be written
        afterwards."""
        self._control_plane.store.close()

    def serve(
        self,
        *,
        port: int = 0,
        bind_address: str = "127.0.0.1",
        kubeconfig: str | Path | None = None,
        host_programs: Sequence[str] = (),
    ) -> Server:
        """Serve this cluster over HTTPS in the background, with controllers.

        Parameters
        ----------
        port
            The port; 0: any free one.
        bind_address
            The address to listen on.
        kubeconfig
            The file for the kubeconfig of an administrator; None: beside the certificates.
        host_programs
            Programs of this machine that containers on simulated nodes may run from now on, in a sandbox, as
            ``NAME`` or ``NAME=PATH``.

        Returns
        -------
        The running server.

        Raises
        ------
        SimkitError
            For host programs where others than clients of this machine are served, that are not there, without
            bubblewrap, or on a simulated clock.
        """
        from simkit.engine.http.listeners import is_loopback
        from simkit.engine.http.server import serve

        if host_programs and not is_loopback(bind_address):
            raise SimkitError(f"host programs are for clients of this machine, and {bind_address} lets others in")
        plane = self._control_plane
        server = serve(plane.engine, plane.background, port=port, bind_address=bind_address, kubeconfig=kubeconfig)
        if host_programs:
            try:
                self._simulation().run_host_programs(host_programs, (bind_address, urlsplit(server.url).port or 0))
            except SimkitError:
                server.stop()
                raise
        return server


@partial(explains_wrong_calls, hints=ARGUMENTS)
class Trial(Cluster):
    """A fork for a what-if question: a cluster that knows the cluster from which it was made.

    ``cluster.what_if()`` makes one. ``compare`` and ``compare_paths`` tell what its changes did.
    """

    before: Cluster
    """The original cluster, with which its comparisons compare the trial, after its controllers have settled."""

    @classmethod
    def on(cls, origin: Cluster) -> Self:
        """A trial on a fork of a cluster."""
        trial = cls._of(origin.forked(), origin.dump)
        trial.before = origin
        return trial

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing: what happened on the fork can still be asked for."""

    def remove_subject(self, subject: Subject | str) -> Sequence[str]:
        """Take a subject out of all bindings, as when somebody leaves; a binding of nobody else is deleted.

        Parameters
        ----------
        subject
            ``user:alice``, ``group:devs`` or ``sa:ns/name``. What a user has by its groups stays.

        Returns
        -------
        Sequence[str]
            The bindings that named it.

        Raises
        ------
        SimkitError
            Where no binding names it.

        Examples
        --------
        >>> import simkit
        >>> trial = simkit.demo().what_if()
        >>> trial.remove_subject("group:oidc:helpdesk")
        ['ClusterRoleBinding pellowick:helpdesk-read-only']
        """
        from simkit.analysis.least_privilege.change import apply
        from simkit.analysis.least_privilege.proposal import without
        from simkit.analysis.rbac.objects import all_bindings, display_name
        from simkit.analysis.rbac.subject import normalize_subject, parse_subject, text_of

        left, snapshot = normalize_subject(parse_subject(subject)), self.snapshot()
        named = [binding for binding in all_bindings(snapshot) if binding.binds(left.principal)]
        if not named:
            raise SimkitError(f"no binding names {text_of(left)}")
        apply(self, [without(snapshot, binding, [left]) for binding in named])
        return [display_name(binding.key) for binding in named]

    def _derived(self, made: ControlPlane) -> Self:
        trial = super()._derived(made)
        trial.before = self.before
        return trial

    def __repr__(self) -> str:
        return f"<Trial on a fork of {self.before!r}: now at revision {self.engine.store.revision}>"

    def _repr_html_(self) -> str:
        return f"<p>{html_text(repr(self)[1:-1])}</p>"


def _options(release: str | None, seed: int | None, options: Options | None) -> Options:
    """The options for the arguments of a cluster."""
    if isinstance(release, Options):
        raise SimkitError("the first argument is a release; give options by name: Cluster(options=...)")
    if not isinstance(release, str | None):
        raise SimkitError(f"a release is a text: Cluster('{release}')")
    if release is not None and Path(release).suffix in (".json", ".yaml", ".yml", ".gz"):
        raise SimkitError(f"a cluster begins with a release; to read a dump, write simkit.load({str(release)!r})")
    if options is None:
        return Options(release=release or LATEST, seed=seed)
    if seed is not None and options.seed is None:
        options = replace(options, seed=seed)
    for name, said, there in (("release", release, options.release), ("seed", seed, options.seed)):
        if said is not None and said != there:
            raise SimkitError(f"{name} is {said!r}, and the options say {there!r}; say it in one place")
    return options

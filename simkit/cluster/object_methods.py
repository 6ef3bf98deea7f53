"""Objects of a cluster, created, read and changed by requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from simkit.cluster.question import AnalysedCluster
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Request, Response
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.snapshot.load import manifests

if TYPE_CHECKING:
    from simkit.cluster.control_plane import ControlPlane
    from simkit.schema.resources import Resource
    from simkit.snapshot.sources import Source


_COMPARED: Final = 2_000
"""Names that a wrong one is compared with: more would make each miss slow."""


class ObjectMethods(AnalysedCluster):
    """The part of ``Cluster`` that creates, reads, changes and deletes objects."""

    _control_plane: ControlPlane

    def create(self, obj: Object, *, identity: Identity | None = None) -> Object:
        """Create an object.

        Parameters
        ----------
        obj
            The object, with apiVersion and kind; the namespace is ``default`` unless its metadata names one.
        identity
            The user who asks; None: an administrator.

        Returns
        -------
        The object as it is stored.

        Raises
        ------
        StatusError
            For a refused request, with the Status that a client gets.
        """
        return self._asked("POST", self._path(obj), self._placed(obj), identity)

    def apply(self, source: Source, *, identity: Identity | None = None) -> list[Object]:
        """Create objects, or replace those that exist. Of a List, each item is written.

        Objects that cannot be replaced, since the server set fields that may not change (of a Job, a Pod or a claim),
        are merged.

        Parameters
        ----------
        source
            YAML or JSON text, a path, a mapping, or several of them.
        identity
            The user who asks; None: an administrator.

        Returns
        -------
        The stored objects, in the order of the source.

        Raises
        ------
        StatusError
            For the first object that is refused; those before it stay.
        """
        return [self._put(obj, identity) for obj in manifests(source, self.release)]

    def _put(self, obj: Object, identity: Identity | None) -> Object:
        placed, path = self._placed(obj), self._path(obj, name_of(obj))
        live = self.perform(Request.of("GET", path), identity=identity) if name_of(obj) else None
        if live is None or live.status == 404:
            return self._asked("POST", self._path(obj), placed, identity)
        current = {key: value for key, value in placed["metadata"].items() if key != "resourceVersion"}
        version = (live.object.get("metadata") or {}).get("resourceVersion", "")
        whole = {**placed, "metadata": {**current, "resourceVersion": version}}
        try:
            return self._asked("PUT", path, whole, identity)
        except StatusError as refused:
            merged = self.perform(_merge(path, placed), identity=identity)
            if refused.code != 422 or not merged.succeeded:
                raise
        stored: Object = merged.object
        return stored

    def get(self, word: str, name: str = "", namespace: str | None = None) -> Object:
        """One object.

        Parameters
        ----------
        word
            Any name of the resource, as kubectl takes it: ``pods``, ``pod``, ``po``, ``deployments.apps``.
        name
            The name of the object, with the namespace before it if you like: ``dev/web``. Or the namespace, where the
            name stands in the word: ``pod/web``.
        namespace
            Its namespace; None: ``default``.

        Returns
        -------
        The object, in the preferred version of its kind.

        Raises
        ------
        StatusError
            404 if there is none, with a note on where such an object is.
        """
        return self._named("GET", word, name, namespace)

    def list(
        self, word: str, namespace: str | None = None, *, label_selector: str = "", field_selector: str = ""
    ) -> list[Object]:
        """The objects of a resource in one namespace or (None) in all.

        Parameters
        ----------
        word
            Any name of the resource, as kubectl takes it.
        namespace
            One namespace; None: all.
        label_selector, field_selector
            Selectors, as kubectl takes them: ``app=web,tier!=db``, ``metadata.name=web``.

        Returns
        -------
        The objects by namespace and name.

        Raises
        ------
        SimkitError
            For an empty namespace.
        StatusError
            For a refused request, such as a selector that cannot be read.

        Examples
        --------
        >>> from simkit import Cluster
        >>> cluster = Cluster(seed=1)
        >>> [each["metadata"]["name"] for each in cluster.list("namespaces", field_selector="metadata.name=default")]
        ['default']
        """
        resource = self._control_plane.catalogue.lookup(word)
        if namespace == "" and resource.namespaced:
            raise SimkitError("the namespace is empty: name one, or leave it out (None) for all of them")
        chosen = {"labelSelector": label_selector, "fieldSelector": field_selector}
        query = urlencode({name: text for name, text in chosen.items() if text})
        path = resource.collection(namespace or "")
        items = self._asked("GET", f"{path}?{query}" if query else path)["items"]
        return [{"apiVersion": resource.api_version, "kind": resource.kind, **item} for item in items]

    def delete(
        self, word: str, name: str = "", namespace: str | None = None, *, identity: Identity | None = None
    ) -> Object:
        """Delete one object.

        Parameters
        ----------
        word
            Any name of the resource, as kubectl takes it.
        name
            The name of the object, with the namespace before it if you like: ``dev/web``. Or the namespace, where the
            name stands in the word: ``pod/web``.
        namespace
            Its namespace; None: ``default``.
        identity
            The user who asks; None: an administrator.

        Returns
        -------
        The answer: a Status, or the object if it is not removed at once.

        Raises
        ------
        StatusError
            404 if there is none, with a note on where such an object is, or another refusal.
        """
        return self._named("DELETE", word, name, namespace, identity)

    def _named(
        self, method: str, word: str, name: str, namespace: str | None, identity: Identity | None = None
    ) -> Object:
        """The answer to a request for one object, of which word and name may be written as ``pod/web``."""
        if "/" in word and name and namespace is None:
            name, namespace = "", name
        if not name:
            word, _, name = word.partition("/")
        if not name:
            every = f"; all of them are list({word!r})" if method == "GET" else ""
            raise SimkitError(f"say which of the {word}: {method.lower()}({word!r}, 'NAME', 'NAMESPACE'){every}")
        if "/" in name and namespace is None:
            namespace, _, name = name.partition("/")
        resource = self._control_plane.catalogue.lookup(word)
        if namespace == "" and resource.namespaced:
            raise SimkitError(f"the namespace is empty: name one, or leave it out (None) for {DEFAULT_NAMESPACE!r}")
        where = (namespace or DEFAULT_NAMESPACE) if resource.namespaced else ""
        try:
            return self._asked(method, resource.path_to(name, where), None, identity)
        except StatusError as refused:
            if refused.code == 404:
                refused.add_note(self._whereabouts(resource, name, where))
            raise

    def _whereabouts(self, resource: Resource, name: str, searched: str) -> str:
        """A sentence on where an object that was not found was looked for, and where it or a similar one is."""
        from difflib import get_close_matches  # for wrong names alone

        places: dict[str, list[str]] = {}
        for one in self.list(str(resource.storage)):
            places.setdefault(name_of(one), []).append(namespace_of(one))
        here = f"looked in namespace {searched}; " if searched else ""
        if name not in places:
            for other in self._control_plane.catalogue.resources(resource.group, resource.version):
                if "list" in other.verbs and any(name_of(one) == name for one in self.list(str(other.storage))):
                    return f"{here}{name} is a {other.kind}"
        near = [name] if name in places else get_close_matches(name, list(places)[:_COMPARED], n=1)
        if not near:
            return f"{here}no {resource.resource} have a similar name"
        found = places[near[0]]
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        there = f" in namespace {', '.join(found[:3])}{more}" if searched else ""
        return f"{here}it is{there}" if name in places else f"{here}did you mean {near[0]!r}{there}?"

    def _path(self, obj: Object, name: str = "") -> str:
        return self._control_plane.catalogue.resource_of(obj).path_to(name, namespace_of(obj) or DEFAULT_NAMESPACE)

    def _placed(self, obj: Object) -> dict[str, Any]:
        metadata = dict(obj.get("metadata") or {})
        if self._control_plane.catalogue.resource_of(obj).namespaced:
            metadata.setdefault("namespace", DEFAULT_NAMESPACE)
        return {**obj, "metadata": metadata}

    def _asked(self, method: str, path: str, body: Object | None = None, identity: Identity | None = None) -> Object:
        response = self.perform(Request.of(method, path, body, headers={"user-agent": "simkit"}), identity=identity)
        if not response.succeeded:
            raise status_error(response)
        obj: Object = response.object
        return obj


def _merge(path: str, obj: Object) -> Request:
    """The request that changes only what an object names, and keeps what the server chose, such as a pod's node."""
    query = "fieldManager=simkit&force=true"
    return Request.of("PATCH", f"{path}?{query}", obj, content_type="application/apply-patch+yaml")


def status_error(response: Response) -> StatusError:
    """The refusal in a response as an exception."""
    try:
        status: Mapping[str, Any] = response.object
    except ValueError:
        return StatusError(response.status, "", response.body.decode("utf-8", "replace").strip())
    return StatusError(
        response.status, status.get("reason", ""), status.get("message", ""), details=status.get("details")
    )

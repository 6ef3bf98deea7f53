"""Decisions about requests and objects, the history of a cluster, and its objects as HTML, as its methods."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from simkit.cluster.question import AnalysedCluster
from simkit.meta.attributes import Attributes, Decision
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request
from simkit.meta.names import Key
from simkit.meta.objects import Object, name_of, namespace_of
from simkit.meta.visible_text import html_text
from simkit.present.readable_table import html_table
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from simkit.analysis.access.expectations import Suite
    from simkit.analysis.history.follow import AccessEvent
    from simkit.analysis.rbac.subject import Members
    from simkit.cluster.cluster import Cluster
    from simkit.cluster.control_plane import ControlPlane
    from simkit.cluster.object_history import History
    from simkit.cluster.traced_request import TracedRequest


class InspectionMethods(AnalysedCluster):
    """The part of ``Cluster`` that shows decisions and earlier states."""

    _control_plane: ControlPlane

    def admit(self, obj: Object, *, identity: Identity | None = None) -> TracedRequest:
        """The write of an object as a dry run on a fork, with the changes and messages of each admission plugin.

        Parameters
        ----------
        obj
            The object that would be created, or that would replace one of the same name.
        identity
            The user who asks; None: an administrator.

        Returns
        -------
        TracedRequest
            Its steps, as of ``trace_request``; false if the object is refused. ``response.object`` is what would be
            stored.

        Raises
        ------
        SimkitError
            For an object that is none of the kinds that are served.

        Examples
        --------
        >>> from simkit import Cluster
        >>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"serviceAccountName": "no"}}
        >>> Cluster(seed=1).admit(pod).refused_at
        'mutating admission'
        """
        plane = self._control_plane
        resource = plane.catalogue.resource_of(obj)
        namespace = (namespace_of(obj) or DEFAULT_NAMESPACE) if resource.namespaced else ""
        key = Key(resource.storage, namespace, name_of(obj))
        exists = bool(key.name) and plane.store.get(key) is not None
        method, target = "PUT" if exists else "POST", resource.path_to(key.name if exists else "", namespace)
        return self.trace_request(Request.of(method, f"{target}?dryRun=All", obj), identity=identity or administrator())

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
        >>> from simkit import Cluster
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

    def authorize(self, question: Attributes) -> Decision:
        """The authorizer's decision.

        Parameters
        ----------
        question
            Who wants to do what.

        Returns
        -------
        Allow, deny or no opinion, with the reason and the evidence.
        """
        decision: Decision = self._control_plane.engine.authorizer.authorize(question)
        return decision

    def at(self, revision: int | str) -> Snapshot:
        """The objects at an earlier revision, for all analyses: ``compare(cluster.at(7), cluster.snapshot())``.

        Parameters
        ----------
        revision
            A revision of the store, or the resourceVersion of an object.

        Returns
        -------
        The snapshot.

        Raises
        ------
        SimkitError
            If the history no longer reaches back to the revision.
        """
        from simkit.cluster.object_history import past

        return past(self._control_plane.store, self._control_plane.catalogue, revision, self._control_plane.captured)

    def history(self, what: str | Object, name: str = "", namespace: str | None = None) -> History:
        """The history of an object with authors and differences.

        Parameters
        ----------
        what
            The object, or any name of its resource.
        name, namespace
            The name and namespace of the object, if ``what`` is the name of a resource.

        Returns
        -------
        History: one step per revision.
        """
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

    def follow(
        self,
        *,
        goals: Sequence[str] | None = None,
        members: Members | None = None,
        expectations: Suite | None = None,
    ) -> Iterable[AccessEvent]:
        """The changes of access from now on: what ``simkit watch`` prints of a running cluster.

        Parameters
        ----------
        goals, members
            What an attacker may want, and the members of groups, as for ``escalations``.
        expectations
            Expectations about access whose breaking is told: see ``check``.

        Returns
        -------
        Iterable of AccessEvent
            Each iteration gives an ``AccessEvent`` for every consequence of the writes since the last iteration.

        Raises
        ------
        IncompleteSnapshot
            Where roles or bindings were not captured.

        Examples
        --------
        >>> from simkit import Cluster
        >>> cluster = Cluster(seed=1)
        >>> events = cluster.follow()
        >>> subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"}
        >>> _ = cluster.create({
        ...     "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "a"},
        ...     "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        ...     "subjects": [subject]})
        >>> [(event.kind, event.subject) for event in events][0]
        ('granted', 'user:ann')
        """
        from simkit.analysis.escalation.find.queries import WELL_KNOWN
        from simkit.analysis.rbac.index import NO_MEMBERS
        from simkit.cluster.followed import FollowedCluster

        found = members or NO_MEMBERS
        return FollowedCluster(self._control_plane, self.snapshot(), goals or WELL_KNOWN, found, expectations)


MOST: Final = 12
"""The most resources and namespaces that are listed."""


def cluster_html(cluster: Cluster) -> str:
    """The release, the revision, and the largest resources and namespaces of a cluster. O(objects)."""
    made = cluster.engine
    by_resource: Counter[str] = Counter()
    by_namespace: Counter[str] = Counter()
    for resource in {each.storage for each in made.catalogue.stored()}:
        for entry in made.store.scan(resource):
            by_resource[str(resource)] += 1
            by_namespace[namespace_of(entry.object) or "(the whole cluster)"] += 1
    head = f"release {cluster.release}, {by_resource.total():,} objects at revision {made.store.revision}"
    shown = (_table(title, counts) for title, counts in (("resource", by_resource), ("namespace", by_namespace)))
    tables = "".join(f"<div>{each}</div>" for each in shown)
    lost = cluster.dump.lost if cluster.dump is not None else ()
    told = f"<p>{len(lost)} things in the dump could not be read: see <code>cluster.dump</code>.</p>" if lost else ""
    side_by_side = f"<div style='display:flex;flex-wrap:wrap;gap:0 2em'>{tables}</div>"
    return f"<p><b>Cluster</b>: {html_text(head)}</p>{told}{side_by_side}"


def _table(title: str, counts: Counter[str]) -> str:
    left_out = len(counts) - MOST
    return html_table((title, "objects"), counts.most_common(MOST), told=f"{left_out} more" if left_out > 0 else "")

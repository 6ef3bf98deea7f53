"""The roles and bindings of a server that has started over some objects, as manifests are meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simkit.logic.rbac.aggregate import with_aggregated_rules
from simkit.logic.rbac.binding import CLUSTER_ROLES, RESOURCES_OF_KINDS, key_of
from simkit.logic.rbac.defaults import reconcile
from simkit.meta.names import Key
from simkit.meta.objects import Object
from simkit.seams.authorization import stated
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.dump import Dump


def settled_rbac(snapshot: Snapshot) -> Mapping[Key, Object]:
    """The roles and bindings that differ once a server has started over the objects of a snapshot.

    The server creates or repairs its default roles and bindings, then the aggregation controller fills cluster roles.

    Parameters
    ----------
    snapshot
        The objects; they must be all there is.

    Returns
    -------
    Mapping
        The created and the changed objects, by key.
    """
    written = {key_of(obj, RESOURCES_OF_KINDS[obj["kind"]]): obj for obj, _ in reconcile(snapshot)}
    stored = {key_of(role, CLUSTER_ROLES): role for role in snapshot.scan(CLUSTER_ROLES)}
    roles = stored | {key: obj for key, obj in written.items() if key.resource == CLUSTER_ROLES}
    filled = {key_of(role, CLUSTER_ROLES): role for role in with_aggregated_rules(roles.values())}
    return written | {key: role for key, role in filled.items() if role is not roles[key]}


def as_started(manifests: Dump) -> Dump:
    """Manifests as the store of a server that was started over them: with settled roles and bindings.

    What the server creates or changes has no place in the source, and so no origin of its own. A uid in a manifest
    means nothing to a server that has no such object yet, and is left out. The server has the authorizers that the
    manifests show, in a static pod of kube-apiserver or by the provider of their nodes; else RBAC.
    """
    changed = settled_rbac(manifests.snapshot())
    shown = manifests.authorization
    chain = shown if shown.source or shown.outside else stated(("RBAC",))
    own = {key: _without_uid(obj) for key, obj in manifests.keyed.items()}
    return replace(manifests, keyed={**own, **changed}, stated=chain)


def _without_uid(obj: Object) -> Object:
    metadata = obj["metadata"]
    if "uid" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "uid"}}

"""The subjects that may do something with one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from simkit.analysis.access.who_can import who_can
from simkit.analysis.rbac.tables import table
from simkit.meta.names import Key
from simkit.present.progress import tracked

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

ACCESS_COLUMNS: Final = ("subject", "verbs", "bindings")
_VERBS: Final = ("get", "list", "watch", "update", "patch", "delete", "create", "deletecollection")


def object_access(cluster: Cluster, key: Key) -> pd.DataFrame:
    """The subjects that may do something with an object, each with its verbs and the bindings that give them.

    Returns
    -------
    DataFrame
        One row per subject: subject, verbs, bindings. Verbs on the collection are those in its namespace; those on
        subresources (``pods/exec``) are written as ``create pods/exec``.
    """
    resource = cluster.engine.catalogue.lookup(str(key.resource).rstrip("."))
    subresources = [(verb, name) for name, part in resource.subresources.items() for verb in part.verbs]
    asked = [(verb, "") for verb in _VERBS if verb in resource.verbs] + sorted(
        set(subresources), key=lambda pair: pair[1]
    )
    snapshot, namespace = cluster.snapshot(), key.namespace or None
    verbs: dict[str, dict[str, None]] = {}
    bindings: dict[str, dict[str, None]] = {}
    for verb, part in tracked(asked, "asking who can"):
        what = f"{key.resource.resource}.{key.resource.group}" if key.resource.group else key.resource.resource
        name = key.name if verb not in ("create", "list", "watch", "deletecollection") or part else ""
        rows = who_can(snapshot, verb, what, subresource=part, name=name, namespace=namespace)
        for subject, kind, binding in zip(rows["subject"], rows["binding_kind"], rows["binding"]):
            verbs.setdefault(subject, {})[f"{verb} {key.resource.resource}/{part}" if part else verb] = None
            bindings.setdefault(subject, {})[f"{kind} {binding}".strip()] = None
    return table([(subject, tuple(verbs[subject]), tuple(bindings[subject])) for subject in verbs], ACCESS_COLUMNS)

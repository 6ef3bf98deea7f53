"""From a dump to a cluster."""

from __future__ import annotations

from collections.abc import Iterable

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.names import GroupResource
from simkit.snapshot.sources import Source


def load(
    source: Source,
    *,
    release: str = "1.30",
    captured: Iterable[str | GroupResource] = (),
    secrets: bool = False,
    seed: int | None = None,
) -> Cluster:
    """A cluster that holds the objects of a dump just as they are.

    Nothing is created, defaulted or reconciled; uids and versions are kept. ``cluster.dump`` tells what was captured
    and what could not be read; a question that needs what is missing raises IncompleteSnapshot.

    Parameters
    ----------
    source
        What ``kubectl get -A -o yaml`` or ``-o json`` writes: files, folders, archives, text, decoded objects.
    release
        The release by which the objects are read and served.
    captured
        Resources that are complete in the dump although nothing in it shows that.
    secrets
        Whether to keep the values of secrets.
    seed
        Makes the uids and generated names of later writes repeat.

    Examples
    --------
    >>> cluster = load("{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot, namespace: shop}}")
    >>> cluster.get("sa", "robot", "shop")["metadata"]["name"]
    'robot'
    """
    options = Options(release=release, seed=seed)
    return Cluster.load(source, options=options, captured=captured, secrets=secrets)

"""From a dump, manifests or a running cluster to a cluster in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.logic.rbac.defaults import as_started
from simkit.meta import datasets
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource
from simkit.meta.python_gc import collection_paused
from simkit.meta.wrong_names import with_explained_calls
from simkit.schema.releases import RELEASES, nearest_release
from simkit.snapshot.live import LiveCluster
from simkit.snapshot.sources import Source
from simkit.snapshot.unpacking import DEFAULT_LIMITS, Limits


@with_explained_calls
def load(
    source: Source,
    *,
    release: str | None = None,
    captured: Iterable[str | GroupResource] = (),
    secrets: bool = False,
    seed: int | None = None,
    manifests: bool = False,
    namespace: str = DEFAULT_NAMESPACE,
    limits: Limits = DEFAULT_LIMITS,
    authorization_mode: Iterable[str] = (),
    cloud: Source | None = None,
) -> Cluster:
    """A cluster with the objects of a dump, unchanged.

    Nothing is created, defaulted or reconciled; uids and versions are kept. ``cluster.dump`` tells what was captured
    and what could not be read; a question that needs what is missing raises IncompleteSnapshot.

    Parameters
    ----------
    source
        A dump (``simkit dump`` prints the commands that make one): files, folders, archives, text, decoded objects.
    release
        The release by which the objects are read and served; by default that of the server, where the dump tells it (as
        those of ``simkit dump`` do), else 1.30.
    captured
        Resources that are complete in the dump although nothing in it shows that.
    secrets
        Whether to keep the values of secrets.
    seed
        Makes the uids and generated names of later writes repeat.
    manifests
        Whether the source holds manifests, as ``helm template`` and ``kubectl kustomize`` write them, and is not a
        dump. The cluster then has these objects as a server that was started over them: with its default roles and
        bindings, created or repaired, and with the rules of aggregated roles collected.
    namespace
        The namespace of objects that need one and name none.
    limits
        What compressed files and archives may unpack to: ``simkit.Limits(ratio=1000)``.
    authorization_mode
        The authorizers of kube-apiserver in order, such as ``["Node", "RBAC"]``; by default those that its static pod
        in the dump names. Where they are not known, RBAC decides alone, and answers say so.
    cloud
        The export of the cluster's provider (``simkit dump --cloud`` prints the commands that make one), in the forms
        that ``source`` has. What the provider grants then counts in every answer.

    Returns
    -------
    Cluster
        A cluster of its own, with the report of the load in its ``dump``.

    Raises
    ------
    SimkitError
        If the source does not exist, or nothing in it could be read.

    Examples
    --------
    >>> cluster = load("{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot, namespace: shop}}")
    >>> cluster.get("sa", "robot", "shop")["metadata"]["name"]
    'robot'
    """
    from simkit.snapshot.load import load as read

    if manifests:
        captured = ("*",)
    with collection_paused():
        dump = read(
            source,
            release=release,
            captured=captured,
            secrets=secrets,
            namespace=namespace,
            limits=limits,
            authorization_mode=authorization_mode,
        )
        if dump.lost and not dump.objects:
            raise SimkitError("; ".join(map(str, dump.lost)))
        if cloud is not None:
            from simkit.snapshot.cloud.exports import with_cloud  # for managed clusters

            dump = with_cloud(dump, cloud, limits)
        dump = as_started(dump) if manifests else dump
        return Cluster.of(dump, Options(release=dump.release, seed=seed))


@with_explained_calls
def demo(*, release: str = "1.30", seed: int | None = None) -> Cluster:
    """The demo cluster that comes with simkit: 900 objects of an invented company, with the mistakes of real ones.

    Parameters
    ----------
    release
        The release by which the objects are read and served.
    seed
        Makes the uids and generated names of later writes repeat.

    Returns
    -------
    Cluster
        A cluster of its own each time.

    Examples
    --------
    >>> len(demo().who_can("get", "secrets", namespace="payments")) > 0
    True
    """
    return load(datasets.path(datasets.DEMO), release=release, seed=seed, authorization_mode=["RBAC"])


@with_explained_calls
def fetch(
    context: str = "",
    *,
    kubeconfig: str | Path | None = None,
    resources: Collection[str] = (),
    release: str | None = None,
    secrets: bool = False,
    seed: int | None = None,
) -> Cluster:
    """A copy of a running cluster in memory: what a kubeconfig context may list.

    Nothing is changed there, and the copy keeps no connection. What the server refuses to list counts as not captured;
    ``cluster.dump.problems`` lists it.

    Parameters
    ----------
    context, kubeconfig
        As kubectl takes them; by default its current context.
    resources
        What to list; empty: everything but events.
    release
        The release to serve the copy as; by default that of the running server.
    secrets
        Whether to keep the values of secrets, which are left out otherwise.
    seed
        Makes the uids and generated names of later writes repeat.

    Returns
    -------
    Cluster
        A cluster of its own, with the report of what was read in its ``dump``.

    Raises
    ------
    SimkitError
        If the Python client (extra ``live``) or the kubeconfig is missing, or the server does not answer.
    """
    live = LiveCluster(context, kubeconfig)
    options = Options(release=release or release_of(live), seed=seed)
    return Cluster.load(live.pieces(resources), options=options, secrets=secrets)


def release_of(live: LiveCluster) -> str:
    """The release of a running server, or the nearest one that simkit serves."""
    return nearest_release(live.release()) or RELEASES[0]

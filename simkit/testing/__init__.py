"""A cluster in the tests of others: a pytest plugin, clients without sockets, and forms for unittest.

Examples
--------
>>> with cluster(nodes=1) as one:
...     len(one.list("nodes"))
1
"""

from __future__ import annotations

import unittest
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster
    from simkit.testing.options import Paths


@contextmanager
def cluster(
    *,
    release: str | None = None,
    crds: Paths = (),
    manifests: Paths = (),
    dump: Paths = (),
    nodes: int = 0,
    simulated_clock: bool = False,
) -> Iterator[Cluster]:
    """A cluster for the time of a context.

    Parameters
    ----------
    release
        The release that it behaves as; left out: the one that ``simkit.Cluster`` has.
    crds, manifests
        Files or folders that are applied, definitions first.
    dump
        Files of a dump that it starts with.
    nodes
        The number of simulated nodes.
    simulated_clock
        Whether time stands still until the test lets it pass.

    Raises
    ------
    SimkitError
        For what a cluster cannot be made of.
    """
    from simkit.testing.options import Wanted, listed

    files = {"crds": listed(crds), "manifests": listed(manifests), "dump": listed(dump)}
    given = {"nodes": nodes, "simulated_clock": simulated_clock, **files, **({"release": release} if release else {})}
    made = Wanted().with_changes(given).made()
    try:
        yield made
    finally:
        made.close()


class ClusterTestCase(unittest.TestCase):
    """A test case of ``unittest`` with a cluster of its own for each test, ``self.cluster``.

    Attributes
    ----------
    wanted
        What the cluster is made of, as in the marker of pytest: ``wanted = {"nodes": 3}``.
    """

    wanted: ClassVar[Mapping[str, object]] = {}
    cluster: Cluster
    _base: ClassVar[Cluster]

    @classmethod
    def setUpClass(cls) -> None:
        """Make the cluster from which each test gets a fork."""
        super().setUpClass()
        from simkit.testing.options import Wanted

        cls._base = Wanted().with_changes(cls.wanted).made()

    def setUp(self) -> None:
        """Give the test its fork."""
        super().setUp()
        self.cluster = self._base.fork()


__all__ = ["ClusterTestCase", "cluster"]

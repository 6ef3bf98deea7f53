"""A cluster in the tests of others: a pytest plugin, clients without sockets, and forms for unittest.

Examples
--------
>>> with cluster(nodes=1) as one:
...     len(one.list("nodes"))
1
"""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster


@contextmanager
def cluster(**wanted: Any) -> Iterator[Cluster]:
    """A cluster for the time of a context.

    Parameters
    ----------
    wanted
        ``release``, ``crds``, ``manifests``, ``dump``, ``nodes`` and ``simulated_clock``, as in the marker of pytest.

    Raises
    ------
    SimkitError
        For what a cluster cannot be made of.
    """
    from simkit.testing.options import Wanted

    made = Wanted().with_changes(wanted).made()
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

    wanted: ClassVar[dict[str, Any]] = {}
    cluster: Cluster
    _base: ClassVar[Any] = None

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

"""A pytest plugin: expectations of access as tests, and a cluster to write tests with.

``pytest -p simkit.testing.plugin --cluster dump.yaml`` collects files called ``expectations.yaml`` or
``*.expectations.yaml``, one test for each expectation; ``--cluster-manifests`` takes manifests instead of a dump.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simkit.analysis.access.expectations import Expectation, Suite, check, read_suite
from simkit.cluster.cluster import Cluster
from simkit.cluster.loading import load
from simkit.meta.errors import SimkitError

_NAME = "expectations.yaml"
_LOADED = pytest.StashKey[Cluster]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command line options that name the cluster under test."""
    group = parser.getgroup("simkit", "access control")
    group.addoption("--cluster", action="append", default=[], metavar="PATH", help="the dump that is tested")
    group.addoption(
        "--cluster-manifests", action="append", default=[], metavar="PATH", help="manifests to test instead of a dump"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect files of expectations, if a cluster under test is named."""
    wanted = file_path.name == _NAME or file_path.name.endswith(f".{_NAME}")
    if not wanted or not _sources(parent.config):
        return None
    made: pytest.Collector = ExpectationFile.from_parent(parent, path=file_path)
    return made


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """A fork of the cluster under test, which the test may change."""
    return _cluster(request.config).fork()


def _sources(config: pytest.Config) -> list[str]:
    return [*config.getoption("--cluster"), *config.getoption("--cluster-manifests")]


def _cluster(config: pytest.Config) -> Cluster:
    """The cluster under test, loaded once."""
    if _LOADED not in config.stash:
        dumps, manifests = config.getoption("--cluster"), config.getoption("--cluster-manifests")
        if bool(dumps) is bool(manifests):
            raise pytest.UsageError("say what the tests are about: --cluster PATH or --cluster-manifests PATH")
        config.stash[_LOADED] = load(dumps or manifests, manifests=bool(manifests))
    return config.stash[_LOADED]


class ExpectationFile(pytest.File):
    """A file of expectations."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test for each expectation. An invalid file is an error of the collection."""
        try:
            suite = read_suite(self.path)
        except SimkitError as wrong:
            raise self.CollectError(str(wrong)) from None
        for each in suite.expectations:
            yield ExpectationItem.from_parent(self, name=each.name, expectation=each)


class ExpectationItem(pytest.Item):
    """One expectation."""

    def __init__(self, *, expectation: Expectation, **more: Any) -> None:
        super().__init__(**more)
        self.expectation = expectation

    def runtest(self) -> None:
        """Run the expectation; fail with the subjects that differ from it."""
        suite = Suite(expectations=(self.expectation,))
        (outcome,) = check(_cluster(self.config).snapshot(), suite)
        if not outcome.passed:
            pytest.fail("\n".join(outcome.failures), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The place of the expectation in its file, for the head of a failure."""
        return self.path, 0, f"expectation: {self.name}"

"""Files of expectations of access as tests: one test for each expectation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simkit.analysis.access.expectations import Expectation, Suite, check, read_suite
from simkit.meta.errors import SimkitError
from simkit.testing.options import loaded_cluster


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
        cluster = loaded_cluster(self.config)
        (outcome,) = check(cluster.snapshot(), suite, sandbox=cluster)
        if not outcome.passed:
            pytest.fail("\n".join(outcome.failures), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The place of the expectation in its file, for the head of a failure."""
        return self.path, 0, f"expectation: {self.name}"

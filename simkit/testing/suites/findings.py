"""The suite of every check of an audit: subclass CheckSuite, say what the check is, and pytest runs it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from simkit.analysis.findings import Audit, Check, audit
from simkit.meta.objects import Object
from simkit.snapshot.memory import MemorySnapshot


class CheckSuite:
    """The promises of the checks of an audit, one test each."""

    def make(self) -> Check:
        """The check."""
        raise NotImplementedError

    def bad(self) -> Sequence[Object]:
        """All objects of a cluster in which the check finds something."""
        raise NotImplementedError

    def good(self) -> Sequence[Object]:
        """All objects of a cluster in which it finds nothing; by default there are none."""
        return ()

    @pytest.fixture
    def check(self) -> Check:
        """The check under test."""
        return self.make()

    def audited(self, check: Check, objects: Sequence[Object]) -> Audit:
        """The audit of some objects by the check alone."""
        return audit(MemorySnapshot(objects, captured=["*"]), checks=[check.id], rules=[check])

    def test_says_why_and_what_to_do(self, check: Check) -> None:
        """Its reason and its advice are sentences, and it has a title."""
        assert check.title
        assert check.why.endswith(".")
        assert check.fix.endswith(".")

    def test_finds_what_is_bad(self, check: Check) -> None:
        """Its findings carry its id, are no worse than it says, and tell the case in a sentence."""
        found = self.audited(check, self.bad())
        assert len(found)
        assert {finding.check for finding in found} == {check.id}
        assert all(finding.severity <= check.severity for finding in found)
        assert all(finding.message.endswith(".") for finding in found)

    def test_finds_the_same_again(self, check: Check) -> None:
        """The same objects have the same findings, in the same order."""
        assert self.audited(check, self.bad()).findings == self.audited(check, self.bad()).findings

    def test_leaves_the_rest_alone(self, check: Check) -> None:
        """It finds nothing where nothing is bad, and nothing in an empty cluster."""
        assert self.audited(check, self.good()).findings == ()
        assert self.audited(check, ()).findings == ()

"""Test suites of the protocols that parts implement, for the parts of simkit and of other packages.

A suite is a class. A subclass says how the part is made, and pytest runs the tests that it inherits::

    class TestTeams(AuthorizerSuite):
        def make(self) -> Authorizer:
            return Teams()
"""

from simkit.testing.suites.admission import AdmissionSuite, review_of
from simkit.testing.suites.authenticators import AuthenticatorSuite, Case
from simkit.testing.suites.authorizers import AuthorizerSuite
from simkit.testing.suites.contexts import FixedContext
from simkit.testing.suites.controllers import ReconcilerSuite, RecordingClient
from simkit.testing.suites.findings import CheckSuite
from simkit.testing.suites.primitives import PrimitiveSuite
from simkit.testing.suites.sandboxes import SandboxSuite
from simkit.testing.suites.snapshots import SnapshotSuite

__all__ = [
    "AdmissionSuite",
    "AuthenticatorSuite",
    "AuthorizerSuite",
    "Case",
    "CheckSuite",
    "FixedContext",
    "PrimitiveSuite",
    "ReconcilerSuite",
    "RecordingClient",
    "SandboxSuite",
    "SnapshotSuite",
    "review_of",
]

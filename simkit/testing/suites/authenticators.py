"""The suite of every authenticator: subclass AuthenticatorSuite, give one with its credentials, and pytest runs it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simkit.meta.errors import StatusError
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials
from simkit.seams import Authenticator

FOREIGN = (
    Credentials(),
    Credentials(headers={"authorization": ("Basic YTpi",)}),
    Credentials(headers={"x-remote-user": ("mallory",)}),
)
"""Credentials that no authenticator takes: none at all, another scheme, and headers without a proxy's certificate."""


@dataclass(frozen=True)
class Case:
    """An authenticator, credentials that it accepts with their identity, and some of its kind that are bad."""

    authenticator: Authenticator
    good: Credentials
    identity: Identity
    bad: tuple[Credentials, ...] = ()
    unknown: tuple[Credentials, ...] = field(default=())
    """Credentials of the right form that it leaves to others."""
    leaves_process: bool = False


class AuthenticatorSuite:
    """The promises of the Authenticator protocol, one test each."""

    @pytest.fixture
    def case(self) -> Case:
        raise NotImplementedError

    def test_accepts_its_own(self, case: Case) -> None:
        """Good credentials give the identity, and give it again."""
        assert case.authenticator.authenticate(case.good) == case.identity
        assert case.authenticator.authenticate(case.good) == case.identity

    def test_leaves_foreign_credentials_to_others(self, case: Case) -> None:
        """Credentials of another kind are no error."""
        assert [case.authenticator.authenticate(each) for each in (*FOREIGN, *case.unknown)] == [None] * (
            len(FOREIGN) + len(case.unknown)
        )

    def test_refuses_bad_ones_with_401(self, case: Case) -> None:
        """Bad credentials of its kind are refused, now and at the next request, and good ones still pass."""
        for each in (*case.bad, *case.bad):
            with pytest.raises(StatusError) as caught:
                case.authenticator.authenticate(each)
            assert caught.value.code == 401
        assert case.authenticator.authenticate(case.good) == case.identity

    def test_says_whether_it_leaves_the_process(self, case: Case) -> None:
        """The declaration is there, as a truth value."""
        assert case.authenticator.leaves_process is case.leaves_process

"""The authorizers of a cluster, and what they mean for requests without credentials."""

from __future__ import annotations

import logging

import pytest

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.meta.errors import StatusError
from simkit.meta.identity import ANONYMOUS
from simkit.meta.message import Credentials


@pytest.mark.parametrize("modes", [("AlwaysAllow",), ("RBAC", "AlwaysAllow")])
def test_always_allow_ends_anonymous_requests(modes: tuple[str, ...], caplog: pytest.LogCaptureFixture) -> None:
    """With AlwaysAllow among the modes, requests without credentials are refused, and the log says so once."""
    with caplog.at_level(logging.WARNING, "simkit.cluster"):
        cluster = Cluster(options=Options(authorization_mode=modes))
        for each in (cluster, cluster.fork()):
            with pytest.raises(StatusError, match="Unauthorized"):
                each.engine.authenticator.authenticate(Credentials())
    assert [record.getMessage().partition(".")[0] for record in caplog.records] == [
        "AnonymousAuth is not allowed with the AlwaysAllow authorizer"
    ]


def test_anonymous_requests_are_as_the_option_says_elsewhere(caplog: pytest.LogCaptureFixture) -> None:
    """With other modes nothing is changed, nor said."""
    cluster = Cluster(options=Options(authorization_mode=("RBAC",)))
    found = cluster.engine.authenticator.authenticate(Credentials())
    assert found is not None
    assert found.user == ANONYMOUS
    closed = Cluster(options=Options(authorization_mode=("AlwaysAllow",), anonymous_auth=False))
    with pytest.raises(StatusError, match="Unauthorized"):
        closed.engine.authenticator.authenticate(Credentials())
    assert not caplog.records

"""Flags of the server that set limits reach the part that keeps them; docs/security.md names the test of each part."""

from __future__ import annotations

import pytest

from simkit.cli.pages import PageParser
from simkit.cli.serve import add_options
from simkit.cli.server_options import server_options, serving_options


@pytest.mark.parametrize(
    ("flag", "text", "name", "value"),
    [
        ("--max-requests-inflight", "7", "max_requests_inflight", 7),
        ("--max-mutating-requests-inflight", "8", "max_mutating_requests_inflight", 8),
        ("--request-timeout", "9s", "request_timeout", 9.0),
        ("--min-request-timeout", "10", "shortest_watch", 10.0),
        ("--event-ttl", "11m", "event_ttl", 660.0),
    ],
)
def test_limits_are_set(flag: str, text: str, name: str, value: float) -> None:
    """A flag's value is that of the option of the same meaning."""
    parser = PageParser()
    add_options(parser)
    args = parser.parse_args([flag, text])
    assert server_options(args).get(name, getattr(serving_options(args), name, None)) == value

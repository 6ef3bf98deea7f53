"""Flags of the server that set limits reach the part that keeps them; docs/security.md names the test of each part."""

from __future__ import annotations

import argparse

import pytest

from simkit.cli import object_flags, request_flags


def _parsed(*flags: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    request_flags.add_arguments(parser)
    object_flags.add_arguments(parser)
    return parser.parse_args(flags)


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
    args = _parsed(flag, text)
    found = {**request_flags.options(args), **request_flags.times(args), **object_flags.options(args)}
    assert found[name] == value

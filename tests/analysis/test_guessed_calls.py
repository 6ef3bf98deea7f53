"""Calls that people guess are led to the right ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import simkit
from simkit.analysis.history.access_history import AccessHistory

PAST: Any = object.__new__(AccessHistory)


@pytest.fixture(scope="module")
def demo() -> Any:
    """The demo cluster."""
    return simkit.demo()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda _: PAST.who_can("create", "pods", namespace="x"), "missing a required argument: 'at'"),
        (lambda _: PAST.who_can("create", "pods", at="2026-01-01", nmespace="x"), "did you mean namespace"),
        (lambda _: PAST.at("2026-01-01"), r"write moment\(time\)"),
        (lambda demo: demo.escalations(group="devs"), r"; write subject='group:devs' \(it has"),
        (lambda demo: demo.can("alice", "get", "pods", group="devs"), "did you mean groups"),
        (lambda demo: demo.audit().plot("x.png"), "cannot be the str 'x.png'; write .plot.*savefig"),
        (lambda demo: demo.audit().plot(to="x.png"), "no argument 'to'; write .plot.*savefig"),
        (lambda demo: demo.exposure().plot(to="x.png"), "savefig"),
        (lambda demo: demo.exposure().plot("x.png"), "savefig"),
        (lambda demo: demo.escalations("group:oidc:helpdesk").filter(), "write to_frame.*query"),
        (lambda demo: demo.what_if().lost(), r"write compare\(\)"),
    ],
)
def test_the_right_call_is_told(call: Callable[[Any], object], told: str, demo: Any) -> None:
    """By the error of the guessed one."""
    with pytest.raises((AttributeError, TypeError), match=told):
        call(demo)


def test_a_kind_with_a_name_takes_the_namespace_next(demo: Any) -> None:
    """As on the command line: ``RoleBinding/deploy billing``."""
    assert demo.get("RoleBinding/deploy", "billing")["metadata"]["namespace"] == "billing"
    assert demo.what_if().delete("RoleBinding/deploy", "billing")["status"] == "Success"

"""Pod security levels from the labels of a namespace."""

from __future__ import annotations

import pytest

from simkit.logic.podsecurity.policy import LevelVersion, Policy, exempt_namespace_warning, policy_of
from tests.releases import BASE

PREFIX = "pod-security.kubernetes.io/"


def test_labels_set_a_level_and_a_version_for_each_mode() -> None:
    """Each mode has labels of its own; what is not said stays as it is by default."""
    policy, errors = policy_of(
        {PREFIX + "enforce": "baseline", PREFIX + "warn": "restricted", PREFIX + "warn-version": "v1.24"}
    )
    assert errors == []
    assert (str(policy.enforce), str(policy.audit), str(policy.warn)) == (
        "baseline:latest",
        "privileged:latest",
        "restricted:v1.24",
    )


@pytest.mark.parametrize(
    ("mode", "level"), [("enforce", "restricted"), ("audit", "privileged"), ("warn", "privileged")]
)
def test_a_wrong_level_fails_closed_where_it_is_enforced(mode: str, level: str) -> None:
    """A misspelled enforced level counts as restricted; a misspelled warning level warns of nothing."""
    policy, [error] = policy_of({PREFIX + mode: "loose"})
    assert getattr(policy, mode).level == level
    assert error.told(BASE) == (
        f'metadata.labels[{PREFIX}{mode}]: Invalid value: "loose": must be one of privileged, baseline, restricted'
    )


@pytest.mark.parametrize("version", ["v1.01", "1.24", "v2.0", "newest", "v1.-1"])
def test_a_wrong_version_means_the_latest(version: str) -> None:
    """Versions are ``latest`` or ``v1.x`` without leading zeros."""
    policy, [error] = policy_of({PREFIX + "enforce": "baseline", PREFIX + "enforce-version": version})
    assert policy.enforce == LevelVersion("baseline", None)
    assert error.detail == 'must be "latest" or "v1.x"'


def test_an_exempt_namespace_is_told_what_is_ignored() -> None:
    """Only modes that the labels themselves demand something of are listed."""
    labels = {PREFIX + "enforce": "baseline", PREFIX + "audit": "privileged"}
    text = exempt_namespace_warning("sys", Policy(enforce=LevelVersion("baseline")), labels)
    assert (
        text == 'namespace "sys" is exempt from Pod Security, and the policy (enforce=baseline:latest) will be ignored'
    )

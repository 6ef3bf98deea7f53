"""Audit policies: which rule decides about a request, and what is wrong with a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.engine.pipeline.audit.policy import Policy, load, parse
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity

ANN = Identity("ann", ("devs", "system:authenticated"), "7")
HEAD = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}


def choice(rule: dict[str, Any], target: RequestInfo, identity: Identity | None = ANN) -> bool:
    policy = Policy.model_validate({"rules": [{"level": "Metadata", **rule}]})
    return policy.choice(target, identity).level == "Metadata"


LOG_OF_POD = RequestInfo("/x", "get", True, "", "v1", "pods", "log", "ns", "p")
HEALTH = RequestInfo("/healthz/ping", "get")


@pytest.mark.parametrize(
    ("rule", "target", "fits"),
    [
        ({}, LOG_OF_POD, True),
        ({"users": ["ann"]}, LOG_OF_POD, True),
        ({"users": ["bob"]}, LOG_OF_POD, False),
        ({"userGroups": ["devs", "ops"]}, LOG_OF_POD, True),
        ({"userGroups": ["ops"]}, LOG_OF_POD, False),
        ({"verbs": ["get"]}, LOG_OF_POD, True),
        ({"verbs": ["list"]}, LOG_OF_POD, False),
        ({"namespaces": ["ns"]}, LOG_OF_POD, True),
        ({"namespaces": [""]}, LOG_OF_POD, False),
        ({"resources": [{"group": ""}]}, LOG_OF_POD, True),
        ({"resources": [{"group": "apps"}]}, LOG_OF_POD, False),
        ({"resources": [{"group": "", "resources": ["pods"]}]}, LOG_OF_POD, False),
        ({"resources": [{"group": "", "resources": ["pods/log"]}]}, LOG_OF_POD, True),
        ({"resources": [{"group": "", "resources": ["pods/*"]}]}, LOG_OF_POD, True),
        ({"resources": [{"group": "", "resources": ["*/log"]}]}, LOG_OF_POD, True),
        ({"resources": [{"group": "", "resources": ["*"], "resourceNames": ["q"]}]}, LOG_OF_POD, False),
        ({"resources": [{"group": ""}]}, HEALTH, False),
        ({"nonResourceURLs": ["/healthz*"]}, HEALTH, True),
        ({"nonResourceURLs": ["/healthz"]}, HEALTH, False),
        ({"nonResourceURLs": ["*"]}, LOG_OF_POD, False),
    ],
)
def test_rules(rule: dict[str, Any], target: RequestInfo, fits: bool) -> None:
    """Everything that a rule names must fit."""
    assert choice(rule, target) is fits


def test_unknown_senders_fit_only_rules_without_people() -> None:
    """A request that nobody was found for fits no rule about users or groups."""
    assert choice({}, HEALTH, None)
    assert not choice({"users": ["ann"]}, HEALTH, None)
    assert not choice({"userGroups": ["devs"]}, HEALTH, None)


LEVELS = st.sampled_from(["None", "Metadata", "Request", "RequestResponse"])
RULES = st.lists(st.tuples(LEVELS, st.sampled_from(["get", "list", "create"])), max_size=5)


@settings(max_examples=60)
@given(RULES, st.sampled_from(["get", "list", "create", "delete"]))
def test_the_first_rule_decides(rules: list[tuple[str, str]], verb: str) -> None:
    """The level is that of the first rule for the verb, and None without one."""
    policy = Policy.model_validate({"rules": [{"level": level, "verbs": [known]} for level, known in rules]})
    wanted = next((level for level, known in rules if known == verb), "None")
    assert policy.choice(RequestInfo("/", verb), ANN).level == wanted


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ({"rules": [{}]}, "rules[0].level: Required value"),
        ({"rules": [{"level": "All"}]}, 'rules[0].level: Unsupported value: "All"'),
        ({"rules": []}, "loaded illegal policy with 0 rules"),
        (
            {"rules": [{"level": "None", "nonResourceURLs": ["x"]}]},
            "non-resource URL rules must begin with a '/' character",
        ),
        (
            {"rules": [{"level": "None", "nonResourceURLs": ["/a*b"]}]},
            "non-resource URL wildcards '*' must be the final character of the rule",
        ),
        (
            {"rules": [{"level": "None", "nonResourceURLs": ["/a"], "namespaces": ["x"]}]},
            "rules cannot apply to both regular resources and non-resource URLs",
        ),
        (
            {"rules": [{"level": "None", "resources": [{"resourceNames": ["a"]}]}]},
            "using resourceNames requires at least one resource",
        ),
        ({"rules": [{"level": "None", "resources": [{"group": "A_"}]}]}, "rules[0].resources[0].group: Invalid value"),
        (
            {"rules": [{"level": "None"}], "omitStages": ["Never"]},
            "allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic",
        ),
        ({"rules": "x"}, "failed decoding"),
    ],
)
def test_policies_that_are_wrong(policy: dict[str, Any], why: str) -> None:
    """A policy says what is wrong with it, in kube-apiserver's words."""
    with pytest.raises(SimkitError) as caught:
        parse({**HEAD, **policy})
    assert why in str(caught.value)


def test_policy_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A policy is read from YAML; unknown fields are passed over with a warning; other kinds are refused."""
    path = tmp_path / "policy.yaml"
    path.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: None\n  colour: red\n")
    assert load(path).rules[0].level == "None"
    assert "colour" in caplog.text
    path.write_text("apiVersion: v1\nkind: Pod\n")
    with pytest.raises(SimkitError, match=r"use audit\.k8s\.io/v1 Policy"):
        load(path)
    with pytest.raises(SimkitError, match="failed to read file path"):
        load(tmp_path / "absent")

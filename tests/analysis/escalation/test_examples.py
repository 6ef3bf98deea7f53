"""Objects of custom resources are filled in as their definitions want them."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.escalation import next_steps
from simkit.analysis.escalation.prove.required_requests import fitting, schema_of
from tests.analysis.escalation.scenes import ATTACKER, scene, served
from tests.analysis.worlds import account, namespace, role, rule

GROUP = "kustomize.toolkit.fluxcd.io"
SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["interval", "engine", "steps"],
    "properties": {
        "interval": {"type": "string", "pattern": "^([0-9]+(ms|s|m|h))+$"},
        "engine": {"type": "string", "enum": ["fast", "slow"]},
        "steps": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["name"], "properties": {}}},
        "path": {"type": "string"},
    },
}


def definition(spec: dict[str, Any]) -> dict[str, Any]:
    """The definition of Flux' kustomizations, with another specification."""
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"kustomizations.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "kustomizations", "singular": "kustomization", "kind": "Kustomization"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@pytest.mark.parametrize(
    ("schema", "given", "made"),
    [
        ({"type": "string", "default": "a"}, None, "a"),
        ({"type": "string", "format": "date-time"}, None, "2024-01-01T00:00:00Z"),
        ({"type": "string", "minLength": 7}, None, "proofxx"),
        ({"type": "integer"}, None, 1),
        ({"type": "boolean"}, None, False),
        ({"x-kubernetes-int-or-string": True}, None, 1),
        ({"type": "array", "items": {"type": "string"}}, None, []),
        ({"type": "array", "items": {"required": ["a"], "type": "object"}}, [{}], [{"a": {}}]),
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}, {"a": "kept"}, {"a": "kept"}),
        ({"type": "object", "minProperties": 1, "properties": {"a": {"type": "boolean"}}}, {}, {"a": False}),
        (SPEC, None, {"interval": "1m", "engine": "fast", "steps": [{"name": {}}]}),
    ],
)
def test_values_fit_their_schema(schema: dict[str, Any], given: Any, made: Any) -> None:
    """Given values stay, required values are made, and the rest is left out."""
    assert fitting(schema, given) == made


def test_a_deputy_is_commanded_by_an_object_that_its_definition_lets_in() -> None:
    """The prepared object lacks what this version of the definition wants."""
    spec = {**SPEC, "properties": {**SPEC["properties"], "steps": {"type": "array", "items": {"type": "object"}}}}
    cluster = served(
        *(definition(spec), namespace("flux-system"), account("flux-system", "kustomize-controller")),
        role("admins", rule("*", "*", groups="*")),
        *scene(rule("create", "kustomizations", groups=GROUP)),
    )
    resource = catalogue_of(cluster.snapshot()).lookup("kustomizations")
    assert schema_of(cluster.snapshot(), resource)["required"] == ["spec"]
    [path] = [path for path in next_steps(cluster.snapshot(), ATTACKER) if "J1" in path.primitives]
    assert path.prove(cluster).proven

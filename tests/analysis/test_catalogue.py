"""The resources that analyses know of a cluster."""

from __future__ import annotations

from simkit import Cluster
from simkit.analysis import policy_coverage, webhook_coverage
from simkit.analysis.catalogue import catalogue_of
from simkit.schema.catalogue import Catalogue

_DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing}
  versions:
  - {name: v2, served: true, storage: true, schema: &schema {openAPIV3Schema: {type: object}}}
  - {name: v1, served: true, storage: false, schema: *schema}
  - {name: v0, served: false, storage: false, schema: *schema}
"""
_RULES = "[{apiGroups: [example.com], apiVersions: ['*'], operations: ['*'], resources: ['*']}]"
_POLICY = f"""
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: nothing}}
spec: {{matchConstraints: {{resourceRules: {_RULES}}}, validations: [{{expression: 'false'}}]}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: nothing}}
spec: {{policyName: nothing, validationActions: [Audit]}}
"""
_WEBHOOK = f"""
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{name: asked}}
webhooks:
- name: asked.example.com
  clientConfig: {{url: 'https://asked.example.com'}}
  rules: {_RULES}
  admissionReviewVersions: [v1]
  sideEffects: None
"""


def _cluster() -> Cluster:
    made = Cluster(seed=1)
    made.apply(_DEFINITION)
    made.apply("{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}")
    return made


def test_what_is_stored() -> None:
    """Analyses and server know the same stored resources, in the same versions, custom ones included."""
    made = _cluster()
    stored = [{each.storage: each.storage_gvk for each in catalogue.stored()} for catalogue in _catalogues(made)]
    assert stored[0] == stored[1]


def _catalogues(made: Cluster) -> tuple[Catalogue, Catalogue]:
    return catalogue_of(made.snapshot()), made.engine.catalogue


def test_policies_and_webhooks_that_match_custom_objects() -> None:
    """Coverage counts custom objects: they are written as all others are."""
    made = _cluster()
    made.apply(_POLICY)
    assert list(policy_coverage(made.snapshot())["name"]) == ["a"]
    made.apply(_WEBHOOK)
    assert list(webhook_coverage(made.snapshot())["name"]) == ["a"]

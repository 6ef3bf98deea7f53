"""Objects rewritten for a release: another version, the same meaning, and what is left to a person."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.logic.migration import migrate_object, rewrite

CRD = "apiextensions.k8s.io/v1beta1"


def obj(kind: str, api_version: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **more}


def test_old_defaults_are_written_down() -> None:
    """A Deployment keeps what its old version meant by leaving fields out."""
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {}}
    found = migrate_object(obj("Deployment", "extensions/v1beta1", spec={"template": template}), "1.16").object["spec"]
    assert found["selector"] == {"matchLabels": {"app": "a"}}
    assert found["strategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 1}


def test_no_field_is_added_that_no_manifest_has() -> None:
    """Annotations and status that only servers write stay out."""
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {}}
    found = migrate_object(obj("DaemonSet", "extensions/v1beta1", spec={"template": template}), "1.16").object
    assert "annotations" not in found["metadata"]
    assert "status" not in migrate_object(obj("CustomResourceDefinition", CRD, spec={"version": "v1"}), "1.22").object


def test_decisions_for_a_person() -> None:
    """Kinds without a successor, side effects and signers are left to somebody."""
    assert "no successor" in migrate_object(obj("PodSecurityPolicy", "policy/v1beta1"), "1.25").person[0]
    hook = obj("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1beta1", webhooks=[{"name": "h"}])
    assert "sideEffects is Unknown" in migrate_object(hook, "1.22").person[0]
    hook["webhooks"] = [{"name": "h", "sideEffects": "None"}]
    assert not migrate_object(hook, "1.22").person
    request = obj("CertificateSigningRequest", "certificates.k8s.io/v1beta1", spec={"request": "YQ=="})
    assert "signer" in migrate_object(request, "1.22").person[0]


def test_definitions_in_protected_groups() -> None:
    """A definition in a group of the Kubernetes project needs an approval, which only a person can give."""
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": "test.k8s.io", "version": "v1", "names": names, "scope": "Namespaced"}
    head = {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition"}
    meta: dict[str, object] = {"name": "things.test.k8s.io"}
    made = {**head, "metadata": meta, "spec": spec}
    assert "set the annotation api-approved.kubernetes.io" in migrate_object(made, "1.22").person[0]
    approved = {"annotations": {"api-approved.kubernetes.io": "unapproved, experimental-only"}}
    assert not migrate_object({**made, "metadata": {**meta, **approved}}, "1.22").person
    assert not migrate_object({**made, "spec": {**spec, "group": "test.example.com"}}, "1.22").person


def test_fields_that_would_be_lost() -> None:
    """A field that the old version does not know is not dropped silently."""
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    }
    scaler = obj("HorizontalPodAutoscaler", "autoscaling/v2beta1", spec={"maxReplicas": 1, "metrics": [metric]})
    found = migrate_object(scaler, "1.25")
    assert not found.changed
    assert 'unknown field "spec.metrics[0].resource.target"' in found.person[0]


def test_references() -> None:
    """The target of an autoscaler follows its kind to where it is."""
    target = {"apiVersion": "extensions/v1beta1", "kind": "Deployment", "name": "web"}
    found = migrate_object(obj("HorizontalPodAutoscaler", "autoscaling/v1", spec={"scaleTargetRef": target}), "1.30")
    assert found.object["spec"]["scaleTargetRef"]["apiVersion"] == "apps/v1"


def test_an_output_version() -> None:
    """A version can be asked for that is not the only one left."""
    job = obj("CronJob", "batch/v1beta1", spec={})
    assert not migrate_object(job, "1.22").changed
    assert migrate_object(job, "1.22", output_version="batch/v1").object["apiVersion"] == "batch/v1"


def test_texts_keep_what_is_not_concerned() -> None:
    """Comments, quotes, order and other documents stay byte for byte."""
    text = (
        "# first\n---\napiVersion: v1\nkind: Service   # mine\nmetadata: {name: 'a'}\n"
        '---\n# second\nkind: Ingress\napiVersion: networking.k8s.io/v1beta1 # old\nmetadata:\n    name: "web"\nspec:\n    # all of it\n'
        "    backend:\n        serviceName: 'web'   # the service\n        servicePort: 80\n---\napiVersion: example.com/v1\nkind: Thing\n"
    )
    found = rewrite(text, "1.22")
    assert found.text == text.replace("networking.k8s.io/v1beta1", "networking.k8s.io/v1").replace(
        "    backend:\n        serviceName: 'web'   # the service\n        servicePort: 80\n",
        "    # the service\n    defaultBackend:\n        service:\n            name: web\n            port:\n                number: 80\n",
    )


def test_templates_as_far_as_they_are_plain() -> None:
    """A template gets another version where that is all that changes; otherwise a person is asked."""
    job = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata:\n  name: {{ .Release.Name }}\n"
    assert rewrite(job, "1.25").text == job.replace("v1beta1", "v1")
    ingress = rewrite("apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata:\n  name: {{ .Release.Name }}\n", "1.22")
    assert "render the template" in ingress.documents[0].migrated.person[0]
    chosen = rewrite("apiVersion: {{ .Values.version }}\nkind: Ingress\n", "1.22")
    assert "depends on values" in chosen.documents[0].migrated.person[0]


def test_lists_and_json() -> None:
    """Items of lists are rewritten, also in JSON."""
    text = '{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": [\n    {\n      "apiVersion": "batch/v1beta1",\n      "kind": "CronJob"\n    }\n  ]\n}\n'
    assert rewrite(text, "1.25").text == text.replace("v1beta1", "v1")
    yaml = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: batch/v1beta1\n  kind: CronJob\n- kind: Other\n  apiVersion: a/v1\n"
    assert rewrite(yaml, "1.25").text == yaml.replace("v1beta1", "v1")


NAMES = st.sampled_from(["a", "on", "1", "yes", "0x1", "null", "-", "a: b", "#c", "\u00e9"])
KEYS = st.sampled_from(["a", "b", "spec", "serviceName", "example.com/key", "a-b"])
VALUES = st.recursive(
    st.one_of(NAMES, st.integers(-5, 5), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(
    old=st.dictionaries(KEYS, VALUES, min_size=1, max_size=4),
    new=st.dictionaries(KEYS, VALUES, min_size=1, max_size=4),
)
def test_a_rewritten_text_says_what_is_wanted(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Whatever a document says, and shall say, it says that afterwards."""
    import yaml

    from simkit.language.yaml.decode import decode
    from simkit.language.yaml.roundtrip import rewritten

    text = yaml.safe_dump(old, sort_keys=False, allow_unicode=True)
    assert decode(rewritten(text, new)) == new


@pytest.mark.parametrize("metadata", [[1], "a", {"name": "a", "annotations": ["x"]}])
def test_metadata_of_a_wrong_type_is_left_to_a_person(metadata: Any) -> None:
    """An object that no server takes is told, and not rewritten."""
    found = migrate_object({"apiVersion": "extensions/v1beta1", "kind": "Ingress", "metadata": metadata}, "1.33")
    assert not found.changed
    assert found.person[0].endswith(", not an object, so it cannot be rewritten")


@pytest.mark.parametrize(
    "obj",
    [
        {
            "apiVersion": "admissionregistration.k8s.io/v1beta1",
            "kind": "ValidatingWebhookConfiguration",
            "webhooks": "x",
        },
        {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "spec": {"names": "x"}},
        {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "spec": {"versions": [7]}},
    ],
)
def test_fields_of_a_wrong_type_are_left_to_a_person(obj: Any) -> None:
    """Nothing of them is dropped."""
    found = migrate_object({**obj, "metadata": {"name": "a"}}, "1.33")
    assert not found.changed
    assert "so it cannot be rewritten" in found.person[0]

"""Whole templates in refusals."""

from __future__ import annotations

from simkit.kinds.parts.go_printing.structures import structure, template_text
from simkit.meta.fielderror import invalid_value, show
from simkit.meta.wording import told
from simkit.schema.behaviour import default_behaviour

BASE = default_behaviour("1.30")


def test_a_template_is_printed_whole() -> None:
    """As the server's language prints the structure: references only as being there or not."""
    container = {"name": "c", "image": "i", "command": ["a"], "resources": {"limits": {"cpu": "1"}}, "tty": True}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 30, "volumes": [{"name": "v", "nfs": {}}]}
    text = template_text({"metadata": {"labels": {"a": "b"}}, "spec": spec}).told(BASE)
    assert text.startswith('core.PodTemplateSpec{ObjectMeta:v1.ObjectMeta{Name:"", GenerateName:"", ')
    assert "CreationTimestamp:time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC), DeletionTimestamp:<nil>" in text
    assert 'Labels:map[string]string{"a":"b"}, Annotations:map[string]string(nil)' in text
    assert 'Containers:[]core.Container{core.Container{Name:"c", Image:"i", Command:[]string{"a"}' in text
    assert 'Limits:core.ResourceList{"cpu":resource.Quantity{i:resource.int64Amount{value:1, scale:0}' in text
    assert "TerminationGracePeriodSeconds:(*int64)(0xc000000000), ActiveDeadlineSeconds:(*int64)(nil)" in text
    assert 'core.Volume{Name:"v", VolumeSource:core.VolumeSource{HostPath:(*core.HostPathVolumeSource)(nil)' in text
    assert "NFS:(*core.NFSVolumeSource)(0xc000000000)" in text
    assert text.endswith("ResourceClaims:[]core.PodResourceClaim(nil)}}")


def test_other_structures() -> None:
    """An empty list is not an absent one."""
    assert structure("batch.PodFailurePolicy", {"rules": []}).told(BASE) == (
        "batch.PodFailurePolicy{Rules:[]batch.PodFailurePolicyRule{}}"
    )


def test_structures_are_json_since_1_34() -> None:
    """With the names of Go's fields, all of them; types that are the same outside keep their own form."""
    later = default_behaviour("1.34")
    error = invalid_value("spec.t", structure("core.Toleration", {"key": "a", "tolerationSeconds": 5}), "no")
    assert error.body(later) == (
        'Invalid value: {"Key":"a","Operator":"","Value":"","Effect":"","TolerationSeconds":5}: no'
    )
    owner = structure("v1.OwnerReference", {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"})
    template = template_text({"spec": {}})
    assert told(show(owner), later) == '{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}'
    assert '"Resources":null,"HostnameOverride":null}' in told(show(template), later)
    assert "HostnameOverride" not in told(show(template), BASE)

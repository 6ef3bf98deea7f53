"""Field selectors take the labels that the release's resources take, and refuse others in its words."""

from __future__ import annotations

import pytest

from simkit.meta.fields import BadFieldSelector, FieldSelector, Term
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.field_labels import field_labels

CATALOGUE = Catalogue.for_release("1.30", everything=True)


def checked(resource: Resource, label: str) -> str:
    """The label that a selector on this one asks for."""
    selector = FieldSelector((Term(label, "x", True),))
    return field_labels(resource).checked(selector, resource.kind).terms[0].field


@pytest.mark.parametrize(
    ("word", "label", "meant"),
    [
        ("pods", "spec.nodeName", "spec.nodeName"),
        ("pods", "spec.host", "spec.nodeName"),
        ("configmaps", "metadata.name", "metadata.name"),
        ("clusterroles", "metadata.namespace", "metadata.namespace"),
        ("secrets", "type", "type"),
        ("events.events.k8s.io", "regarding.kind", "involvedObject.kind"),
        ("jobs", "status.successful", "status.successful"),
    ],
)
def test_labels_are_taken_and_translated(word: str, label: str, meant: str) -> None:
    """Labels of the data are accepted; other spellings mean the stored version's."""
    assert checked(CATALOGUE.lookup(word), label) == meant


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("configmaps", '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        ("pods", "field label not supported: spec.x"),
        ("jobs", 'field label "spec.x" not supported for Job'),
        ("resourceslices", "field label not supported for resource.k8s.io/v1alpha2, Kind=ResourceSlice: spec.x"),
    ],
)
def test_other_labels_are_refused_in_words_of_their_own(word: str, error: str) -> None:
    """Each resource has its sentence."""
    with pytest.raises(BadFieldSelector) as caught:
        checked(CATALOGUE.lookup(word), "spec.x")
    assert str(caught.value) == error


@pytest.mark.parametrize("word", ["configmaps", "pods", "jobs", "resourceslices"])
def test_labels_of_any_letters_are_told(word: str) -> None:
    """A percent sign in a label is a letter like others; Go's %q escapes what cannot be printed."""
    with pytest.raises(BadFieldSelector, match="100%s"):
        checked(CATALOGUE.lookup(word), "100%s")
    with pytest.raises(BadFieldSelector, match=r'^"\\x05" is not'):
        checked(CATALOGUE.lookup("configmaps"), "\x05")


def test_custom_resources_take_names_alone() -> None:
    """Without selectable fields a custom resource is selected by name and namespace, or name alone without one."""
    widgets = Resource("example.com", "v1", "widgets", "Widget", custom=True)
    assert checked(widgets, "metadata.namespace") == "metadata.namespace"
    with pytest.raises(BadFieldSelector, match=r"field label not supported: spec\.x"):
        checked(widgets, "spec.x")
    gadgets = Resource("example.com", "v1", "gadgets", "Gadget", custom=True, namespaced=False)
    assert checked(gadgets, "metadata.name") == "metadata.name"
    with pytest.raises(BadFieldSelector):
        checked(gadgets, "metadata.namespace")

"""The catalogue finds resources by path, kind and word, and makes other catalogues."""

from __future__ import annotations

import pytest

from simkit.meta.errors import SimkitError, UnknownResource
from simkit.meta.names import GroupResource, GroupVersionKind
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.structural import Schema

CATALOGUE = Catalogue.for_release("1.30")


def test_a_path_finds_its_resource() -> None:
    """Group, version and plural name one resource; anything else names none."""
    pods = CATALOGUE.find("", "v1", "pods")
    assert pods is not None
    assert pods.gvk == GroupVersionKind("", "v1", "Pod")
    assert pods.subresource_gvk("eviction") == GroupVersionKind("policy", "v1", "Eviction")
    assert pods.subresource_gvk("status") == pods.gvk
    assert CATALOGUE.find("", "v1", "Pods") is None
    assert CATALOGUE.find("apps", "v1beta1", "deployments") is None


NAMES = ("deployments", "deployment", "deploy", "Deployment", "DEPLOY")
QUALIFIED = ("deployments.apps", "deploy.apps", "deployments.v1.apps", "Deployment.v1.apps")


@pytest.mark.parametrize("word", [*NAMES, *QUALIFIED])
def test_lookup_takes_every_name(word: str) -> None:
    """Plural, singular, short name and kind work alone or qualified, in any case."""
    assert CATALOGUE.lookup(word).gvr == ("apps", "v1", "deployments")


def test_lookup_prefers_the_first_group_and_version() -> None:
    """A word of two groups means the first in server order, in the preferred version."""
    assert CATALOGUE.lookup("events").group == ""
    assert CATALOGUE.lookup("events.events.k8s.io").group == "events.k8s.io"
    assert CATALOGUE.lookup("hpa").version == "v2"
    assert CATALOGUE.lookup("hpa.v1.autoscaling").version == "v1"


def test_lookup_suggests_near_names() -> None:
    """An unknown word is refused with the names that it may have meant."""
    with pytest.raises(UnknownResource, match="did you mean 'deployments'"):
        CATALOGUE.lookup("deploymnets")


def test_groups_come_in_server_order() -> None:
    """The core group is first, and versions start with the preferred one."""
    groups = CATALOGUE.groups()
    assert [group.name for group in groups[:4]] == ["", "apiregistration.k8s.io", "apps", "events.k8s.io"]
    autoscaling = CATALOGUE.group("autoscaling")
    assert autoscaling is not None
    assert autoscaling.versions == ("v2", "v1")
    preferred = CATALOGUE.preferred(GroupResource("autoscaling", "horizontalpodautoscalers"))
    assert preferred is not None
    assert preferred.version == autoscaling.preferred


def test_stored_forms_are_shared_where_the_server_shares_them() -> None:
    """Both kinds of events are one store; reviews are stored nowhere."""
    events = CATALOGUE.find("events.k8s.io", "v1", "events")
    assert events is not None
    assert events.storage_gvk == GroupVersionKind("", "v1", "Event")
    assert events.storage == GroupResource("", "events")
    hpa = CATALOGUE.find("autoscaling", "v1", "horizontalpodautoscalers")
    assert hpa is not None
    assert hpa.storage_version == "v2"
    assert not CATALOGUE.lookup("selfsubjectaccessreview").stored
    places = [resource.storage for resource in CATALOGUE.stored()]
    assert len(places) == len(set(places))


def test_resources_off_by_default_are_known_but_not_served() -> None:
    """The whole catalogue has alpha resources, the default one does not."""
    everything = Catalogue.for_release("1.30", everything=True)
    assert everything.find("resource.k8s.io", "v1alpha2", "resourceclaims") is not None
    assert CATALOGUE.find("resource.k8s.io", "v1alpha2", "resourceclaims") is None
    assert everything.schema(GroupVersionKind("resource.k8s.io", "v1alpha2", "ResourceClaim")).fields["spec"]


def test_unknown_releases_are_refused() -> None:
    """A release without tables is an error that names the known ones."""
    with pytest.raises(SimkitError, match=r"the known releases are 1\.16 to"):
        Catalogue.for_release("1.2")


def test_custom_resources_join_in_with_their_schemas() -> None:
    """Added resources are found like the others; their groups come last, by name, and the origin is unchanged."""
    widget = Resource("example.com", "v1beta1", "widgets", "Widget", "widget", ("wd",), custom=True)
    stable = Resource("example.com", "v1", "widgets", "Widget", "widget", ("wd",), custom=True)
    other = Resource("a.example.com", "v1", "gadgets", "Gadget", "gadget")
    schema = Schema({"type": "object", "fields": {"spec": {"type": "object"}}}, CATALOGUE.definition)
    extended = CATALOGUE.with_resources([widget, stable, other], lambda gvk: schema)
    assert extended.lookup("wd") == stable
    assert extended.schema(widget.gvk) is schema
    assert [group.name for group in extended.groups()[-2:]] == ["a.example.com", "example.com"]
    assert extended.groups()[-1].versions == ("v1", "v1beta1")
    assert CATALOGUE.find("example.com", "v1", "widgets") is None


def test_without_takes_resources_away() -> None:
    """A group whose last resource went is gone too."""
    fewer = CATALOGUE.without(lambda resource: resource.group == "batch")
    assert fewer.group("batch") is None
    assert fewer.resources("batch") == []
    with pytest.raises(UnknownResource):
        fewer.lookup("cronjobs")
    assert CATALOGUE.lookup("cronjobs").kind == "CronJob"


def test_every_resource_has_a_schema() -> None:
    """Each kind of the release, with those of its subresources that take objects, resolves to a definition."""
    everything = Catalogue.for_release("1.30", everything=True)
    for resource in everything.resources():
        assert everything.schema(resource.gvk).fields["metadata"].go_type == "ObjectMeta", resource
        if resource.stored:
            assert everything.schema(resource.storage_gvk)


def test_nodes_are_made_once() -> None:
    """Two ways to the same definition end at the same node."""
    pod = CATALOGUE.schema(GroupVersionKind("", "v1", "Pod"))
    assert pod.fields["spec"].fields["containers"].items is not None
    assert CATALOGUE.schema(GroupVersionKind("", "v1", "Pod")) is pod
    assert CATALOGUE.definition("io.k8s.api.core.v1.Pod") is pod

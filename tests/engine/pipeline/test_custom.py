"""Custom resources on a server: served at once, in all their versions, gone with their definition."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options
from simkit.meta.errors import StatusError, UnknownResource
from simkit.meta.message import Request, Response
from simkit.meta.objects import at, name_of
from tests.shared import SHARED, needs_shared

Body = dict[str, Any]
MERGE = "application/merge-patch+json"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


def _version(name: str = "v1", *, storage: bool = True, spec: Mapping[str, Any] | None = None, **more: Any) -> Body:
    fields = {"spec": {"type": "object", "properties": dict(spec or {"a": {"type": "string"}})}}
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}, "replicas": {"type": "integer"}}}
    schema = {"type": "object", "properties": {**fields, "status": status}}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}, **more}


def _definition(*versions: Body, plural: str = "widgets", kind: str = "Widget", **spec: Any) -> Body:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": list(versions or [_version()]),
            **spec,
        },
    }


def _widget(name: str = "w", version: str = "v1", **spec: Any) -> Body:
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def _ask(cluster: Any, method: str, path: str, body: Any = None, media: str = "application/json") -> Response:
    answer: Response = cluster.perform(Request.of(method, path, body, content_type=media))
    return answer


@pytest.fixture
def cluster() -> simkit.Cluster:
    return simkit.Cluster(seed=1)


def test_a_definition_is_served_when_its_creation_is_answered(cluster: simkit.Cluster) -> None:
    """The next request finds the resource, in discovery and by its short name too."""
    made = cluster.create(_definition(names={"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]}))
    assert made["status"]["conditions"] is None
    assert cluster.create(_widget(a="x"))["metadata"]["generation"] == 1
    assert cluster.get("wd", "w")["spec"] == {"a": "x"}
    assert "example.com" in [group["name"] for group in _ask(cluster, "GET", "/apis").object["groups"]]
    stored = cluster.get("crd", "widgets.example.com")
    assert [each["type"] for each in stored["status"]["conditions"]] == ["NamesAccepted", "Established"]


def test_versions_differ_in_label_and_fields(cluster: simkit.Cluster) -> None:
    """With the strategy None an object has the fields that the stored version and the one that is read both know.

    It gets the defaults of the version that it is stored in, as on kube-apiserver.
    """
    newer = _version("v2", storage=False, spec={"a": {"type": "string"}, "c": {"type": "string", "default": "d"}})
    cluster.create(
        _definition(_version(spec={"a": {"type": "string"}, "b": {"type": "string", "default": "e"}}), newer)
    )
    cluster.create(_widget(a="1"))
    path = WIDGETS.replace("v1", "v2")
    assert _ask(cluster, "GET", path + "/w").object["spec"] == {"a": "1"}
    made = _ask(cluster, "POST", path, _widget("x", "v2", a="2", c="3"))
    assert (made.object["apiVersion"], made.object["spec"]) == ("example.com/v2", {"a": "2"})
    assert _ask(cluster, "GET", WIDGETS + "/x").object["spec"] == {"a": "2", "b": "e"}


def test_an_object_is_checked_in_the_version_of_its_request(cluster: simkit.Cluster) -> None:
    """A field that only the other version demands is demanded there, although the store does not keep it."""
    strict = _version("v2", storage=False, spec={"c": {"type": "string"}})
    strict["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"] = ["c"]
    cluster.create(_definition(_version(), strict))
    path = WIDGETS.replace("v1", "v2")
    assert _ask(cluster, "POST", path, _widget("x", "v2")).status == 422
    assert _ask(cluster, "POST", path, _widget("x", "v2", c="1")).status == 201


def test_a_change_of_the_storage_version_is_noted(cluster: simkit.Cluster) -> None:
    """Both versions stay stored versions, and old objects are still read."""
    cluster.create(_definition(_version(), _version("v2", storage=False)))
    cluster.create(_widget(a="1"))
    moved = _definition(_version(storage=False), _version("v2"))
    cluster.apply([moved])
    assert cluster.get("crd", "widgets.example.com")["status"]["storedVersions"] == ["v1", "v2"]
    live = _ask(cluster, "GET", WIDGETS.replace("v1", "v2") + "/w").object
    assert live["spec"] == {"a": "1"}
    again = _ask(cluster, "PUT", WIDGETS.replace("v1", "v2") + "/w", live).object
    assert again["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"], "it moves to the new version"
    assert _ask(cluster, "PUT", WIDGETS.replace("v1", "v2") + "/w", again).object == again


def test_deprecated_versions_warn(cluster: simkit.Cluster) -> None:
    """Every request to a deprecated version is told of it."""
    cluster.create(_definition(_version(), _version("v1beta1", storage=False, deprecated=True)))
    answer = _ask(cluster, "GET", WIDGETS.replace("v1", "v1beta1"))
    assert ("Warning", '299 - "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"') in answer.headers


def test_deep_and_exploding_schemas_end_in_a_clear_failure(cluster: simkit.Cluster) -> None:
    """Too deep a body is malformed; a pattern that would be too large is refused, one that would explode is matched."""
    inner = '{"a":' * 400 + "1" + "}" * 400
    cluster.create(_definition(_version(spec={"a": {"type": "string", "pattern": "^(a+)+$"}})))
    deep = f'{{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {{"name": "w"}}, "spec": {inner}}}'
    answer = _ask(cluster, "POST", WIDGETS, deep.encode())
    assert (answer.status, "exceeded max depth" in answer.object["message"]) == (400, True)
    answer = _ask(cluster, "POST", WIDGETS, _widget(a="a" * 50_000 + "b"))
    assert (answer.status, "should match" in answer.object["message"]) == (422, True)
    huge = _version(spec={"a": {"type": "string", "pattern": "((a{1000}){1000}){1000}"}})
    answer = _ask(cluster, "POST", CRDS, _definition(huge, plural="gadgets", kind="Gadget"))
    assert (answer.status, "must be a valid regular expression" in answer.object["message"]) == (422, True)


def test_names_are_given_once(cluster: simkit.Cluster) -> None:
    """A second definition of a kind waits, and is served when the first one goes."""
    cluster.create(_definition())
    cluster.create(_definition(plural="gadgets"))
    conditions = cluster.get("crd", "gadgets.example.com")["status"]["conditions"]
    assert [(each["type"], each["status"], each["reason"]) for each in conditions] == [
        ("NamesAccepted", "False", "ListKindConflict"),
        ("Established", "False", "NotAccepted"),
    ]
    assert _ask(cluster, "GET", WIDGETS.replace("widgets", "gadgets")).status == 404
    cluster.delete("crd", "widgets.example.com")
    assert _ask(cluster, "GET", WIDGETS.replace("widgets", "gadgets")).status == 200


def test_objects_go_with_their_definition(cluster: simkit.Cluster) -> None:
    """Objects are deleted; a definition waits for those that something holds, and takes no new ones."""
    cluster.create(_definition())
    cluster.create(_widget("free"))
    held = _widget("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.create(held)
    deleted = cluster.delete("crd", "widgets.example.com")
    assert deleted["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert [each["metadata"]["name"] for each in cluster.list("widgets")] == ["held"]
    terminating = cluster.get("crd", "widgets.example.com")["status"]["conditions"][2]
    assert (terminating["type"], terminating["reason"]) == ("Terminating", "InstanceDeletionInProgress")
    refused = _ask(cluster, "POST", WIDGETS, _widget("late"))
    assert (refused.status, refused.object["reason"]) == (405, "MethodNotAllowed")
    _ask(cluster, "PATCH", f"{WIDGETS}/held", {"metadata": {"finalizers": None}}, MERGE)
    assert _ask(cluster, "GET", f"{CRDS}/widgets.example.com").status == 404
    assert _ask(cluster, "GET", WIDGETS).status == 404
    with pytest.raises(UnknownResource):
        cluster.list("widgets")


def test_selectors_name_fields_of_ones_own() -> None:
    """With its gate a definition says which fields selectors may name, in the version that is asked for."""
    spec = {"color": {"type": "string"}, "size": {"type": "integer"}, "on": {"type": "boolean"}}
    paths = [{"jsonPath": f".spec.{name}"} for name in spec]
    cluster = simkit.Cluster(seed=1, options=Options(feature_gates={"CustomResourceFieldSelectors": True}))
    versions = _version(spec=spec, selectableFields=paths), _version("v2", storage=False)
    assert _ask(cluster, "POST", CRDS, _definition(*versions)).status == 201
    for widget in (_widget("a", color="red", size=1, on=True), _widget("b", color="blue", on=False)):
        assert _ask(cluster, "POST", WIDGETS, widget).status == 201

    def found(selector: str, path: str = WIDGETS) -> Any:
        answer = _ask(cluster, "GET", f"{path}?fieldSelector={selector}")
        body = answer.object
        return [name_of(item) for item in body["items"]] if answer.status == 200 else body["message"]

    assert [found(f"spec.{each}") for each in ("color=red", "color!=red", "size=1", "size=", "on=false")] == [
        ["a"], ["b"], ["a"], ["b"], ["b"],
    ]  # fmt: skip
    assert found("spec.on=true,metadata.name=b") == []
    assert found("spec.other=1") == "field label not supported: spec.other"
    assert found("spec.color=red", WIDGETS.replace("v1", "v2")) == "field label not supported: spec.color"
    described = [_ask(cluster, "GET", f"/openapi/{each}").object for each in ("v2", "v3/apis/example.com/v1")]
    for kinds in (described[0]["definitions"], described[1]["components"]["schemas"]):
        assert kinds["com.example.v1.Widget"]["x-kubernetes-selectable-fields"] == [
            {"fieldPath": f"spec.{name}"} for name in spec
        ]
    plain = simkit.Cluster(seed=1)
    answer = _ask(plain, "POST", CRDS, _definition(versions[0]))
    assert "selectableFields" not in answer.object["spec"]["versions"][0]


def test_the_status_is_written_alone(cluster: simkit.Cluster) -> None:
    """With its subresource the status is not written with the object, nor the object with the status."""
    cluster.create(_definition(_version(subresources={"status": {}})))
    made = cluster.create({**_widget(a="1"), "status": {"ready": True}})
    assert "status" not in made
    change = {"metadata": {"labels": {"x": "y"}}, "spec": {"a": "2"}, "status": {"ready": True}}
    answer = _ask(cluster, "PATCH", f"{WIDGETS}/w/status", change, MERGE).object
    assert (answer["spec"], answer["status"], answer["metadata"].get("labels")) == ({"a": "1"}, {"ready": True}, None)
    assert answer["metadata"]["generation"] == 1
    wrong = _ask(cluster, "PATCH", f"{WIDGETS}/w/status", {"status": {"ready": "x"}}, MERGE).object
    assert wrong["details"]["causes"][0]["field"] == "ready"
    after = _ask(cluster, "PATCH", f"{WIDGETS}/w", {"spec": {"a": "3"}, "status": {"ready": False}}, MERGE).object
    assert (after["status"], after["metadata"]["generation"]) == ({"ready": True}, 2)


def test_scale(cluster: simkit.Cluster) -> None:
    """A Scale shows the replicas that the definition points at, and moves them."""
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}
    cluster.create(
        _definition(_version(spec={"size": {"type": "integer"}}, subresources={"status": {}, "scale": paths}))
    )
    cluster.create(_widget(size=2))
    assert _ask(cluster, "GET", f"{WIDGETS}/w/scale").object["spec"] == {"replicas": 2}
    _ask(cluster, "PATCH", f"{WIDGETS}/w/scale", {"spec": {"replicas": 4}}, MERGE)
    assert cluster.get("widgets", "w")["spec"] == {"size": 4}
    cluster.create(_widget("none"))
    answer = _ask(cluster, "GET", f"{WIDGETS}/none/scale")
    assert (answer.status, ".spec.size" in answer.object["message"]) == (500, True)
    assert _ask(cluster, "PATCH", f"{WIDGETS}/w", {"spec": {"size": -1}}, MERGE).status == 422


def test_defaults_that_came_later_are_read(cluster: simkit.Cluster) -> None:
    """Stored objects do not change, read ones follow the schema; reading raises no generation."""
    cluster.create(_definition(_version(spec={"a": {"type": "string"}, "b": {"type": "string"}})))
    cluster.create(_widget(a="1"))
    before = cluster.get("widgets", "w")
    cluster.apply([_definition(_version(spec={"a": {"type": "string"}, "b": {"type": "string", "default": "new"}}))])
    after = cluster.get("widgets", "w")
    assert after["spec"] == {"a": "1", "b": "new"}
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    labelled = _ask(cluster, "PATCH", f"{WIDGETS}/w", {"metadata": {"labels": {"x": "y"}}}, MERGE).object
    assert labelled["metadata"]["generation"] == 1
    cluster.apply([_definition()])
    assert cluster.get("widgets", "w")["spec"] == {"a": "1"}


def test_tables(cluster: simkit.Cluster) -> None:
    """Columns are those of the definition; without any there is an age."""
    columns = [{"name": "A", "type": "string", "jsonPath": ".spec.a", "priority": 1}]
    cluster.create(_definition(_version(additionalPrinterColumns=columns)))
    cluster.create(_widget(a="x"))
    request = Request.of("GET", WIDGETS, headers={"accept": "application/json;as=Table;g=meta.k8s.io;v=v1"})
    table = cluster.perform(request).object
    assert [(each["name"], each["priority"]) for each in table["columnDefinitions"]] == [("Name", 0), ("A", 1)]
    assert table["rows"][0]["cells"] == ["w", "x"]


def test_bodies_say_what_they_are(cluster: simkit.Cluster) -> None:
    """A custom object names its kind and version; strategic merges and binary answers do not exist."""
    cluster.create(_definition())
    without = {"metadata": {"name": "w"}}
    assert "Object 'Kind' is missing" in _ask(cluster, "POST", WIDGETS, without).object["message"]
    other = {**_widget(), "kind": "Other"}
    assert _ask(cluster, "POST", WIDGETS, other).object["message"].startswith('Other.example.com "w" is invalid: kind')
    newer = _ask(cluster, "POST", WIDGETS, {**_widget(a="1"), "apiVersion": "example.com/v9"})
    assert (newer.status, ("Warning", '299 - "unknown field \\"spec\\""') in newer.headers) == (400, True)
    cluster.create(_widget())
    assert _ask(cluster, "PATCH", f"{WIDGETS}/w", {}, "application/strategic-merge-patch+json").status == 415
    binary = Request.of("GET", f"{WIDGETS}/w", headers={"accept": "application/vnd.kubernetes.protobuf"})
    assert cluster.perform(binary).status == 406
    with pytest.raises(StatusError, match="must be specified for an update"):
        raise _refused(_ask(cluster, "PUT", f"{WIDGETS}/w", _widget()))


def test_numbers_without_a_fraction_are_whole(cluster: simkit.Cluster) -> None:
    """As Go writes them: a client that wants an int reads what another wrote as 2.0, and defaults of 1.0."""
    number = {"type": "number", "default": 1.0}
    cluster.create(_definition(_version(spec={"a": number, "b": number, "l": {"type": "array", "items": number}})))
    made = _ask(cluster, "POST", WIDGETS, _widget(a=2.0, l=[3.0, 0.5, -1e300]))
    assert b'"spec":{"a":2,"b":1,"l":[3,0.5,-1e+300]}' in made.body
    patched = _ask(cluster, "PATCH", f"{WIDGETS}/w", {"spec": {"a": 1e3}}, MERGE)
    assert patched.object["spec"]["a"] == 1000
    assert isinstance(patched.object["spec"]["a"], int)


def _refused(response: Response) -> StatusError:
    return StatusError(response.status, "", response.object["message"])


def test_warnings_of_rules_and_finalizers(cluster: simkit.Cluster) -> None:
    """An unchanged value that a later rule refuses, and a finalizer without a domain, are warned of."""
    cluster.create(_definition(_version(spec={"n": {"type": "integer"}})))
    cluster.create(_widget(n=5))
    rules = [{"rule": "self < 3"}]
    cluster.apply([_definition(_version(spec={"n": {"type": "integer", "x-kubernetes-validations": rules}}))])
    change = {"metadata": {"finalizers": ["hold"]}}
    answer = _ask(cluster, "PATCH", f"{WIDGETS}/w", change, MERGE)
    assert answer.status == 200
    texts = [text for name, text in answer.headers if name == "Warning"]
    assert "failed rule: self < 3" in texts[0]
    assert "prefer a domain-qualified finalizer name" in texts[1]


def test_forks_have_definitions_of_their_own(cluster: simkit.Cluster) -> None:
    """A fork serves what its origin served, and neither sees what the other one changes."""
    cluster.create(_definition())
    cluster.create(_widget(a="1"))
    fork = cluster.fork()
    fork.create(_widget("other", a="2"))
    fork.delete("crd", "widgets.example.com")
    assert [each["metadata"]["name"] for each in cluster.list("widgets")] == ["w"]
    cluster.create(_definition(plural="gadgets", kind="Gadget"))
    assert _ask(fork, "GET", WIDGETS.replace("widgets", "gadgets")).status == 404
    assert len(fork.fork().list("crd")) == 0


def test_a_fork_at_another_release_checks_by_its_own() -> None:
    """The definitions of a fork follow its release, also those that were served before: formats of names are new."""
    cluster = simkit.Cluster(options=Options(release="1.30"))
    cluster.create(_definition(_version(spec={"host": {"type": "string", "format": "k8s-short-name"}})))
    cluster.create(_widget("a", host="No Name"))
    with pytest.raises(StatusError, match="must be of type k8s-short-name"):
        cluster.fork(release="1.36").create(_widget("b", host="No Name"))


def test_definitions_of_a_dump_are_served() -> None:
    """Also those that nothing says to be accepted; objects in other versions are read in the one that is asked for."""
    definition = _definition(_version(), _version("v2", storage=False))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    loaded = simkit.load([namespace, definition, {**_widget(a="1"), "apiVersion": "example.com/v2"}])
    assert loaded.get("widgets.v1.example.com", "w", "default")["spec"] == {"a": "1"}
    loaded.create(_widget("new", a="2"))
    assert len(loaded.fork().list("widgets")) == 2


def test_many_definitions_at_once(cluster: simkit.Cluster) -> None:
    """Definitions written by several threads are all served in the end."""

    def write(number: int) -> None:
        cluster.create(_definition(plural=f"kind{number}s", kind=f"Kind{number}"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [cluster.list(f"kind{number}s") for number in range(8)] == [[]] * 8


@pytest.mark.slow
@needs_shared
def test_a_cluster_full_of_operators() -> None:
    """Every definition of the dump is accepted when it is created anew, and its objects are served."""
    loaded = simkit.load(SHARED / "datasets" / "operators-and-teams.json.gz")
    definitions = loaded.list("crd")
    assert len(definitions) > 200
    for definition in definitions:
        resource = f"{at(definition, 'spec', 'names', 'plural')}.{at(definition, 'spec', 'group')}"
        loaded.list(resource)
    anew = simkit.Cluster(seed=1)
    for definition in definitions[::8]:
        noted = definition["metadata"]
        kept = {name: noted[name] for name in ("name", "annotations") if name in noted}
        anew.create({**{key: value for key, value in definition.items() if key != "status"}, "metadata": kept})


@pytest.mark.parametrize(
    ("items", "told"),
    [
        (
            ["a", {"k": "x"}, {"k": "x"}],
            ['spec.rows[0]: Invalid value: "a": must be an object for an array of list-type map'],
        ),
        ([{"k": "x"}] * 3, ['spec.rows[1]: Duplicate value: map[string]interface {}{"k":"x"}']),
    ],
)
def test_elements_of_lists_with_keys(cluster: simkit.Cluster, items: list[Any], told: list[str]) -> None:
    """The first element that is no object is told, and nothing else of the list; of equal ones the second."""
    rows = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]},
    }
    assert _ask(cluster, "POST", CRDS, _definition(_version(spec={"rows": rows}))).status == 201
    refused = _ask(cluster, "POST", WIDGETS, _widget(rows=items))
    causes = [f"{each['field']}: {each['message']}" for each in refused.object["details"]["causes"]]
    assert [each for each in causes if "in body" not in each and "validation rules" not in each] == told

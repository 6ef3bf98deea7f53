"""Operations in the OpenAPI documents: paths, names, parameters, media types and answers."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from simkit.kinds.strategy import strategy_of
from simkit.meta.names import GroupResource
from simkit.schema import openapi
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.openapi.operations import DELETED_IN_FULL
from simkit.schema.structural import Schema

CATALOGUE = Catalogue.for_release("1.30")
META = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1."
PODS = "/api/v1/namespaces/{namespace}/pods"


def swagger(catalogue: Catalogue = CATALOGUE) -> Any:
    return orjson.loads(openapi.swagger(catalogue))["paths"]


def document(name: str, catalogue: Catalogue = CATALOGUE) -> Any:
    found = openapi.document(catalogue, name)
    assert found is not None
    return orjson.loads(found)


def named(item: Any, where: str = "query") -> list[str]:
    return [each["name"] for each in item.get("parameters", ()) if each["in"] == where]


def schemas(operation: Any) -> dict[str, str]:
    """The schemas of an operation's answers, by their codes."""
    found = {code: each.get("schema", {}) for code, each in operation["responses"].items()}
    return {code: schema.get("$ref", schema.get("type", "")) for code, schema in found.items()}


@pytest.mark.parametrize(
    ("path", "name", "action"),
    [
        ("/api/v1/watch/namespaces/{namespace}/pods", "watchCoreV1NamespacedPodList", "watchlist"),
        ("/api/v1/watch/namespaces/{namespace}/pods/{name}", "watchCoreV1NamespacedPod", "watch"),
        ("/api/v1/watch/pods", "watchCoreV1PodListForAllNamespaces", "watchlist"),
        ("/api/v1/watch/nodes/{name}", "watchCoreV1Node", "watch"),
    ],
)
def test_the_older_paths_of_watches_are_described(path: str, name: str, action: str) -> None:
    """They give events, and say all that they take at the path: there is one operation."""
    item = swagger()[path]
    operation = item["get"]
    assert (operation["operationId"], operation["x-kubernetes-action"]) == (name, action)
    assert schemas(operation)["200"] == f"{META}WatchEvent"
    assert {"labelSelector", "resourceVersion", "sendInitialEvents", "watch"} <= set(named(item))
    assert "parameters" not in operation
    assert "application/json;stream=watch" in operation["produces"]


def test_common_parameters_of_a_path_are_listed_once() -> None:
    """Common parameters stand at the path, in the order of their names; bodies stay at their operations."""
    for item in (swagger()[f"{PODS}/{{name}}"], document("api/v1")["paths"][f"{PODS}/{{name}}"]):
        assert [each["name"] for each in item["parameters"]] == ["name", "namespace", "pretty"]
        assert named(item["put"]) == ["dryRun", "fieldManager", "fieldValidation"]
        assert "parameters" not in item["get"]
    single = swagger()["/api/v1/namespaces/{namespace}/bindings"]
    assert named(single) == ["dryRun", "fieldManager", "fieldValidation", "pretty"]
    assert named(single["post"], "body") == ["body"]


def test_proxied_requests_are_connections() -> None:
    """Streams take GET and POST with options of their own; a proxy takes every method, with a rest of the path."""
    item = swagger()[f"{PODS}/{{name}}/exec"]
    assert sorted(set(item) - {"parameters"}) == ["get", "post"]
    assert named(item) == ["command", "container", "stderr", "stdin", "stdout", "tty"]
    assert item["post"]["operationId"] == "connectCoreV1PostNamespacedPodExec"
    assert schemas(item["post"]) == {"200": "string", "401": ""}
    assert item["get"]["produces"] == ["*/*"]
    beyond = swagger()["/api/v1/nodes/{name}/proxy/{path}"]
    assert sorted(set(beyond) - {"parameters"}) == ["delete", "get", "head", "options", "patch", "post", "put"]
    assert beyond["head"]["operationId"] == "connectCoreV1HeadNodeProxyWithPath"
    assert named(beyond, "path") == ["name", "path"]
    assert beyond["get"]["x-kubernetes-group-version-kind"]["kind"] == "NodeProxyOptions"


def test_logs_are_text() -> None:
    operation = swagger()[f"{PODS}/{{name}}/log"]
    assert {"follow", "previous", "sinceSeconds", "tailLines"} <= set(named(operation))
    assert operation["get"]["produces"][0] == "text/plain"
    assert schemas(operation["get"])["200"] == "string"


def test_deletions_give_the_object_where_the_server_does() -> None:
    """The table of what is said is that of what is done, but for namespaces: their own storage says nothing of it."""
    assert schemas(swagger()[f"{PODS}/{{name}}"]["delete"])["202"] == "#/definitions/io.k8s.api.core.v1.Pod"
    assert schemas(swagger()["/api/v1/nodes/{name}"]["delete"])["200"] == f"{META}Status"
    stored = [each for each in CATALOGUE.resources() if each.stored]
    done = {each.group_resource for each in stored if strategy_of(each.group_kind).return_deleted_object}
    served = {each.group_resource for each in stored}
    assert done - {GroupResource("", "namespaces")} == DELETED_IN_FULL & served


@pytest.mark.parametrize(
    ("name", "operation", "kind"),
    [
        ("api", "getCoreAPIVersions", "APIVersions"),
        ("apis", "getAPIVersions", "APIGroupList"),
        ("apis/rbac.authorization.k8s.io", "getRbacAuthorizationAPIGroup", "APIGroup"),
        ("apis/apps/v1", "getAppsV1APIResources", "APIResourceList"),
        ("api/v1", "getCoreV1APIResources", "APIResourceList"),
    ],
)
def test_discovery_is_described(name: str, operation: str, kind: str) -> None:
    found = document(name)["paths"][f"/{name}/"]["get"]
    assert found["operationId"] == operation
    content = found["responses"]["200"]["content"]
    assert content["application/json"]["schema"] == {
        "$ref": f"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"
    }
    assert schemas(swagger()[f"/{name}/"]["get"])["200"] == f"{META}{kind}"


def test_the_version_and_the_issuer_are_described() -> None:
    assert document("version")["paths"]["/version/"]["get"]["operationId"] == "getCodeVersion"
    keys = document("openid/v1/jwks")["paths"]["/openid/v1/jwks/"]["get"]
    assert list(keys["responses"]["200"]["content"]) == ["application/jwk-set+json"]


def test_custom_resources_have_operations_of_their_own() -> None:
    """No older watches, no discovery, one version to read; patches only change, and collections take no body."""
    widget = Resource("example.com", "v1", "widgets", "Widget", "widget", custom=True, storage_version="v1")
    schema = Schema({"type": "object"}, CATALOGUE.definition)
    catalogue = CATALOGUE.with_resources([widget], lambda gvk: schema)
    paths = {path: item for path, item in swagger(catalogue).items() if "example.com" in path}
    root = "/apis/example.com/v1"
    assert sorted(paths) == [
        f"{root}/namespaces/{{namespace}}/widgets",
        f"{root}/namespaces/{{namespace}}/widgets/{{name}}",
        f"{root}/widgets",
    ]
    item = paths[f"{root}/namespaces/{{namespace}}/widgets/{{name}}"]
    assert named(item["get"]) == ["resourceVersion"]
    assert (item["get"]["consumes"], item["get"]["produces"]) == (["application/json", "application/yaml"],) * 2
    assert list(item["patch"]["responses"]) == ["200", "401"]
    collection = paths[f"{root}/namespaces/{{namespace}}/widgets"]["delete"]
    assert not named(collection, "body")
    assert "apis/example.com" not in openapi.index(catalogue)["paths"]
    assert "apis/example.com/v1" in openapi.index(catalogue)["paths"]


def test_releases_name_what_they_have() -> None:
    """Parameters that came later are not said of older releases."""
    older = swagger(Catalogue.for_release("1.20"))
    assert "sendInitialEvents" not in named(older[PODS]["get"])
    assert named(older[f"{PODS}/{{name}}"]["put"]) == ["dryRun", "fieldManager"]
    assert list(older[f"{PODS}/{{name}}"]["patch"]["responses"]) == ["200", "401"]

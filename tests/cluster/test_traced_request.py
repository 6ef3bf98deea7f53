"""A request is told stage by stage, with what each stage decided and changed."""

from __future__ import annotations

import pytest

import simkit
from simkit import Identity, Request
from simkit.cluster.traced_request import STAGES
from tests.analysis.worlds import binding, role, rule

MAPS = "/api/v1/namespaces/default/configmaps"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
ANN = Identity("ann", ("system:authenticated",))


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A fresh cluster whose controllers have come to rest, in which ann writes config maps."""
    made = simkit.Cluster(seed=1)
    made.settle()
    for each in (role("maps", rule("*", "configmaps")), binding("maps", "maps", "user:ann")):
        made.create(each)
    return made


def _map(name: str = "a") -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def test_the_rule_that_allows_is_told(cluster: simkit.Cluster) -> None:
    """Authorization names binding, role and rule; storage what was written; a fork leaves the cluster alone."""
    before = cluster.engine.store.revision
    traced = cluster.trace_request(Request.of("POST", MAPS, _map()), identity=ANN)
    assert traced
    [decided] = traced.of("authorization")
    assert decided.outcome == "allowed"
    assert decided.detail[1:] == (
        "binding: clusterrolebindings maps",
        'role: clusterroles maps, rule 0: {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}',
    )
    assert [step.name for step in traced.of("storage")] == ["configmaps default/a"]
    assert cluster.engine.store.revision == before
    assert [step.stage for step in traced.steps] == sorted((step.stage for step in traced.steps), key=STAGES.index)


def test_a_refusal_ends_the_trace(cluster: simkit.Cluster) -> None:
    """Whoever may not is denied; no plugin is asked and nothing is stored."""
    traced = cluster.trace_request(Request.of("DELETE", "/api/v1/namespaces/default"), identity=ANN)
    assert traced.refused_at == "authorization"
    assert traced.response.status == 403
    assert [step.stage for step in traced.steps][-2:] == ["authorization", "answer"]


def test_bad_credentials_are_refused_first(cluster: simkit.Cluster) -> None:
    """A token that nobody knows ends at authentication."""
    request = Request.of("GET", "/api", headers={"Authorization": "Bearer wrong"})
    traced = cluster.trace_request(request)
    assert (traced.refused_at, traced.response.status) == ("authentication", 401)


def test_impersonation_is_a_stage(cluster: simkit.Cluster) -> None:
    """It says who asked to be whom; what follows is decided for the impersonated user."""
    request = Request.of("GET", "/api/v1/secrets", headers={"Impersonate-User": "ann"})
    traced = cluster.trace_request(request)
    allowed, become = traced.of("impersonation")
    assert (allowed.outcome, become.name) == ("allowed", "ann")
    assert traced.of("authorization")[0].name.startswith("ann: list secrets")


def test_each_plugin_has_its_changes(cluster: simkit.Cluster) -> None:
    """The service account's token is mounted by its plugin; the kind's own step fills in the uid."""
    traced = cluster.trace_request(Request.of("POST", "/api/v1/namespaces/default/pods", POD))
    steps = {step.name: step for step in traced.of("mutating admission")}
    assert any(change.path == "spec.serviceAccountName" for change in steps["ServiceAccount"].changes)
    [filled] = traced.of("defaulting and validation")
    assert {"metadata.uid", "status.phase"} <= {change.path for change in filled.changes}


def test_validation_is_told_apart_from_admission(cluster: simkit.Cluster) -> None:
    """An invalid name is refused between mutating and validating plugins."""
    traced = cluster.trace_request(Request.of("POST", MAPS, _map("A_")))
    assert traced.refused_at == "defaulting and validation"
    assert traced.of("validating admission") == ()


def test_the_escalation_check_is_told(cluster: simkit.Cluster) -> None:
    """A role that gives more than its author has is refused by the check of RBAC, after the mutating plugins."""
    cluster.create(role("roles", rule("create", "clusterroles", groups="rbac.authorization.k8s.io")))
    cluster.create(binding("roles", "roles", "user:ann"))
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    traced = cluster.trace_request(Request.of("POST", path, role("more", rule("get", "secrets"))), identity=ANN)
    refused = [step for step in traced.steps if step.refused]
    assert [step.name for step in refused] == ["RBAC escalation check"]
    assert "attempting to grant" in refused[0].detail[0]


def test_watches_and_controllers_hear_of_it(cluster: simkit.Cluster) -> None:
    """A watch hears what its scope and selectors let through, and controllers of a fork do their part."""
    kinds = [MAPS, "/api/v1/namespaces/other/configmaps", f"{MAPS}?labelSelector=app%3Dweb"]
    streams = [
        cluster.perform(Request.of("GET", f"{path}{'&' if '?' in path else '?'}watch=1"), identity=ANN)
        for path in kinds
    ]
    traced = cluster.trace_request(Request.of("POST", MAPS, _map()))
    assert [(step.name, step.detail) for step in traced.of("watches")] == [
        ("ann", ("1 event on a watch of configmaps in default",))
    ]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}
    wrote = cluster.trace_request(Request.of("POST", "/api/v1/namespaces", namespace)).of("controllers")
    assert "serviceaccounts new/default" in [step.name for step in wrote]
    for stream in streams:
        stream.stream.close()
    assert cluster.trace_request(Request.of("POST", MAPS, _map())).of("watches") == ()


def test_it_can_be_done_in_earnest(cluster: simkit.Cluster) -> None:
    """Without a fork the request has its effect; a dry run has none."""
    cluster.trace_request(Request.of("POST", f"{MAPS}?dryRun=All", _map("dry")), on_fork=False)
    cluster.trace_request(Request.of("POST", MAPS, _map()), on_fork=False)
    names = {each["metadata"]["name"] for each in cluster.list("configmaps", "default")}
    assert "a" in names
    assert "dry" not in names


def test_it_is_a_result(cluster: simkit.Cluster) -> None:
    """It has the tables, the text and the HTML of every result, escaped."""
    traced = cluster.trace_request(Request.of("GET", "/api/v1/namespaces/<b>/configmaps"))
    assert list(traced.to_frame()) == ["stage", "step", "outcome", "detail"]
    assert traced.summary()["count"].sum() == len(traced.steps)
    assert "<b>/" not in traced._repr_html_()
    assert traced.to_dict()["rows"]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/api/v1/secretz", "there is no resource 'secretz'; did you mean 'secrets'?"),
        (
            "/apis/apps/v1/namespaces/default/deployment",
            "there is no resource 'deployment'; did you mean 'deployments'?",
        ),
        ("/apis/apps/v1/bicycles", "there is no resource 'bicycles'"),
        ("/apiv1/pods", "nothing is served here; paths of resources begin with /api/v1/ or /apis/GROUP/VERSION/"),
    ],
)
def test_a_path_that_leads_nowhere_says_what_is_meant(path: str, told: str) -> None:
    """Also where authorization refuses first, so that nobody looks for a missing role."""
    cluster = simkit.Cluster(seed=1)
    for identity in (None, ANN):
        assert cluster.trace_request(Request.of("GET", path), identity=identity).steps[0].detail[-1] == told


@pytest.mark.parametrize("path", ["/api/v1/secrets", "/api", "/apis/apps", "/openapi/v3", "/version", "/healthz"])
def test_a_path_that_is_served_needs_no_word(path: str) -> None:
    """There is one line of details."""
    assert len(simkit.Cluster(seed=1).trace_request(Request.of("GET", path)).steps[0].detail) == 1

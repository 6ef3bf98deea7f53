"""Parts of other packages that raise, exit, are asynchronous or give a wrong value: told, and never a yes or a success."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.analysis.findings import Check
from simkit.analysis.findings.audit import CHECKS
from simkit.cluster.options import Options
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta import foreign
from simkit.meta.attributes import NO_OPINION, Decision
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from simkit.meta.names import GroupResource
from simkit.seams.admission import OPERATIONS
from tests.simulation.test_foreign_code import FAILING, gives, named

MAPS = GroupResource("", "configmaps")
PATH = "/api/v1/namespaces/default/configmaps"
Failing = Callable[..., Any]
VALUES = (True, False, b"no", "no", (False, "no"), {"allowed": True}, [1], PermissionError("no"), float("nan"))
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
ALL = pytest.mark.parametrize("function", [*FAILING, *map(gives, VALUES)], ids=named)


class Part:
    """Whatever is asked of it is answered by one function, if it is about one config map or one user."""

    name, account, leaves_process = "Theirs", "namespace-controller", False
    resources = watches = frozenset({MAPS})
    operations = OPERATIONS

    def __init__(self, function: Failing, fails: str) -> None:
        self._function, self._fails = function, fails

    def resume_from(self, other: Any) -> None:
        """Know nothing."""

    def _given(self, asked: str, usual: Any) -> Any:
        return self._function() if asked == self._fails else usual

    def authorize(self, ask: Any) -> Any:
        return self._given("authorize", Decision(NO_OPINION))

    def rules_for(self, identity: Any, namespace: str) -> Any:
        return self._given("rules_for", None)

    def authenticate(self, credentials: Any) -> Any:
        return self._given("authenticate", None)

    def concerns(self, change: Any) -> Any:
        return self._given("concerns", change.entry.key.name == "a")

    def keys_affected(self, change: Any, lister: Any) -> Any:
        return self._given("keys_affected", [change.entry.key] if change.entry.key.name == "a" else [])

    def all_keys(self, lister: Any) -> Any:
        return self._given("all_keys", [])

    def reconcile(self, client: Any, lister: Any, key: Any) -> Any:
        return self._given("reconcile", None)


class Validates(Part):
    def validate(self, review: Any) -> Any:
        return self._given("validate", None) if review.name == "a" else None


class Mutates(Part):
    def mutate(self, review: Any) -> Any:
        return self._given("mutate", review.object) if review.name == "a" else review.object


def create(cluster: simkit.Cluster) -> int:
    """The status of the creation of a config map."""
    return cluster.perform(Request.of("POST", PATH, {"metadata": {"name": "a"}})).status


@ALL
@pytest.mark.parametrize("asked", ["authorize", "rules_for"])
def test_an_authorizer(function: Failing, asked: str) -> None:
    """The request gets 500."""
    part, ann = Part(function, asked), Identity("ann", ("system:authenticated",))
    cluster = simkit.Cluster(options=Options(authorizers={"Theirs": part}, authorization_mode=["RBAC", "Theirs"]))
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews" if asked == "rules_for" else PATH
    body = {"spec": {"namespace": "default"}} if asked == "rules_for" else None
    assert cluster.perform(Request.of("POST" if body else "GET", path, body), identity=ann).status == 500


@ALL
def test_an_authenticator(function: Failing) -> None:
    """The request gets 500, and is nobody's."""
    cluster = simkit.Cluster(options=Options(authenticators=[Part(function, "authenticate")]))
    request = Request.of("GET", PATH, headers={"authorization": "Bearer x"})
    assert serve_request(cluster.engine, request).status == 500


@ALL
@pytest.mark.parametrize("kind", [Validates, Mutates])
def test_an_admission_plugin(function: Failing, kind: type[Part]) -> None:
    """The write gets 500, and nothing is stored."""
    part: Any = kind(function, "validate" if kind is Validates else "mutate")
    cluster = simkit.Cluster(options=Options(admission_plugins=[part]))
    assert create(cluster) == 500
    assert cluster.perform(Request.of("GET", f"{PATH}/a")).status == 404


@ALL
@pytest.mark.parametrize("asked", ["concerns", "keys_affected", "all_keys", "reconcile"])
def test_a_controller(function: Failing, asked: str) -> None:
    """All others come to rest."""
    cluster = simkit.Cluster(options=Options(reconcilers=[Part(function, asked)]))
    assert create(cluster) == 201
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}})
    cluster.settle()
    assert [each["metadata"]["name"] for each in cluster.list("serviceaccounts", "x")] == ["default"]


@ALL
def test_a_check_of_an_audit(function: Failing) -> None:
    """A finding says that the findings of the check are unknown."""
    own: Check = replace(CHECKS[0], id="theirs", find=function)
    found = [each for each in simkit.Cluster().audit(rules=[own]) if each.check == "theirs"]
    assert ["its findings are unknown" in each.message for each in found] == [True]


def test_all_that_others_provide_is_tried() -> None:
    """The tables of the documentation name these parts and functions; a new one needs a test that it fails as it should."""
    functions = {row.split("|")[1].strip() for row in (foreign.__doc__ or "").splitlines() if row.startswith("| ")}
    tried = {"program, command", "a step of a generator", "port handler", "usage", "metric", "webhook", "conversion"}
    assert functions - {"function"} == tried
    page = Path(__file__).parents[2].joinpath("docs/how-to/add-a-part.md").read_text()
    parts = set(re.findall(r"(?m)^\| ([a-z ]+?) \| `simkit\.", page))
    assert parts == {"authenticator", "authorizer", "admission plugin", "controller", "check of an audit"}

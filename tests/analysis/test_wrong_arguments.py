"""Wrong arguments in a notebook are answered with the right ones, and answers fit pandas and networkx."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import networkx
import pandas as pd
import pytest

import simkit
from simkit import SimkitError, analysis
from simkit.meta.errors import UnknownSubject
from simkit.meta.wrong_names import WrongArguments, with_explained_calls


@pytest.fixture(scope="module")
def cluster() -> Any:
    """The demo cluster, untyped: what is guessed is not typed."""
    return simkit.demo(seed=1)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda c: c.who_can("get", "secrets", "billing"),
            r"write who_can\(verb, resource='', \*, .*namespace=None",
        ),
        (lambda c: c.who_can("get", "secrets", ns="billing"), "no argument 'ns'; did you mean namespace"),
        (lambda c: c.bindings(role="cluster-admin"), "no argument 'role' and no others: filter what it returns"),
        (lambda c: c.can("alice"), "missing a required argument: 'verb'"),
        (lambda c: c.compare(c), r"write compare\(\*, before=None"),
        (lambda c: c.what_if("delete x"), r"write trial = cluster\.what_if\(\), then trial\.delete\(kind, name\)"),
        (lambda c: c.history(), r"or simkit\.history\(dump, audit_log=\.\.\.\) for access"),
        (lambda c: c.cut(5), r"goal cannot be the int 5; write cut\(goal="),
        (lambda c: c.escalations(5), "subject cannot be the int 5"),
        (lambda c: c.escalations().prove(3), r"sandbox cannot be the int 3; write prove\(sandbox=None"),
    ],
)
def test_wrong_arguments_are_answered_with_the_right_ones(cluster: Any, call: Any, told: str) -> None:
    """Tasks 1, 2, 3 and 7."""
    with pytest.raises(WrongArguments, match=told):
        call(cluster)


@pytest.mark.parametrize(
    "name",
    [
        "what_can",
        "shortest_path",
        "diff",
        "impact",
        "removals",
        "plot",
        "heatmap",
        "who_cann",
        "anonymous",
        "since_when",
    ],
)
def test_names_that_are_not_there_are_answered(cluster: Any, name: str) -> None:
    """A hint, and no attribute for those who only look."""
    assert not hasattr(cluster, name)
    with pytest.raises(AttributeError, match=r"; (write|did you mean) "):
        getattr(cluster, name)


def test_an_error_inside_a_question_stays_what_it_is() -> None:
    """Only wrong calls are explained."""

    def broken(number: int) -> int:
        return len(number)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="object of type 'int' has no len") as error:
        with_explained_calls(broken, {})(3)
    assert not isinstance(error.value, WrongArguments)


@pytest.mark.parametrize("text", ["serviceaccount/runner", "system:masters", "system:authenticated"])
def test_what_can_hardly_be_a_user_is_refused(cluster: Any, text: str) -> None:
    """Task 2: a bare text is no account without its namespace, and no group of the server."""
    with pytest.raises(SimkitError, match="write"):
        cluster.permissions(text)


def test_an_account_that_is_not_there_gets_a_warning(cluster: Any) -> None:
    """Task 2: the answer is given all the same."""
    with pytest.warns(
        UnknownSubject, match="there is no service account sa:billing/defualt; did you mean sa:billing/def"
    ):
        assert len(cluster.permissions("sa:billing/defualt"))


@pytest.mark.parametrize(
    ("subject", "meant"),
    [("anonymous", "user:system:anonymous"), ("group:authenticated", "group:system:authenticated")],
)
def test_the_names_of_the_server_are_told(cluster: Any, subject: str, meant: str) -> None:
    """A user who is named anonymous is authenticated, and may more than somebody who is anonymous."""
    with pytest.warns(UnknownSubject, match=f"did you mean {meant}"):
        cluster.can(subject, "get", "pods")


def test_paths_are_a_graph_of_texts(cluster: Any) -> None:
    """Task 4: subject and goal in this order; the first path is the shortest, and networkx finds it by names."""
    paths = cluster.escalations("group:oidc:helpdesk", "cluster-admin")
    assert {path.goal.name for path in paths} == {"cluster-admin"}
    assert paths[0].hops == min(path.hops for path in paths)
    graph = paths.to_networkx()
    assert networkx.has_path(graph, "group:oidc:helpdesk", "cluster-admin")


def test_objects_are_named_as_in_kubectl(cluster: Any) -> None:
    """Task 5: kind and name in one word; a name that is missing is asked for."""
    assert cluster.get("ns/billing") == cluster.get("namespace", "billing")
    with pytest.raises(SimkitError, match=r"all of them are list\('pods'\)"):
        cluster.get("pods")
    with pytest.raises(simkit.SimkitError, match="did you mean 'clusterrolebindings'"):
        cluster.list("crb")


@pytest.mark.slow
def test_answers_draw_their_pictures(cluster: Any) -> None:
    """Task 9: by ``plot`` of tables and results; a table without a picture is plotted by pandas."""
    for answer in (
        cluster.exposure(),
        cluster.access_matrix("group:oidc:helpdesk", resources=["pods"]),
        cluster.audit(),
    ):
        picture = io.BytesIO()
        answer.plot().savefig(picture)
        assert picture.getvalue().startswith(b"\x89PNG")
    with pytest.raises(TypeError, match=r"no numeric data.*groupby\('"):
        cluster.bindings().plot()


def test_tables_join_on_the_subject(cluster: Any) -> None:
    """Findings have a row for each subject on request."""
    findings, bindings = cluster.findings(each="subject"), cluster.bindings()
    assert len(pd.merge(findings, bindings, on="subject"))
    with pytest.raises(KeyError, match="nothing"):
        cluster.findings()["nothing"]


def test_questions_that_mean_something_else_are_refused(cluster: Any) -> None:
    """Task 1: several verbs, other words for verbs, and names behind a slash."""
    for words in ((["get", "list"], "secrets"), ("read", "secrets"), ("get", "secrets/db")):
        with pytest.raises(SimkitError):
            cluster.who_can(*words)
    with warnings.catch_warnings():
        assert len(cluster.who_can("get", "pods/log"))
    assert cluster.who_can("exec").equals(cluster.who_can("exec", "pods"))
    with pytest.raises(SimkitError, match="no verb 'exec'"):
        cluster.who_can("exec", url="/metrics")


def test_a_module_answers_too() -> None:
    """Names of questions and of other libraries."""
    for name in ("who_can", "read_dump", "diff"):
        with pytest.raises(AttributeError, match="; write "):
            getattr(simkit, name)
    assert analysis.compare(simkit.Cluster(seed=1), simkit.Cluster(seed=1)).empty


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: simkit.demo("x"), r"write demo\(\*, release="),  # type: ignore[call-arg]
        (lambda: simkit.load("a.yaml", "b.yaml"), r"write load\(source, \*, release="),  # type: ignore[call-arg]
        (lambda: simkit.Options(relase="1.33"), "did you mean release"),  # type: ignore[call-arg]
        (lambda: simkit.Cluster(1.33), r"Cluster\('1.33'\)"),  # type: ignore[arg-type]
        (lambda: simkit.demo().audit().filter("high"), r"write filter\(\*, severity="),  # type: ignore[call-arg]
    ],
)
def test_functions_and_results_tell_their_arguments(call: Callable[[], object], told: str) -> None:
    """As the methods of a cluster do."""
    with pytest.raises(simkit.SimkitError, match=told):
        call()

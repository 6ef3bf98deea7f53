"""Results that are more than a table have the same methods everywhere."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from matplotlib.figure import Figure

from simkit import Cluster, SimkitError, analysis
from simkit.analysis.rbac.tables import SEVERITY_WORDS
from tests.analysis.worlds import binding, role, rule

LOG = [{"kind": "Event", "verb": "get", "requestURI": "/version", "user": {"username": "ann"}}]
MINDER = (role("minder", rule("*", "secrets")), binding("m", "minder", "user:ann"))


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    made = Cluster(seed=1)
    for obj in MINDER:
        made.apply([obj])
    return made


def results(cluster: Cluster) -> list[analysis.Result]:
    """One of each."""
    cut, proposal, paths = cluster.cut(), cluster.least_privilege(LOG, ["user:ann"]), cluster.escalations()
    proofs = paths[:1].prove()
    return [
        *(cut, proposal, paths, paths[0], proofs, proofs[0], cut.verify(), proposal.verify(), cluster.usage(LOG)),
        *(cluster.audit(), cluster.blast_radius("user:ann"), cluster.can("user:ann", "get", "secrets")),
        *(cluster.removal_report(release="1.32"), cluster.history("role", "minder")),
        cluster.admit({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}),
    ]


def test_results_have_tables_and_mappings(cluster: Cluster) -> None:
    """Each gives a table, a short one and a mapping for JSON; where there is a length, truth agrees with it."""
    for one in results(cluster):
        assert isinstance(one.to_frame(), pd.DataFrame)
        assert {"what", "count"} <= {*one.summary().columns} or isinstance(one, analysis.Audit | analysis.UpgradeReport)
        assert set(json.loads(json.dumps(one.to_dict()))) == {"result", "summary", "rows"}
        if hasattr(one, "__len__"):
            assert bool(one) is (len(one) > 0), type(one)


def test_executions_give_evidence(cluster: Cluster) -> None:
    """Proofs, verified cuts and verified proposals are of one type."""
    evidence = [one for one in results(cluster) if isinstance(one, analysis.Evidence)]
    assert {type(one).__name__ for one in evidence} == {"Proof", "Verified", "Replay"}
    assert [one.holds for one in evidence] == [bool(one) for one in evidence]


def test_an_empty_result_proves_nothing(cluster: Cluster) -> None:
    """Empty proofs are not all proven, and not true either."""
    empty = cluster.escalations("user:nobody-knows").prove()
    assert not empty
    assert not empty.proven


def test_figures_are_drawn_into_given_axes(cluster: Cluster) -> None:
    """With axes those are given back; without, the figure is a new one."""
    whole = Figure()
    paths = cluster.escalations("user:ann")
    for axes, plot in zip(whole.subplots(1, 2), (paths.plot, cluster.blast_radius("user:ann").plot)):
        assert plot(ax=axes) is axes
        assert axes.texts
        assert plot().get_figure(root=True) is not whole


def test_severities_are_ordered(cluster: Cluster) -> None:
    """Tables compare and sort by severity; the words are those of the type."""
    assert tuple(level.word for level in sorted(analysis.Severity)) == SEVERITY_WORDS
    for rows in (cluster.findings(), cluster.escalations().to_frame(), cluster.risky_permissions("user:ann")):
        assert rows["severity"].cat.ordered
        assert set(rows.loc[rows["severity"] >= "high", "severity"]) <= {"high", "critical"}


def test_severities_are_words_that_compare(cluster: Cluster) -> None:
    """Of paths and findings alike; a word that is no level is refused, not compared by its letters."""
    path, finding = cluster.escalations("user:ann")[0], cluster.audit().findings[0]
    for severity in (path.severity, finding.severity, path.steps[0].primitive.severity):
        assert isinstance(severity, analysis.Severity)
        assert severity in ("low", "medium", "high", "critical")
    high, low = analysis.Severity.HIGH, analysis.Severity.LOW
    assert max(low, high) is high
    assert low < "high" <= high < "critical"
    assert json.dumps({"severity": high}) == '{"severity": "high"}'
    assert f"{high}" == "high"
    with pytest.raises(SimkitError, match="there is no severity 'urgent'"):
        assert high > "urgent"


def test_histories_and_admissions_are_answers(cluster: Cluster) -> None:
    """With who changed what how often, and what each plugin said."""
    cluster.apply([role("watched", rule("get", "pods"))])
    cluster.apply([role("watched", rule("list", "pods"))])
    past = cluster.history("clusterrole", "watched")
    assert past.summary()[["change", "count"]].values.tolist() == [["ADDED", 1], ["MODIFIED", 1]]
    assert past.to_dict()["rows"][1]["fields"] == ["rules[0].verbs: ['get'] -> ['list']"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"serviceAccountName": "no"}}
    admitted = cluster.admit(pod)
    told = admitted.to_frame()
    assert told.loc[told["outcome"] == "refused", "step"].tolist() == ["ServiceAccount"]
    assert dict(admitted.summary().values)["mutating admission"] == len(admitted.of("mutating admission")) > 0


def test_findings_name_all_subjects() -> None:
    """A table has all subjects of a finding, however many there are."""
    cluster = Cluster(seed=1)
    people = [f"user:u{number}" for number in range(9)]
    cluster.apply([role("minder", rule("*", "secrets"))])
    cluster.apply([binding("m", "minder", *people)])
    named = cluster.findings().explode("subjects")["subjects"]
    assert set(people) <= set(named)


def test_misread_questions_raise(cluster: Cluster) -> None:
    """A question that would be answered as another one raises."""
    with pytest.raises(SimkitError, match="groups are several names"):
        cluster.can("user:ann", "get", "pods", groups="devs")
    with pytest.raises(SimkitError, match="did you mean 'cluster-admin'"):
        cluster.escalations(goal="cluster admin")
    for question in (cluster.can, lambda *words, **more: cluster.who_can(*words[1:], **more)):
        with pytest.raises(SimkitError, match="the namespace is empty"):
            question("user:ann", "get", "pods", namespace="")
    with pytest.raises(SimkitError, match="the namespace is empty"):
        cluster.get("configmap", "a", "")

"""Findings and primitives judge a grant once: one table, one severity, references that exist."""

from __future__ import annotations

import networkx
import pytest

from simkit.analysis.escalation import EscalationGraph, escalations, primitives, risky_permissions
from simkit.analysis.escalation.find.graph import networkx_graph
from simkit.analysis.escalation.table.primitive import requirements_of
from simkit.analysis.escalation.table.risky_permission import (
    RiskyGrant,
    RiskyPermission,
    requirements_of_grant,
    risky_permission_table,
)
from simkit.analysis.findings import CHECKS, audit
from tests.analysis.escalation.scenes import ATTACKER, scene
from tests.analysis.worlds import rule, world

TABLE = risky_permission_table()
GRANTS = [(one, grant) for one in TABLE.permissions for grant in one.grants]


@pytest.mark.parametrize(("permission", "grant"), GRANTS, ids=lambda one: getattr(one, "id", ""))
def test_a_risky_grant_is_what_its_primitives_require(permission: RiskyPermission, grant: RiskyGrant) -> None:
    """Each resource of the grant is one that a primitive which it names requires something of."""
    named = [primitives().primitive(one) for one in (*grant.primitives, *grant.part_of)]
    known = {
        option.permission.resource
        for one in named
        for number in range(len(one.variants))
        for requirement in requirements_of(one.id, number, "1.30")
        for option in requirement.any_of
    }
    wanted = {option.permission.resource for one in requirements_of_grant(grant, "1.30") for option in one.any_of}
    assert wanted & known, permission.id


def test_other_checks_name_primitives_that_exist() -> None:
    """The table of checks names checks of the audit and primitives of the table."""
    assert TABLE.checks.keys() <= {check.id for check in CHECKS}
    assert all(primitives().primitive(one) for check in TABLE.checks.values() for one in check.primitives)


@pytest.mark.parametrize("where", ["", "dev"])
def test_one_grant_has_one_severity(where: str) -> None:
    """The audit and the table of risky permissions give a grant the same severity."""
    snapshot = world(*scene(rule("create", "serviceaccounts/token"), place=where))
    [found] = [one for one in audit(snapshot).findings if one.check == "token-create"]
    listed = risky_permissions(snapshot, ATTACKER).set_index("primitive")
    assert listed.loc["C5", "severity"] == found.severity.word


def test_paths_are_a_networkx_graph() -> None:
    """The steps of all paths, with the attributes that are documented."""
    snapshot = world(*scene(rule("create", "serviceaccounts/token"), place=""))
    graph = escalations(snapshot, ATTACKER, goal="sa:ops/admin").to_networkx()
    whole = networkx_graph(edge for edges in EscalationGraph(snapshot).everything.values() for edge in edges)
    assert set(graph.nodes) <= set(whole.nodes)
    assert all(
        {"state", "kind", "name", "namespace", "impersonated"} == data.keys() for _, data in whole.nodes(data=True)
    )
    assert all(str(data["state"]) == node for node, data in whole.nodes(data=True))
    assert len({data["state"] for _, data in whole.nodes(data=True)}) == len(whole)
    assert networkx.shortest_path(graph, ATTACKER, "sa:ops/admin")[-1] == "sa:ops/admin"
    assert {"C5"} <= {data["primitive"] for *_, data in whole.edges(data=True)}

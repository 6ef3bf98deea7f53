"""The questions that a cluster can be asked: one method for each free function of ``simkit.analysis``.

Type checkers read the signatures in ``analysis_methods.pyi``, which ``tools/write_analysis_methods.py`` writes.
"""

from __future__ import annotations

from simkit.cluster.question import AnalysedCluster, Question


class AnalysisMethods(AnalysedCluster):
    """All questions. They are asked of a snapshot; those that execute something do so on forks."""

    who_can = Question("access.who_can")
    can = Question("access.can")
    permissions = Question("access.permissions")
    compare = Question("access.compare", snapshot="after", compares=True)
    check = Question("access.expectations", cluster="sandbox")
    access_matrix = Question("access.matrix")

    subjects = Question("rbac.tables")
    bindings = Question("rbac.tables")
    roles = Question("rbac.tables")
    rules = Question("rbac.tables")
    access_graph = Question("rbac.tables")

    audit = Question("findings.audit")
    findings = Question("findings.audit")
    causes = Question("causes.group")
    exposure = Question("findings.exposure")
    reach = Question("findings.exposure")

    never = Question("prove.invariants", cluster="sandbox")
    always = Question("prove.invariants", cluster="sandbox")
    admits = Question("prove.policies", cluster="sandbox")
    contradictions = Question("prove.policies", cluster="sandbox")
    implies = Question("prove.policies", cluster="sandbox")
    closing_policy = Question("prove.closing_policy", cluster="sandbox")
    no_new_access = Question("prove.new_access", snapshot="", cluster="after", compares=True)

    escalations = Question("escalation.find.queries", cluster="sandbox")
    next_steps = Question("escalation.find.queries", cluster="sandbox")
    blast_radius = Question("escalation.find.blast_radius")
    compare_paths = Question("escalation.find.path_comparison", snapshot="after", compares=True)
    risky_permissions = Question("escalation.prove.risky_permissions", cluster="sandbox")
    cut = Question("escalation.cut.minimum_cut", cluster="sandbox")
    remediation_plan = Question("plan.choice", cluster="sandbox")

    plan = Question("manifest_plan.planning", snapshot="", cluster="sandbox")

    usage = Question("least_privilege.usage")
    unused_grants = Question("least_privilege.usage")
    refused_requests = Question("least_privilege.usage", snapshot="after", compares=True)
    least_privilege = Question("least_privilege.proposal", cluster="sandbox")

    removal_report = Question("upgrade.upgrade_report", snapshot="", cluster="cluster")
    upgrade_report = Question("upgrade.upgrade_report", cluster="sandbox")
    timeline = Question("upgrade.timeline")

    policy_effect = Question("admission.policies", cluster="sandbox")
    policy_coverage = Question("admission.policies")
    webhook_coverage = Question("admission.policies")

    drain_nodes = Question("operations.rehearsals", snapshot="", cluster="sandbox")
    lose_nodes = Question("operations.rehearsals", snapshot="", cluster="sandbox")
    roll_out = Question("operations.rehearsals", snapshot="", cluster="sandbox")

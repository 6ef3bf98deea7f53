"""The company: teams with their namespaces, people's groups, deliveries and what they run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.meta.domain import api_group, label
from tools.cluster.build import (
    Obj,
    account,
    bound,
    bound_in,
    cluster_role,
    config_map,
    group,
    made,
    namespace,
    role,
    rule,
    secret,
    service,
    service_account,
    user,
)
from tools.cluster.operators import READ, WRITE
from tools.cluster.workloads import Workloads

COMPANY: Final = "pellowick"
TEAMS: Final = {
    "billing": ("invoices", "payouts", "ledger"),
    "customers": ("profiles", "mailer"),
    "data-platform": ("pipeline", "warehouse-sync", "catalogue"),
    "depots": ("dock-planner", "scanner-gateway"),
    "driver-app": ("driver-api", "shift-board"),
    "forecasting": ("demand-model", "trainer"),
    "parcels": ("parcel-api", "label-printer", "dimensions"),
    "routing": ("route-solver", "map-tiles"),
    "tracking": ("event-intake", "status-page", "webhooks-out"),
    "web-shop": ("storefront", "basket", "checkout"),
}
"""Namespace of each team, and what it runs."""


def people(team: str) -> Obj:
    """The group of a team, as the identity provider names it."""
    return group(f"oidc:team-{team}")


def company(workloads: Workloads) -> Iterator[Obj]:
    """The company's shared roles, its CI accounts, then team by team."""
    yield from _shared()
    for team in TEAMS:
        yield service_account(f"deploy-{team}", "ci", team=team)
        yield secret(f"deploy-{team}-key", "ci", "key")
    for number, team in enumerate(TEAMS):
        yield from _fenced(team)
        yield from _access(team)
        yield from _running(team, workloads, number)


def _shared() -> Iterator[Obj]:
    apps = "deployments statefulsets daemonsets"
    yield cluster_role(
        f"{COMPANY}:deployer",
        rule(f"{READ} {WRITE}", f"{apps} deployments/scale", group="apps"),
        rule(f"{READ} {WRITE}", "jobs cronjobs", group="batch"),
        rule(f"{READ} {WRITE}", "services configmaps"),
        rule(f"{READ} {WRITE}", "ingresses", group="networking"),
        rule(f"{READ} {WRITE}", "horizontalpodautoscalers", group="autoscaling"),
        rule(READ, "pods pods/log events"),
    )
    yield cluster_role(
        f"{COMPANY}:observer",
        rule(READ, "pods pods/log services configmaps events namespaces nodes"),
        rule(READ, f"{apps} replicasets", group="apps"),
        rule(READ, "jobs cronjobs", group="batch"),
        rule(READ, "pods nodes", group="metrics"),
    )
    yield cluster_role(f"{COMPANY}:namespace-lister", rule("get list watch", "namespaces"))
    yield bound(f"{COMPANY}:platform-team", "cluster-admin", group("oidc:platform-admins"))
    yield bound(f"{COMPANY}:engineers-observe", f"{COMPANY}:observer", group("oidc:engineers"))
    yield bound(f"{COMPANY}:engineers-list", f"{COMPANY}:namespace-lister", group("oidc:engineers"))
    yield bound(f"{COMPANY}:auditors", "view", group("oidc:auditors"), user("audit@pellowick.example"))


def _fenced(team: str) -> Iterator[Obj]:
    yield namespace(team, **{"team": team, label("enforce", "pod-security"): "restricted"})
    hard = {"pods": "60", "requests.cpu": "20", "requests.memory": "40Gi"}
    yield made("v1", "ResourceQuota", "compute", team, spec={"hard": hard}, status={"hard": hard, "used": {}})
    limit = {"default": {"memory": "512Mi"}, "defaultRequest": {"cpu": "50m", "memory": "64Mi"}, "type": "Container"}
    yield made("v1", "LimitRange", "defaults", team, spec={"limits": [limit]})
    closed = {"podSelector": {}, "policyTypes": ["Ingress"]}
    yield made(f"{api_group('networking')}/v1", "NetworkPolicy", "closed", team, spec=closed)
    inside = {"ingress": [{"from": [{"podSelector": {}}]}], **closed}
    yield made(f"{api_group('networking')}/v1", "NetworkPolicy", "inside", team, spec=inside)
    yield config_map("kube-root-ca.crt", team, **{"ca.crt": "dummy\n"})


def _access(team: str) -> Iterator[Obj]:
    yield service_account("default", team)
    yield bound_in(team, "team", "ClusterRole", "edit", people(team))
    yield bound_in(team, "leads", "ClusterRole", "admin", group(f"oidc:leads-{team}"))
    yield bound_in(team, "deploy", "ClusterRole", f"{COMPANY}:deployer", account("ci", f"deploy-{team}"))
    yield role("config-reader", team, rule(READ, "configmaps"), rule("get", "secrets", names=["app-settings"]))
    for app in TEAMS[team]:
        yield service_account(app, team, app=app)
        yield bound_in(team, f"{app}-config", "Role", "config-reader", account(team, app))


def _running(team: str, workloads: Workloads, number: int) -> Iterator[Obj]:
    yield config_map("app-config", team, region="depot-a", log="info")
    yield secret("app-settings", team, "api-key")
    yield secret("database", team, "user", "password")
    yield secret("registry-pull", team, ".dockerconfigjson", kind=f"{label('dockerconfigjson')}")
    yield secret(f"{team}-tls", team, "tls.crt", "tls.key", kind=f"{label('tls')}")
    for place, app in enumerate(TEAMS[team]):
        yield service(app, team, 8080, f"10.43.{number + 10}.{place + 1}")
        image = f"registry.example/{team}/{app}:1.{number}.{place}"
        yield from workloads.deployment(app, team, image, app, 2 + (place == 0))
    first = TEAMS[team][0]
    yield _autoscaler(first, team)
    yield _ingress(first, team)
    yield workloads.cron_job(
        f"{first}-nightly", team, f"registry.example/{team}/nightly:1.0.{number}", first, f"{number * 5} 3 * * *"
    )
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": first}}}
    yield made("policy/v1", "PodDisruptionBudget", first, team, spec=budget)
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "20Gi"}},
        "storageClassName": "depot-fast",
    }
    yield made("v1", "PersistentVolumeClaim", f"{first}-data", team, spec=claim, status={"phase": "Pending"})


def _autoscaler(name: str, team: str) -> Obj:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    load = {"name": "cpu", "target": {"averageUtilization": 70, "type": "Utilization"}}
    spec = {
        "maxReplicas": 8,
        "metrics": [{"resource": load, "type": "Resource"}],
        "minReplicas": 2,
        "scaleTargetRef": target,
    }
    return made(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        name,
        team,
        spec=spec,
        status={"currentReplicas": 3, "desiredReplicas": 3},
    )


def _ingress(name: str, team: str) -> Obj:
    host = f"{name}.{COMPANY}.example"
    backend = {"service": {"name": name, "port": {"number": 8080}}}
    path = {"backend": backend, "path": "/", "pathType": "Prefix"}
    spec = {
        "ingressClassName": "edge-router",
        "rules": [{"host": host, "http": {"paths": [path]}}],
        "tls": [{"hosts": [host], "secretName": f"{team}-tls"}],
    }
    return made(f"{api_group('networking')}/v1", "Ingress", name, team, spec=spec, status={"loadBalancer": {}})

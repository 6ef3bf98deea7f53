"""The variables in a step's requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.escalation.find.path import Step
from simkit.analysis.escalation.prove.credentials import (
    SOMEBODY,
    Credential,
    authority,
    certificate_request,
    node_identity,
    signed,
)
from simkit.analysis.escalation.prove.proving_fork import NotExecutable, ProvingFork
from simkit.analysis.escalation.prove.templates import collection, fill, resource_of, workload_change
from simkit.analysis.escalation.table.primitive import primitives, requirements_of
from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.rbac.objects import PODS
from simkit.analysis.rbac.subject import identity_of
from simkit.logic.rbac.binding import CLUSTER_ROLES, GROUP, SERVICE_ACCOUNT, USER
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.objects import Object, at, name_of
from simkit.schema.catalogue import Resource

FRESH: Final = "proof"
"""The prefix of names of objects that a proof creates."""

WEB_PORT: Final = 80
"""The port of a pod that names none."""


class StepVariables:
    """Computes the variables of steps on a fork."""

    def __init__(self, sandbox: ProvingFork) -> None:
        self._sandbox = sandbox
        self.facts: ClusterFacts = graph_of(sandbox.before).facts
        self.catalogue = catalogue_of(sandbox.before)
        self.inside: dict[str, str] = {}
        """The pod or node that the attacker has entered."""

    def of(self, step: Step, number: int, credential: Credential) -> dict[str, Any]:
        """The values of the variables in a step's requests, for an actor."""
        values: dict[str, Any] = {"fresh": f"{FRESH}-{number}", **self.inside, **step.variables}
        if values.get("namespace") in (None, "", states.ALL):
            values["namespace"] = self._some_namespace(step)
        values.update(fill(step.variant.variables, values))
        namespace = values["namespace"]
        values.setdefault("account", "default")
        values["some_account"] = self._some_account(namespace)
        values.setdefault("node", next(iter(self.facts.nodes), ""))
        values.setdefault("secret", next(iter(self.facts.secrets.get(namespace, ())), ""))
        if not values["secret"] and step.primitive.needs_secret:
            raise NotExecutable(f"there is no secret in {namespace}")
        values.setdefault("pod", next((name_of(pod) for pod in self.facts.pods.get(namespace, ())), ""))
        pod = self._pod(namespace, values["pod"])
        values["pod_uid"] = at(pod, "metadata", "uid") or ""
        values["container"] = at(pod, "spec", "containers", 0, "name") or "main"
        values["port"] = at(pod, "spec", "containers", 0, "ports", 0, "containerPort") or WEB_PORT
        values["me_subject"] = _entry(credential)
        values["by_name"] = values["and_by_name"] = ""
        if "secret" in step.variables:
            values["by_name"] = f"?fieldSelector=metadata.name%3D{values['secret']}"
            values["and_by_name"] = f"&fieldSelector=metadata.name%3D{values['secret']}"
        self._add_requests(step, values)
        self._add_workload(step, values)
        if "aggregated" in values:
            values["aggregation_labels"] = self._labels(values["aggregated"])
            role = self.facts.get(CLUSTER_ROLES, values.get("role", ""))
            values["role_rules"] = (role or {}).get("rules") or []
        return values

    def _some_namespace(self, step: Step) -> str:
        places = self.facts.secrets if step.variant.outcome == "secrets" else self.facts.pods
        return next(iter(places), None) or next(iter(self.facts.enforced), "default")

    def _some_account(self, namespace: str) -> str:
        """An existing account, the default one if possible."""
        names = [one.name for one in self.facts.accounts.get(namespace, ())]
        return "default" if "default" in names or not names else names[0]

    def _pod(self, namespace: str, name: str) -> Object | None:
        snapshot = self._sandbox.snapshot()
        return snapshot.get(PODS, name, namespace) if PODS in snapshot.captured() else None

    def _add_requests(self, step: Step, values: dict[str, Any]) -> None:
        if "user-certificate" in step.primitive.certificates:
            values["certificate_request"] = certificate_request(*_names(step))
            values["foreign_certificate"] = signed(values["certificate_request"])[0]
        if "authority" in step.primitive.certificates:
            values["authority"] = authority()
        if "node-certificate" in step.primitive.certificates:
            values["node_certificate_request"] = certificate_request(node_identity(values).user, ("system:nodes",))

    def _add_workload(self, step: Step, values: dict[str, Any]) -> None:
        if "workload" not in [
            requirement.label
            for requirement in requirements_of(step.primitive.id, step.edge.number, self.facts.release)
        ]:
            return
        permission = step.edge.permissions[0]
        resource = self.served(permission)
        if "resource" in step.variables:
            resource = self.catalogue.lookup(step.variables["resource"])
        values |= {"resource": resource, "collection": collection(resource, values["namespace"])}
        values["workload_change"] = workload_change(resource, _own_specification(values))
        values["privileged_change"] = workload_change(resource, _host_specification(values))

    def _labels(self, aggregated: str) -> dict[str, str]:
        for name, selectors in self.facts.aggregated:
            if name == aggregated:
                return next((dict(one["matchLabels"]) for one in selectors if one.get("matchLabels")), {})
        return {}

    def served(self, permission: Permission) -> Resource:
        """The served resource of a permission. Raises NotExecutable if none is served."""
        resource = resource_of(self.catalogue, permission)
        if resource is None:
            raise NotExecutable(
                f"nothing serves {permission.resource}.{permission.group} at release {self.facts.release}"
            )
        return resource


def _entry(credential: Credential) -> dict[str, str]:
    """The attacker as an entry of a binding."""
    identity = credential.seen
    account = identity.service_account
    if account is not None:
        return {"kind": SERVICE_ACCOUNT, "namespace": account[0], "name": account[1]}
    if credential.user == SOMEBODY and identity.groups:
        return {"kind": GROUP, "name": identity.groups[0], "apiGroup": RBAC_GROUP}
    return {"kind": USER, "name": credential.user, "apiGroup": RBAC_GROUP}


def _names(step: Step) -> tuple[str, tuple[str, ...]]:
    """The user and groups of a certificate request."""
    place = step.becomes
    if place is None or place.subject is None:
        return SOMEBODY, ()
    return (SOMEBODY, (place.name,)) if place.kind == GROUP else (identity_of(place.subject).user, ())


def _own_specification(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a pod specification that run a script of the attacker as an account, from the table's pod."""
    return {**fill(primitives().bodies["pod"], values)["spec"], "initContainers": None}


def _host_specification(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a pod specification that open the host, from the table's pod."""
    pod = fill(primitives().bodies["privileged-pod"], values)["spec"]
    return {name: pod[name] for name in ("hostPID", "volumes", "containers")} | {"initContainers": None}

"""What the words in a step's requests stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.path import Step
from simkit.analysis.escalation.prove.certificates import authority, certificate_request, signed
from simkit.analysis.escalation.prove.credentials import SOMEBODY, Credential
from simkit.analysis.escalation.prove.session import NotExecutable
from simkit.analysis.escalation.prove.templates import collection, fill, resource_of, workload_change
from simkit.analysis.escalation.table.primitive import primitives, requirements_of
from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.rbac.objects import PODS
from simkit.analysis.rbac.subject import identity_of
from simkit.logic.rbac.binding import CLUSTER_ROLES, GROUP, SERVICE_ACCOUNT, USER
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.objects import at, name_of
from simkit.schema.catalogue import Resource
from simkit.snapshot.protocol import Sandbox

FRESH: Final = "proof"
"""How the names of objects begin that a proof makes."""


BY_NAME: Final = ("C1", "C4", "C6")
"""Primitives that have to know the name of a secret."""


class StepVariables:
    """Finds the words of steps on a fork."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.world = ClusterFacts(sandbox.snapshot())
        self.catalogue = catalogue_of(sandbox.snapshot())
        self.inside: dict[str, str] = {}
        """The pod or node that one has got into."""

    def of(self, step: Step, number: int, credential: Credential) -> dict[str, Any]:
        """What the words in a step's requests stand for, when somebody takes it."""
        words: dict[str, Any] = {"fresh": f"{FRESH}-{number}", **self.inside, **step.variables}
        if words.get("namespace") in (None, "", states.ALL):
            words["namespace"] = self._some_namespace(step)
        words.update(fill(step.way.variables, words))
        namespace = words["namespace"]
        words.setdefault("account", "default")
        words["some_account"] = self._some_account(namespace)
        words.setdefault("node", next(iter(self.world.nodes), ""))
        words.setdefault("secret", next(iter(self.world.secrets.get(namespace, ())), ""))
        if not words["secret"] and step.primitive.id in BY_NAME:
            raise NotExecutable(f"there is no secret in {namespace}")
        words.setdefault("pod", next((name_of(pod) for pod in self.world.pods.get(namespace, ())), ""))
        words["pod_uid"] = self._uid(namespace, words["pod"])
        words["me_subject"] = _entry(credential)
        words["by_name"] = words["and_by_name"] = ""
        if "secret" in step.variables:
            words["by_name"] = f"?fieldSelector=metadata.name%3D{words['secret']}"
            words["and_by_name"] = f"&fieldSelector=metadata.name%3D{words['secret']}"
        self._add_requests(step, words)
        self._add_workload(step, words)
        if "aggregated" in words:
            words["aggregation_labels"] = self._labels(words["aggregated"])
            role = self.world.get(CLUSTER_ROLES, words.get("role", ""))
            words["role_rules"] = (role or {}).get("rules") or []
        return words

    def _some_namespace(self, step: Step) -> str:
        places = self.world.secrets if step.way.yields == "secrets" else self.world.pods
        return next(iter(places), None) or next(iter(self.world.enforced), "default")

    def _some_account(self, namespace: str) -> str:
        """An account that is there, the default one if it is."""
        names = [one.name for one in self.world.accounts.get(namespace, ())]
        return "default" if "default" in names or not names else names[0]

    def _uid(self, namespace: str, pod: str) -> str:
        found = (
            self._sandbox.snapshot().get(PODS, pod, namespace) if PODS in self._sandbox.snapshot().captured() else None
        )
        return at(found, "metadata", "uid") or ""

    def _add_requests(self, step: Step, words: dict[str, Any]) -> None:
        if step.primitive.id in ("F1", "F2"):
            words["certificate_request"] = certificate_request(*_names(step))
            words["foreign_certificate"] = signed(words["certificate_request"])[0]
        if step.primitive.id == "F4":
            words["authority"] = authority()
        if step.primitive.id == "F3":
            words["node_certificate_request"] = certificate_request(f"system:node:{words['node']}", ("system:nodes",))

    def _add_workload(self, step: Step, words: dict[str, Any]) -> None:
        if "workload" not in [
            need.label for need in requirements_of(step.primitive.id, step.edge.way, self.world.release)
        ]:
            return
        permission = step.edge.permissions[0]
        resource = self.served(permission)
        if "resource" in step.variables:
            resource = self.catalogue.lookup(step.variables["resource"])
        words |= {"resource": resource, "collection": collection(resource, words["namespace"])}
        words["workload_change"] = workload_change(resource, {"serviceAccountName": words["account"]})
        words["privileged_change"] = workload_change(resource, _host_specification(words))

    def _labels(self, aggregated: str) -> dict[str, str]:
        for name, selectors in self.world.aggregated:
            if name == aggregated:
                return next((dict(one["matchLabels"]) for one in selectors if one.get("matchLabels")), {})
        return {}

    def served(self, permission: Permission) -> Resource:
        """The resource that a permission is about. Raises NotExecutable where nothing serves it."""
        resource = resource_of(self.catalogue, permission)
        if resource is None:
            raise NotExecutable(
                f"nothing serves {permission.resource}.{permission.group} at release {self.world.release}"
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
    """The user and groups that a certificate shall be for."""
    place = step.becomes
    if place is None or place.subject is None:
        return SOMEBODY, ()
    return (SOMEBODY, (place.name,)) if place.kind == GROUP else (identity_of(place.subject).user, ())


def _host_specification(words: Mapping[str, Any]) -> dict[str, Any]:
    """What opens the host, out of the table's pod that does."""
    pod = fill(primitives().bodies["privileged-pod"], words)["spec"]
    return {name: pod[name] for name in ("hostPID", "volumes", "containers")} | {"initContainers": None}

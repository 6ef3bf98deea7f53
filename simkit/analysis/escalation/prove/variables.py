"""The templates of the table's requests, and the variables of a step that fill them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.escalation.find import states
from simkit.analysis.escalation.find.facts import ClusterFacts
from simkit.analysis.escalation.find.graph import graph_of
from simkit.analysis.escalation.find.matching import ONLY
from simkit.analysis.escalation.find.path import Step
from simkit.analysis.escalation.find.pod_constraints import NODE_PODS
from simkit.analysis.escalation.prove.proving_fork import NotExecutable, ProvingFork
from simkit.analysis.escalation.prove.session import (
    SOMEBODY,
    Credential,
    authority,
    certificate_request,
    node_identity,
    signed,
)
from simkit.analysis.escalation.table.primitive import primitives, requirements_of
from simkit.analysis.escalation.table.requirement import Permission
from simkit.analysis.rbac.index import chain_of
from simkit.analysis.rbac.objects import NAMESPACES, PODS, subject_entry
from simkit.analysis.rbac.subject import identity_of
from simkit.logic.podsecurity.constraints import account_identity, first_user, is_readable, laxity, may_use
from simkit.logic.rbac.binding import CLUSTER_ROLES, GROUP, SERVICE_ACCOUNT, USER, Subject
from simkit.meta.domain import label
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, name_of
from simkit.schema.catalogue import Catalogue, Resource
from simkit.seams.authorization import OPENSHIFT
from simkit.snapshot.openshift import CONSTRAINTS

_WORD: Final = re.compile(r"\{([a-z_]+)\}")
_ONE_WORD: Final = re.compile(r"^\{([a-z_]+)\}$")
_QUERIES: Final = ("by_name", "and_by_name")
"""Words that stand for a part of a query."""
_POD_LABELS: Final = {"app": "proof"}


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with each ``{word}`` replaced; a text that is only one word becomes the word's value.

    Raises
    ------
    KeyError
        For a word that nothing stands for.

    Examples
    --------
    >>> fill({"name": "{fresh}-1", "labels": "{labels}"}, {"fresh": "proof", "labels": {"a": "b"}})
    {'name': 'proof-1', 'labels': {'a': 'b'}}
    """
    if isinstance(template, str):
        alone = _ONE_WORD.match(template)
        return values[alone[1]] if alone else _WORD.sub(lambda found: str(values[found[1]]), template)
    if isinstance(template, Mapping):
        return {key: fill(value, values) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [fill(value, values) for value in template]
    return template


def fill_path(template: str, values: Mapping[str, Any]) -> str:
    """The method and path of a template, whose words stand for names, which may have any letters, or for paths."""

    def filled(found: re.Match[str]) -> str:
        value = str(values[found[1]])
        return value if found[1] in _QUERIES else quote(value, safe="/:@$&+=%")

    return _WORD.sub(filled, template)


def body_of(name: str | Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    """A body of the table by name, filled in; workloads contain the pod's template."""
    if not isinstance(name, str):
        return fill(name, values)
    if name in ("workload", "privileged-workload"):
        pod = _pod_specification(name.replace("workload", "pod"), values)
        return workload(values["resource"], values["fresh"], pod)
    return fill(primitives().bodies[name], values)


def _pod_specification(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    specification: dict[str, Any] = fill(primitives().bodies[name], values)["spec"]
    return specification


def workload(resource: Resource, name: str, pod: Mapping[str, Any]) -> dict[str, Any]:
    """A workload of a resource with this pod specification."""
    template: dict[str, Any] = {"metadata": {"labels": _POD_LABELS}, "spec": dict(pod)}
    if resource.resource in ("jobs", "cronjobs"):
        template["spec"]["restartPolicy"] = "Never"
        spec: dict[str, Any] = {"template": template}
        if resource.resource == "cronjobs":
            spec = {"schedule": "* * * * *", "jobTemplate": {"spec": spec}}
    elif resource.resource == "replicationcontrollers":
        spec = {"selector": _POD_LABELS, "template": template}
    else:
        spec = {"selector": {"matchLabels": _POD_LABELS}, "template": template}
        if resource.resource == "statefulsets":
            spec["serviceName"] = name
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}


def workload_change(resource: Resource, pod: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch that changes the pod specification of a workload."""
    change: dict[str, Any] = {"spec": {"template": {"spec": dict(pod)}}}
    return {"spec": {"jobTemplate": change}} if resource.resource == "cronjobs" else change


def resource_of(catalogue: Catalogue, permission: Permission) -> Resource | None:
    """The served resource of a permission, in its preferred version."""
    plural = permission.resource.partition("/")[0]
    for one in catalogue.resources(permission.group):
        if one.resource == plural:
            return one
    return None


TOKEN_FILE: Final = f"/var/run/secrets/{label('serviceaccount')}/token"
SOME_USER: Final = 65532
"""The user of containers that are not run as root."""


def debugger(pod: Object) -> dict[str, Any]:
    """A container that prints the token which is mounted in a pod, without a name; the restricted level allows it.

    Notes
    -----
    It runs as the user of the first container: where all containers have one user, the kubelet gives the file to it
    alone (kubernetes pkg/volume/projected, release 1.30).
    """
    first = at(pod, "spec", "containers", 0) or {}
    mounts = [one for one in first.get("volumeMounts") or () if TOKEN_FILE.startswith(f"{one.get('mountPath')}/")]
    user = at(first, "securityContext", "runAsUser") or at(pod, "spec", "securityContext", "runAsUser") or SOME_USER
    return {
        "image": "registry.example/tools:1",
        "command": ["sh", "-c", f"cat {TOKEN_FILE}; sleep 86400"],
        "volumeMounts": mounts,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "runAsNonRoot": True,
            "runAsUser": user,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


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
        snapshot = sandbox.before
        self._constrained = snapshot.authorization.provider == OPENSHIFT and CONSTRAINTS in snapshot.captured()
        self.inside: dict[str, str] = {}
        """The pod or node that the attacker has entered."""

    def of(self, step: Step, number: int, credential: Credential) -> dict[str, Any]:
        """The values of the variables in a step's requests, for an actor."""
        values: dict[str, Any] = {"fresh": self._fresh(step) or f"{FRESH}-{number}", **self.inside, **step.variables}
        if values.get("namespace") in (None, "", states.ALL):
            values["namespace"] = self._some_namespace(step)
        values.update(fill(step.variant.variables, values))
        namespace = values["namespace"]
        values.setdefault("account", "default")
        values.setdefault("some_account", self._some_account(namespace))
        values["some_user"] = self._some_user(namespace)
        values["host_pid"] = self._may_see_processes(namespace, values["some_account"], credential)
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
            selector = f"fieldSelector=metadata.name%3D{quote(values['secret'], safe='')}"
            values |= {"by_name": f"?{selector}", "and_by_name": f"&{selector}"}
        self._add_requests(step, values)
        self._add_workload(step, values)
        if "aggregated" in values:
            values["aggregation_labels"] = self._labels(values["aggregated"])
            role = self.facts.get(CLUSTER_ROLES, values.get("role", ""))
            values["role_rules"] = (role or {}).get("rules") or []
        return values

    def _fresh(self, step: Step) -> str:
        """A name that is free, where the attacker may create objects of certain names only; empty if of any."""
        for number, permission in enumerate(step.edge.permissions):
            resource = GroupResource(permission.group, permission.resource)
            for name in filter(None, step.edge.value(f"{ONLY}{number}").split(",") if permission.nameless else ()):
                if self.facts.get(resource, name, step.variables.get("namespace", "")) is None:
                    return name
        return ""

    def _some_namespace(self, step: Step) -> str:
        places = self.facts.secrets if step.variant.outcome == "secrets" else self.facts.pods
        return next(iter(places), None) or next(iter(self.facts.enforced), "default")

    def _some_account(self, namespace: str) -> str:
        """An existing account: where constraints decide on pods, that with the least restrictive one; else the default.

        An attacker who may create pods chooses the account of each.
        """
        names = [one.name for one in self.facts.accounts.get(namespace, ())]
        snapshot = self._sandbox.before
        if self._constrained:
            authorize = chain_of(snapshot).authorize
            for constraint in sorted(filter(is_readable, snapshot.scan(CONSTRAINTS)), key=laxity, reverse=True):
                for name in names:
                    if may_use(authorize, account_identity(namespace, name), namespace, constraint):
                        return name
        return "default" if "default" in names or not names else names[0]

    def _may_see_processes(self, namespace: str, account: str, credential: Credential) -> bool:
        """False if constraints admit no pod of an attacker with the processes of its node; it then goes without."""
        constraints, seen = self.facts.constraints, credential.seen
        if constraints is None:
            return True
        makers = [Subject(USER, seen.user), *(Subject(GROUP, name) for name in seen.groups)]
        return constraints.admits(NODE_PODS[0], namespace, account, makers)

    def _some_user(self, namespace: str) -> int:
        """A user for containers that are not run as root: where constraints decide on pods, one of the namespace's."""
        if not self._constrained:
            return SOME_USER
        return first_user(self.facts.get(NAMESPACES, namespace) or {})

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
        requirements = requirements_of(step.primitive.id, step.edge.number, self.facts.release)
        labels = [requirement.label for requirement in requirements]
        if "workload" not in labels:
            return
        resource = self.served(step.edge.permissions[labels.index("workload")])
        if "resource" in step.variables:
            resource = self.catalogue.lookup(step.variables["resource"])
        values |= {"resource": resource, "collection": resource.collection(values["namespace"])}
        own, host = (_pod_specification(name, values) for name in ("pod", "privileged-pod"))
        opened = {name: host[name] for name in ("hostPID", "volumes", "containers")}
        values["workload_change"] = workload_change(resource, {**own, "initContainers": None})
        values["privileged_change"] = workload_change(resource, {**opened, "initContainers": None})

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
        return subject_entry(Subject(SERVICE_ACCOUNT, account[1], account[0]))
    if credential.user == SOMEBODY and identity.groups:
        return subject_entry(Subject(GROUP, identity.groups[0]))
    return subject_entry(Subject(USER, credential.user))


def _names(step: Step) -> tuple[str, tuple[str, ...]]:
    """The user and groups of a certificate request."""
    place = step.becomes
    if place is None or place.subject is None:
        return SOMEBODY, ()
    return (SOMEBODY, (place.name,)) if place.kind == GROUP else (identity_of(place.subject).user, ())

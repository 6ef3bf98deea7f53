"""Powers: permissions that are worth more than they look. A table, evaluated by ``holders``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from simkit.analysis.findings.check import Severity
from simkit.meta.domain import (
    AUTHENTICATION_GROUP,
    CERTIFICATES_GROUP,
    EXTENSIONS_GROUP,
    RBAC_GROUP,
    REGISTRATION_GROUP,
    api_group,
)

CRITICAL, HIGH, MEDIUM, LOW = Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM, Severity.LOW
ADMISSION_GROUP: Final = api_group("admissionregistration")
WRITE: Final = ("create", "update", "patch")
CHANGE: Final = ("update", "patch")


@dataclass(frozen=True, slots=True)
class Right:
    """Any of some verbs on any of some resources (``pods``, ``pods/exec``) of one group.

    ``wide``: requests for it carry no namespace, so that a RoleBinding cannot give it. ``nameless``: the requests name
    no object, so that a rule for single names does not give it.
    """

    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    group: str = ""
    wide: bool = False

    @property
    def nameless(self) -> bool:
        return set(self.verbs) <= {"create"} and not any("/" in resource for resource in self.resources)

    def __str__(self) -> str:
        group = f" ({self.group})" if self.group else ""
        return f"{'/'.join(self.verbs)} {', '.join(self.resources)}{group}"


@dataclass(frozen=True, slots=True)
class Power:
    """A permission, or several together, and how bad it is to have it.

    ``ways``: any of them is enough, each needs all of its rights in the same place. ``cluster`` is the severity of
    having it everywhere, ``local`` of having it in one namespace, ``named`` of having it for single objects only;
    None: not worth a finding.
    """

    id: str
    title: str
    ways: tuple[tuple[Right, ...], ...]
    why: str
    fix: str
    cluster: Severity
    local: Severity | None = None
    named: Severity | None = None


def _one(*verbs: str, on: tuple[str, ...], group: str = "", wide: bool = False) -> tuple[tuple[Right, ...], ...]:
    return ((Right(verbs, on, group, wide),),)


_BINDINGS: Final = ("rolebindings", "clusterrolebindings")
_ROLES: Final = ("roles", "clusterroles")

POWERS: Final = (
    Power(
        "rbac-escalate",
        "Can write roles beyond its own rights",
        ((Right(("escalate",), _ROLES, RBAC_GROUP), Right(WRITE, _ROLES, RBAC_GROUP)),),
        "The verb escalate switches off the check that nobody writes a role which allows more than she may do herself.",
        "Take away escalate; let a pipeline with review write roles instead.",
        CRITICAL,
        HIGH,
        MEDIUM,
    ),
    Power(
        "rbac-bind",
        "Can bind roles it does not hold",
        ((Right(("bind",), _ROLES, RBAC_GROUP), Right(WRITE, _BINDINGS, RBAC_GROUP)),),
        "The verb bind allows to hand out a role, cluster-admin included, without holding its rules.",
        "Limit bind by resourceNames to the roles that may be handed out.",
        CRITICAL,
        HIGH,
        MEDIUM,
    ),
    Power(
        "rbac-write",
        "Can hand on its own rights",
        _one(*WRITE, on=(*_BINDINGS, *_ROLES), group=RBAC_GROUP),
        "Writing roles or bindings gives no new rights by itself, but spreads those held, and outlives the account.",
        "Keep writes to access control with a pipeline that is reviewed.",
        MEDIUM,
        LOW,
        LOW,
    ),
    Power(
        "impersonate",
        "Can act as other users or groups",
        (
            (Right(("impersonate",), ("users", "groups"), wide=True),),
            (Right(("impersonate",), ("uids",), AUTHENTICATION_GROUP, wide=True),),
        ),
        "Whoever may act as any user has what the most powerful user has; with any group also what system:masters has.",
        "Limit it by resourceNames to the users and groups that are meant, and never to groups that administer.",
        CRITICAL,
        None,
        MEDIUM,
    ),
    Power(
        "impersonate-accounts",
        "Can act as service accounts",
        _one("impersonate", on=("serviceaccounts",)),
        "Impersonating a service account gives all of its rights; in the whole cluster that includes controllers.",
        "Grant it in single namespaces, with resourceNames.",
        CRITICAL,
        MEDIUM,
        LOW,
    ),
    Power(
        "token-create",
        "Can make tokens of service accounts",
        _one("create", on=("serviceaccounts/token",)),
        "A token of a service account carries all of its rights, and can be used from outside the cluster.",
        "Grant create on serviceaccounts/token with resourceNames, in the namespace where it is needed.",
        CRITICAL,
        MEDIUM,
        LOW,
    ),
    Power(
        "secrets-list",
        "Can list or watch secrets",
        _one("list", "watch", on=("secrets",)),
        "A list of secrets contains their values; in the whole cluster that includes every stored token and password.",
        "Grant get with resourceNames instead of list; controllers can often use metadata or a label in one namespace.",
        HIGH,
        MEDIUM,
    ),
    Power(
        "secrets-get",
        "Can read secrets by name",
        _one("get", on=("secrets",)),
        "Names of secrets show in pod specs and can be guessed, so get without names reads nearly as much as list.",
        "Limit it by resourceNames to the secrets that are needed.",
        HIGH,
        MEDIUM,
        LOW,
    ),
    Power(
        "secrets-mint",
        "Can have tokens of any service account made through secrets",
        ((Right(("create",), ("secrets",)), Right(("get", "list", "watch"), ("secrets",))),),
        "A secret of the service account token type is filled with a token of the account that it names.",
        "Do not give create on secrets together with reading them, where service accounts hold more rights.",
        CRITICAL,
        MEDIUM,
    ),
    Power(
        "pod-create",
        "Can create pods",
        _one("create", on=("pods",)),
        "A pod runs as any service account of its namespace, mounts any secret there, and may be privileged where pod "
        "security does not forbid it.",
        "Enforce a pod security level on the namespaces, and keep powerful service accounts out of them.",
        HIGH,
        MEDIUM,
    ),
    Power(
        "workload-write",
        "Can create or change workloads",
        (
            (Right(WRITE, ("deployments", "daemonsets", "statefulsets", "replicasets"), "apps"),),
            (Right(WRITE, ("jobs", "cronjobs"), "batch"),),
            (Right(WRITE, ("replicationcontrollers",)),),
        ),
        "A controller creates the pods of its template, so this is as much as creating pods.",
        "As for creating pods: pod security, and no powerful service accounts in the same namespace.",
        HIGH,
        MEDIUM,
        LOW,
    ),
    Power(
        "pod-exec",
        "Can run commands in pods",
        _one("create", "get", on=("pods/exec", "pods/attach")),
        "Commands run with the pod's service account, secrets and network place.",
        "Grant it for a time, in single namespaces; use ephemeral debugging with review instead.",
        HIGH,
        MEDIUM,
        LOW,
    ),
    Power(
        "pod-debug",
        "Can add containers to running pods",
        _one(*CHANGE, on=("pods/ephemeralcontainers",)),
        "An ephemeral container runs beside the others with the pod's identity, from an image of one's choice.",
        "Grant it for a time, in single namespaces.",
        HIGH,
        MEDIUM,
        LOW,
    ),
    Power(
        "pod-change",
        "Can change running pods",
        _one(*CHANGE, on=("pods",)),
        "The image of a running pod can be exchanged, which runs other code with the pod's service account.",
        "Give workloads' owners rights on the workload, not on its pods.",
        MEDIUM,
        LOW,
        LOW,
    ),
    Power(
        "node-proxy",
        "Can reach kubelets through the API server",
        _one("get", "create", on=("nodes/proxy",), wide=True),
        "The kubelet's API runs commands in every pod of the node; get is enough, and the API server's audit log and "
        "admission do not see what is run.",
        "Grant nodes/metrics or nodes/stats, which is what monitoring needs.",
        CRITICAL,
        None,
        HIGH,
    ),
    Power(
        "node-write",
        "Can change or delete nodes",
        _one("update", "patch", "delete", on=("nodes", "nodes/status"), wide=True),
        "Labels, taints and status of nodes decide where pods run; deleting nodes drives pods elsewhere.",
        "Leave it to the node's own identity and the controllers of the cloud.",
        MEDIUM,
        None,
        LOW,
    ),
    Power(
        "certificate-approve",
        "Can approve certificates",
        (
            (
                Right(CHANGE, ("certificatesigningrequests/approval",), CERTIFICATES_GROUP, wide=True),
                Right(("approve",), ("signers",), CERTIFICATES_GROUP, wide=True),
            ),
        ),
        "An approved client certificate is a new identity of any user name, which cannot be revoked.",
        "Limit approve by resourceNames to signers that do not make client certificates.",
        HIGH,
        None,
        MEDIUM,
    ),
    Power(
        "certificate-sign",
        "Can sign certificates",
        (
            (
                Right(CHANGE, ("certificatesigningrequests/status",), CERTIFICATES_GROUP, wide=True),
                Right(("sign",), ("signers",), CERTIFICATES_GROUP, wide=True),
            ),
        ),
        "Who puts the certificate into a request decides what clients take for signed.",
        "Limit sign by resourceNames to one's own signer.",
        HIGH,
        None,
        MEDIUM,
    ),
    Power(
        "webhook-write",
        "Can configure admission webhooks",
        _one(
            *WRITE,
            on=("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
            group=ADMISSION_GROUP,
            wide=True,
        ),
        "A mutating webhook can rewrite every object that anybody writes; a validating one sees it, secrets included.",
        "Limit it by resourceNames to the product's own configuration.",
        CRITICAL,
        None,
        MEDIUM,
    ),
    Power(
        "admission-disarm",
        "Can switch off admission policies",
        (
            (
                Right(
                    ("delete", "deletecollection"),
                    ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
                    ADMISSION_GROUP,
                    wide=True,
                ),
            ),
            (
                Right(
                    ("update", "patch", "delete", "deletecollection"),
                    ("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
                    ADMISSION_GROUP,
                    wide=True,
                ),
            ),
        ),
        "Without the webhook or policy that enforces a rule, the rule does not hold.",
        "Limit it by resourceNames to the product's own configuration.",
        HIGH,
        None,
        MEDIUM,
    ),
    Power(
        "apiservice-write",
        "Can redirect API groups",
        _one(*WRITE, on=("apiservices",), group=REGISTRATION_GROUP, wide=True),
        "Requests for a group go to the server that its API service names, with the caller's identity.",
        "Limit it by resourceNames to the product's own API service.",
        HIGH,
        None,
        LOW,
    ),
    Power(
        "definition-write",
        "Can change custom resource definitions",
        _one(*WRITE, on=("customresourcedefinitions",), group=EXTENSIONS_GROUP, wide=True),
        "A conversion webhook in a definition reads and rewrites every object of the kind.",
        "Let installation do this, not the product's running service account.",
        MEDIUM,
        None,
        LOW,
    ),
    Power(
        "volume-create",
        "Can create persistent volumes",
        _one("create", on=("persistentvolumes",), wide=True),
        "A volume can be a directory of a node, which pod security does not see behind a claim.",
        "Leave it to provisioners.",
        HIGH,
    ),
    Power(
        "service-address",
        "Can draw traffic to services",
        _one(*CHANGE, on=("services/status",)),
        "A load balancer's address in the status of a service draws what is sent to that address, from any pod.",
        "Leave it to the controller of load balancers.",
        MEDIUM,
        MEDIUM,
        LOW,
    ),
    Power(
        "namespace-label",
        "Can relabel namespaces",
        _one(*CHANGE, on=("namespaces",)),
        "Labels of a namespace choose its pod security level, and which policies and webhooks look at it.",
        "Let a pipeline with review write namespaces.",
        MEDIUM,
        LOW,
        LOW,
    ),
)
"""The powers, in the order of a report."""

"""Mistakes of past years: each with its objects, the subjects who gained, and the checks that should report it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.meta.domain import RBAC_GROUP, SYSTEM_NAMESPACE, label
from simkit.meta.identity import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED
from tools.cluster.build import (
    Obj,
    account,
    bound,
    bound_in,
    cluster_role,
    group,
    paths,
    role,
    rule,
    service_account,
    user,
)
from tools.cluster.operators import READ
from tools.cluster.teams import COMPANY, people


@dataclass(frozen=True)
class Mistake:
    """One planted mistake, or something that only looks like one."""

    name: str
    what: str
    objects: Sequence[Obj]
    checks: Sequence[str] = ()
    """Identifiers of the audit checks that find it."""

    @property
    def subjects(self) -> list[Obj]:
        """The subjects that have the permissions of the mistake."""
        found = (subject for obj in self.objects for subject in obj.get("subjects") or ())
        return [dict(each) for each in {tuple(sorted(subject.items())): subject for subject in found}.values()]

    def entry(self) -> dict[str, Any]:
        """The line of the list of mistakes."""
        objects = [
            {"kind": obj["kind"], "namespace": obj["metadata"].get("namespace", ""), "name": obj["metadata"]["name"]}
            for obj in self.objects
        ]
        subjects = [
            {"kind": each["kind"], "namespace": each.get("namespace", ""), "name": each["name"]}
            for each in self.subjects
        ]
        return {
            "name": self.name,
            "what": self.what,
            "objects": objects,
            "subjects": subjects,
            "checks": list(self.checks),
        }


def _granted(name: str, *rules: dict[str, list[str]], to: Sequence[Obj]) -> tuple[Obj, Obj]:
    """A company role and a binding of the same name, everywhere."""
    whole = f"{COMPANY}:{name}"
    return cluster_role(whole, *rules), bound(whole, whole, *to)


def _granted_in(namespace: str, name: str, *rules: dict[str, list[str]], to: Sequence[Obj]) -> tuple[Obj, Obj]:
    return role(name, namespace, *rules), bound_in(namespace, name, "Role", name, *to)


MISTAKES: Final = (
    Mistake(
        "ci-cluster-admin",
        "The release pipeline was made cluster administrator to get one release out, and stayed it.",
        [
            service_account("release-train", "ci"),
            bound("release-train-admin", "cluster-admin", account("ci", "release-train")),
        ],
        ["cluster-admin"],
    ),
    Mistake(
        "wildcard-role",
        "A role for tooling allows everything on everything, under a name that does not say so.",
        _granted("toolbox", rule("*", "*", group="*"), to=[people("forecasting")]),
        ["cluster-admin"],
    ),
    Mistake(
        "read-only-reads-secrets",
        "A role for the help desk that was meant to be harmless reads every core resource, secrets among them.",
        _granted("helpdesk-read-only", rule(READ, "*"), to=[group("oidc:helpdesk")]),
        ["secrets-list"],
    ),
    Mistake(
        "secrets-by-name",
        "A reporting job may get any secret of the billing team; names are easy to guess.",
        [
            service_account("report-export", "billing"),
            *_granted_in("billing", "report-export", rule("get", "secrets"), to=[account("billing", "report-export")]),
        ],
        ["secrets-get"],
    ),
    Mistake(
        "edit-binds-roles",
        "A role that is gathered into edit may bind any role: whoever edits a namespace can rule it.",
        [
            cluster_role(
                f"{COMPANY}:edit-sharing",
                rule("create", "rolebindings", group="rbac.authorization"),
                rule("bind", "clusterroles", group="rbac.authorization"),
                labels={f"{RBAC_GROUP}/aggregate-to-edit": "true"},
            )
        ],
        ["aggregation"],
    ),
    Mistake(
        "missing-role",
        "The role was deleted, its binding was not: whoever makes a role of that name decides what the team gets.",
        [bound_in("routing", "solver-tuning", "Role", "solver-tuning", people("routing"))],
        ["missing-role"],
    ),
    Mistake(
        "missing-account",
        "A binding names a service account that is gone; whoever may make accounts in the namespace can have it.",
        [bound_in("depots", "old-scanner", "ClusterRole", "edit", account("depots", "scanner-v1"))],
        ["missing-account"],
    ),
    Mistake(
        "missing-namespace",
        "A binding names an account in a namespace that was removed; whoever makes that namespace again can have it.",
        [*_granted("legacy-exporter", rule(READ, "nodes pods secrets"), to=[account("legacy-monitoring", "exporter")])],
        ["missing-namespace"],
    ),
    Mistake(
        "everybody-views",
        "Whoever has logged in, and every service account, may view all namespaces.",
        [bound(f"{COMPANY}:everybody-views", "view", group(AUTHENTICATED))],
        ["everybody"],
    ),
    Mistake(
        "anonymous-debug",
        "Debug and metrics paths of the server answer without a login.",
        _granted("probe", paths("get", "/metrics /debug/*"), to=[user(ANONYMOUS), group(UNAUTHENTICATED)]),
        ["everybody"],
    ),
    Mistake(
        "pods-beside-an-administrator",
        "The backup agent is cluster administrator, and the data platform team may create pods in its namespace.",
        [
            service_account("strongroom-agent", "strongroom"),
            bound("strongroom-agent", "cluster-admin", account("strongroom", "strongroom-agent")),
            *_granted_in(
                "strongroom", "restore-helpers", rule(f"{READ} create delete", "pods"), to=[people("data-platform")]
            ),
        ],
        ["cluster-admin", "pod-create"],
    ),
    Mistake(
        "escalate",
        "A job that synchronises roles may write roles that allow more than it may itself.",
        [
            service_account("role-sync", "driftwatch"),
            *_granted(
                "role-sync",
                rule(f"{READ} update patch escalate", "roles clusterroles", group="rbac.authorization"),
                to=[account("driftwatch", "role-sync")],
            ),
        ],
        ["rbac-escalate"],
    ),
    Mistake(
        "bind-anything",
        "Leads onboard people themselves: they may bind any role, cluster-admin included.",
        _granted(
            "onboarding",
            rule("create update patch", "rolebindings clusterrolebindings", group="rbac.authorization"),
            rule("bind", "roles clusterroles", group="rbac.authorization"),
            to=[group("oidc:tech-leads")],
        ),
        ["rbac-bind"],
    ),
    Mistake(
        "impersonate-anybody",
        "Support leads may act as any user and in any group to see what customers see.",
        _granted("act-as", rule("impersonate", "users groups"), to=[group("oidc:support-leads")]),
        ["impersonate"],
    ),
    Mistake(
        "kubelet-door",
        "The probe that measures nodes may reach every kubelet through the server, and so run commands in every pod.",
        [
            service_account("node-probe", "lanternwatch"),
            *_granted("node-probe", rule("get", "nodes/proxy"), to=[account("lanternwatch", "node-probe")]),
        ],
        ["node-proxy"],
    ),
    Mistake(
        "exec-everywhere",
        "People on call may run commands in every pod of every namespace, those of administrators included.",
        _granted(
            "on-call",
            rule(READ, "pods pods/log"),
            rule("create", "pods/exec pods/portforward"),
            to=[group("oidc:on-call")],
        ),
        ["pod-exec"],
    ),
    Mistake(
        "debug-everywhere",
        "The driver app team may add containers to running pods of every namespace.",
        _granted(
            "debug",
            rule("get list", "pods"),
            rule("patch update", "pods/ephemeralcontainers"),
            to=[people("driver-app")],
        ),
        ["pod-debug"],
    ),
    Mistake(
        "tokens-of-the-powerful",
        "The job runner may make tokens of the delivery operator, which may do everything.",
        _granted_in(
            "driftwatch", "sync-trigger", rule("create", "serviceaccounts/token"), to=[account("ci", "shiftwork")]
        ),
        ["token-create"],
    ),
    Mistake(
        "webhooks-for-a-team",
        "The web shop team may change every admission webhook, and so see and change what others write.",
        _granted(
            "feature-flags",
            rule(f"{READ} create update patch", "mutatingwebhookconfigurations", group="admissionregistration"),
            to=[people("web-shop")],
        ),
        ["webhook-write"],
    ),
    Mistake(
        "certificates-for-anybody",
        "The depots team hands out certificates to scanners; it may approve and sign them for any user name.",
        _granted(
            "scanner-onboarding",
            rule(f"{READ} create", "certificatesigningrequests", group="certificates"),
            rule(
                "update", "certificatesigningrequests/approval certificatesigningrequests/status", group="certificates"
            ),
            rule("approve sign", "signers", group="certificates", names=[label("kube-apiserver-client")]),
            to=[people("depots")],
        ),
        ["certificate-approve", "certificate-sign"],
    ),
    Mistake(
        "namespaces-relabelled",
        "The parcels team may patch namespaces, and so take away the labels that keep privileged pods out.",
        _granted("namespace-owner", rule("get list update patch", "namespaces"), to=[people("parcels")]),
        ["namespace-label"],
    ),
    Mistake(
        "system-workloads",
        "The routing team tunes the network and may change every daemon set of the system namespace.",
        _granted_in(
            SYSTEM_NAMESPACE,
            "network-tuning",
            rule(f"{READ} update patch", "daemonsets", group="apps"),
            to=[people("routing")],
        ),
        ["workload-write"],
    ),
    Mistake(
        "host-paths",
        "The warehouse job may create persistent volumes, any path of any node among them.",
        _granted(
            "volume-import",
            rule(f"{READ} create delete", "persistentvolumes"),
            to=[account("data-platform", "warehouse-sync")],
        ),
        ["volume-create"],
    ),
    Mistake(
        "default-account-edits",
        "Every pod of the web shop that names no account of its own may edit the namespace.",
        [bound_in("web-shop", "theme-builder", "ClusterRole", "edit", account("web-shop", "default"))],
        ["default-account"],
    ),
    Mistake(
        "dead-rule",
        "A rule names deployments in the core group, where there are none: it allows nothing.",
        _granted_in(
            "customers", "mailer-restart", rule("get patch", "deployments"), to=[account("customers", "mailer")]
        ),
        ["unknown-resource"],
    ),
    Mistake(
        "empty-binding",
        "The last person left the group's predecessor: a binding without subjects.",
        [bound_in("tracking", "page-editors", "ClusterRole", "edit")],
        ["empty-binding"],
    ),
    Mistake(
        "bound-twice",
        "The same role is bound to the same people twice: taking one binding away changes nothing.",
        [bound_in("billing", "team-again", "ClusterRole", "edit", people("billing"))],
        ["duplicate-binding"],
    ),
    Mistake(
        "unused-role",
        "A role that nobody has waits to be bound.",
        [cluster_role(f"{COMPANY}:migration-2023", rule("*", "*", group="apps core batch"))],
        ["unused-role"],
    ),
)

INNOCENT: Final = (
    Mistake(
        "impersonates-one-user",
        "Acting as one named user who may do little.",
        [
            *_granted(
                "demo-tour", rule("impersonate", "users", names=["demo@pellowick.example"]), to=[group("oidc:sales")]
            )
        ],
    ),
    Mistake(
        "binds-view-only",
        "May bind view, and nothing that its holder lacks otherwise.",
        _granted_in(
            "tracking",
            "share-view",
            rule("create", "rolebindings", group="rbac.authorization"),
            rule("bind", "clusterroles", group="rbac.authorization", names=["view"]),
            to=[user("intake-lead@pellowick.example")],
        ),
    ),
    Mistake(
        "gets-one-secret",
        "A named secret of its own namespace, which the application uses anyway.",
        _granted_in(
            "web-shop",
            "checkout-key",
            rule("get", "secrets", names=["app-settings"]),
            to=[account("web-shop", "checkout")],
        ),
    ),
    Mistake(
        "signs-for-its-own-signer",
        "May approve for a signer that makes no certificates for the server.",
        _granted(
            "label-printers",
            rule("approve", "signers", group="certificates", names=["printers.pellowick.example/label"]),
            to=[account("parcels", "label-printer")],
        ),
    ),
)


def planted() -> Iterator[Obj]:
    """The objects of all mistakes, and of what only looks like one."""
    for mistake in (*MISTAKES, *INNOCENT):
        yield from mistake.objects

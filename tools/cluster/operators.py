"""A dozen operators as companies install them: accounts, roles, definitions, webhooks and workloads of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.meta.domain import RBAC_GROUP, SYSTEM_NAMESPACE, api_group, label
from tools.cluster.build import (
    Obj,
    Rule,
    account,
    bound,
    bound_in,
    cluster_role,
    config_map,
    definition,
    made,
    namespace,
    paths,
    role,
    rule,
    secret,
    service,
    service_account,
    webhook,
)
from tools.cluster.workloads import Workloads

READ: Final = "get list watch"
WRITE: Final = "create update patch delete"
ALL: Final = f"{READ} {WRITE} deletecollection"
LEASES: Final = rule("get create update patch", "leases", group="coordination")
EVENTS: Final = rule("create patch", "events", group="core events")
REVIEWS: Final = (
    rule("create", "tokenreviews", group="authentication"),
    rule("create", "subjectaccessreviews", group="authorization"),
)


@dataclass(frozen=True)
class Operator:
    """One product: its namespace has its name, and so have its account, roles and bindings."""

    name: str
    rules: Sequence[Rule]
    namespace: str = ""
    group: str = ""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Kind to plural, of its definitions; a plural that ends in ``!`` is cluster-scoped."""
    own: Sequence[Rule] = (LEASES, EVENTS, rule(ALL, "configmaps"))
    """What it may do in its own namespace."""
    agents: bool = False
    """Whether it runs on every node rather than once."""
    webhooks: Sequence[tuple[str, str, str, str]] = ()
    """Kind of configuration, operations, resources, groups."""
    secrets: Sequence[str] = ()
    pod: Mapping[str, Any] = field(default_factory=dict)
    privileged: bool = False

    @property
    def home(self) -> str:
        return self.namespace or self.name

    @property
    def custom(self) -> tuple[str, str]:
        """Its own plurals, and those with their status."""
        plurals = [plural.rstrip("!") for plural in self.kinds.values()]
        return " ".join(plurals), " ".join(f"{plural}/status {plural}/finalizers" for plural in plurals)


OPERATORS: Final = (
    Operator(
        "edge-router",  # an ingress controller
        [
            rule("list watch", "configmaps endpoints nodes pods secrets namespaces"),
            rule(READ, "services"),
            rule(READ, "ingresses ingressclasses", group="networking"),
            rule("update", "ingresses/status", group="networking"),
            rule("list watch get", "endpointslices", group="discovery"),
            EVENTS,
        ],
        webhooks=[("Validating", "CREATE UPDATE", "ingresses", "networking")],
        secrets=["edge-router-admission"],
    ),
    Operator(
        "sealmaker",  # a certificate manager
        [
            rule(f"{READ} create update patch delete", "secrets"),
            rule(f"{READ} create delete update", "ingresses", group="networking"),
            rule("update", "ingresses/finalizers", group="networking"),
            rule(f"{READ} create delete", "pods services"),
            rule("get list watch update", "certificatesigningrequests", group="certificates"),
            rule("update", "certificatesigningrequests/status", group="certificates"),
            rule("sign", "signers", group="certificates", names=["issuers.sealmaker.example/*"]),
            rule(
                "get list watch update patch",
                "validatingwebhookconfigurations mutatingwebhookconfigurations",
                group="admissionregistration",
            ),
            rule("get list watch update patch", "customresourcedefinitions", group="apiextensions"),
            EVENTS,
        ],
        group="sealmaker.example",
        kinds={"Certificate": "certificates", "Issuer": "issuers", "ClusterIssuer": "clusterissuers!"},
        webhooks=[
            ("Mutating", "CREATE UPDATE", "certificates", "sealmaker.example"),
            ("Validating", "CREATE UPDATE", "*/*", "sealmaker.example"),
        ],
        secrets=["sealmaker-webhook-ca", "acme-account-key"],
    ),
    Operator(
        "driftwatch",  # delivers what is in version control
        [rule("*", "*", group="*"), paths("*", "*")],
        group="driftwatch.example",
        kinds={"Application": "applications", "Project": "projects", "Repository": "repositories"},
        secrets=["driftwatch-repo-credentials", "driftwatch-initial-admin"],
    ),
    Operator(
        "lanternwatch",  # metrics and alerts
        [
            rule(READ, "nodes nodes/metrics services endpoints pods namespaces"),
            rule("get", "configmaps"),
            rule(ALL, "statefulsets", group="apps"),
            rule(READ, "ingresses", group="networking"),
            rule(READ, "endpointslices", group="discovery"),
            *REVIEWS,
            paths("get", "/metrics /metrics/cadvisor"),
        ],
        group="lanternwatch.example",
        kinds={"ScrapeTarget": "scrapetargets", "AlertRule": "alertrules", "Collector": "collectors"},
        secrets=["lanternwatch-web-login", "alert-receivers"],
    ),
    Operator(
        "strongroom",  # backups
        [rule(ALL, "backups restores schedules storagelocations", group="strongroom.example")],
        group="strongroom.example",
        kinds={
            "Backup": "backups",
            "Restore": "restores",
            "Schedule": "schedules",
            "StorageLocation": "storagelocations",
        },
        secrets=["strongroom-bucket-credentials"],
    ),
    Operator(
        "keyferry",  # brings secrets from a vault
        [
            rule(f"{READ} create update patch delete", "secrets"),
            rule(READ, "namespaces configmaps serviceaccounts"),
            rule("create", "serviceaccounts/token"),
            EVENTS,
        ],
        group="keyferry.example",
        kinds={"ExternalSecret": "externalsecrets", "Vault": "vaults", "ClusterVault": "clustervaults!"},
        webhooks=[("Validating", "CREATE UPDATE DELETE", "externalsecrets vaults", "keyferry.example")],
        secrets=["keyferry-webhook", "vault-approle"],
    ),
    Operator(
        "weftline",  # a service mesh
        [
            rule(READ, "configmaps endpoints nodes pods services namespaces secrets"),
            rule("create", "serviceaccounts/token"),
            rule(READ, "deployments statefulsets daemonsets", group="apps"),
            rule(READ, "ingresses ingressclasses", group="networking"),
            rule("*", "ingresses/status", group="networking"),
            rule(
                "get list watch update patch",
                "mutatingwebhookconfigurations",
                group="admissionregistration",
                names=["weftline"],
            ),
            rule("get list watch", "customresourcedefinitions", group="apiextensions"),
            rule(ALL, "leases", group="coordination"),
            *REVIEWS,
        ],
        group="weftline.example",
        kinds={"TrafficRoute": "trafficroutes", "PeerPolicy": "peerpolicies", "MeshGateway": "meshgateways"},
        webhooks=[("Mutating", "CREATE", "pods", "core")],
        secrets=["weftline-ca", "weftline-remote-token"],
    ),
    Operator(
        "tidepool",  # scales nodes up and down
        [
            EVENTS,
            rule("create", "pods/eviction"),
            rule("update", "pods/status"),
            rule("get list watch update", "nodes"),
            rule(
                "get list watch",
                "pods services replicationcontrollers persistentvolumeclaims persistentvolumes namespaces",
            ),
            rule("get list watch", "replicasets daemonsets statefulsets", group="apps"),
            rule("get list watch", "poddisruptionbudgets", group="policy"),
            rule("get list watch", "storageclasses csinodes csidrivers csistoragecapacities", group="storage"),
            rule("get list watch", "jobs cronjobs", group="batch"),
        ],
        namespace=SYSTEM_NAMESPACE,
        own=[LEASES, rule("get update", "configmaps", names=["tidepool-status"]), rule("create", "configmaps")],
        secrets=["tidepool-cloud-credentials"],
        pod={"priorityClassName": "system-cluster-critical"},
    ),
    Operator(
        "houserules",  # a policy engine
        [
            rule(READ, "*", group="*"),
            rule(
                "create update patch delete",
                "validatingwebhookconfigurations mutatingwebhookconfigurations",
                group="admissionregistration",
            ),
            rule("create update patch delete", "networkpolicies", group="networking"),
            rule("create update patch delete", "configmaps resourcequotas limitranges secrets"),
            EVENTS,
        ],
        group="houserules.example",
        kinds={"HouseRule": "houserules", "ClusterHouseRule": "clusterhouserules!", "RuleReport": "rulereports"},
        webhooks=[("Mutating", "CREATE UPDATE", "*", "*"), ("Validating", "CREATE UPDATE DELETE CONNECT", "*/*", "*")],
        secrets=["houserules-tls-pair"],
    ),
    Operator(
        "cistern",  # makes volumes
        [
            rule("get list watch create delete patch", "persistentvolumes"),
            rule("get list watch update patch", "persistentvolumeclaims persistentvolumeclaims/status"),
            rule("get list watch", "nodes pods"),
            rule("get list watch", "storageclasses csinodes", group="storage"),
            rule("get list watch update patch", "volumeattachments volumeattachments/status", group="storage"),
            EVENTS,
        ],
        agents=True,
        group="cistern.example",
        kinds={"VolumePool": "volumepools!", "VolumeCopy": "volumecopies"},
        secrets=["cistern-array-login"],
        privileged=True,
        pod={
            "hostPID": True,
            "volumes": [{"hostPath": {"path": "/var/lib/kubelet", "type": "Directory"}, "name": "kubelet"}],
        },
    ),
    Operator(
        "porthole",  # a dashboard
        [rule(READ, "pods nodes", group="metrics"), rule(READ, "namespaces nodes events")],
        own=[
            rule("get update delete", "secrets", names=["porthole-key-holder", "porthole-csrf"]),
            rule("get update", "configmaps", names=["porthole-settings"]),
        ],
        secrets=["porthole-key-holder", "porthole-csrf"],
    ),
    Operator(
        "shiftwork",  # runs continuous integration jobs
        [rule(READ, "nodes namespaces")],
        namespace="ci",
        own=[
            rule(f"{READ} create delete", "pods pods/attach secrets configmaps"),
            rule("get create", "pods/exec"),
            rule(READ, "pods/log"),
            LEASES,
        ],
        secrets=["shiftwork-registration", "registry-push"],
    ),
)


def installed(workloads: Workloads) -> Iterator[Obj]:
    """The objects of all operators, in the order in which they were installed."""
    for number, operator in enumerate(OPERATORS):
        yield from _definitions(operator)
        yield from _access(operator)
        yield from _running(operator, workloads, f"10.43.1.{number + 1}")
    yield made(
        f"{api_group('networking')}/v1",
        "IngressClass",
        "edge-router",
        spec={"controller": "edge-router.example/controller"},
    )
    for name, policy in (("depot-fast", "Delete"), ("depot-archive", "Retain")):
        yield made(
            f"{api_group('storage')}/v1",
            "StorageClass",
            name,
            parameters={"pool": name},
            provisioner="cistern.example",
            reclaimPolicy=policy,
            volumeBindingMode="WaitForFirstConsumer",
        )


def _definitions(operator: Operator) -> Iterator[Obj]:
    if operator.home != SYSTEM_NAMESPACE:
        level = "privileged" if operator.privileged else "baseline"
        yield namespace(operator.home, **{label("enforce", "pod-security"): level})
        yield service_account("default", operator.home)
    for kind, plural in operator.kinds.items():
        yield definition(operator.group, kind, plural.rstrip("!"), namespaced=not plural.endswith("!"))


def _access(operator: Operator) -> Iterator[Obj]:
    name, home = operator.name, operator.home
    labels = {label("name", "app"): name, label("part-of", "app"): name}
    plurals, details = operator.custom
    own = (
        [rule(ALL, plurals, group=operator.group), rule("get update patch", details, group=operator.group)]
        if plurals
        else []
    )
    yield service_account(name, home, **labels)
    yield cluster_role(name, *operator.rules, *own, labels=labels)
    yield bound(name, name, account(home, name), labels=labels)
    yield role(f"{name}-own", home, *operator.own, labels=labels)
    yield bound_in(home, f"{name}-own", "Role", f"{name}-own", account(home, name))
    for level, verbs in (("view", READ), ("edit", f"{WRITE} deletecollection")) if plurals else ():
        wider = {"view": ("view", "edit", "admin"), "edit": ("edit", "admin")}[level]
        given = {f"{RBAC_GROUP}/aggregate-to-{word}": "true" for word in wider}
        yield cluster_role(f"{name}:{level}", rule(verbs, plurals, group=operator.group), labels={**labels, **given})


def _running(operator: Operator, workloads: Workloads, address: str) -> Iterator[Obj]:
    name, home = operator.name, operator.home
    yield config_map(f"{name}-settings", home, **{"settings.yaml": f"log: info\nproduct: {name}\n"})
    for each in operator.secrets:
        yield secret(each, home, "value")
    yield service(name, home, 443, address)
    pod = {**operator.pod, **({"container": {"securityContext": {"privileged": True}}} if operator.privileged else {})}
    make = workloads.daemon_set if operator.agents else workloads.deployment
    yield from make(name, home, f"registry.example/{name}:2.4.1", name, **pod)
    for kind, operations, resources, groups in operator.webhooks:
        yield webhook(f"{kind}WebhookConfiguration", name, name, home, operations, resources, groups)

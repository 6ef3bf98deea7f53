"""A plausible wrong answer to every exercise of the course, and words of the explanation that it must get."""

from __future__ import annotations

from typing import Final

API: Final = "apiGroup: rbac.authorization.k8s.io"
ORDERS: Final = (
    '"type": "object", "properties": {"tea": {"type": "string"}, "boxes": {"type": "integer", "minimum": 0}}'
)

WRONG: Final[dict[str, dict[str, tuple[str, list[str]]]]] = {
    "01-objects-verbs-and-resources": {
        "paths": (
            """answer = {
    "prices": "/api/v1/namespaces/shop/configmaps",
    "pods of shop": "/api/v1/namespaces/shop/pod",
    "all deployments": "/api/v1/deployments",
    "node-1": "/api/v1/namespaces/shop/nodes/node-1",
}""",
            ["answers with ConfigMapList", "answers 404", "could not find the requested resource"],
        ),
        "verbs": (
            """answer = {
    "GET /api/v1/nodes": "get",
    "DELETE /api/v1/namespaces/shop/pods": "delete",
    "GET /api/v1/pods?watch=1": "list",
    "POST /apis/batch/v1/namespaces/shop/jobs": "create",
    "GET /api/v1/nodes/node-1": 1,
    "PUT /apis/apps/v1/namespaces/shop/deployments/web/scale": "patch",
}""",
            [
                "cannot deletecollection resource",
                "cannot list resource",
                "cannot update resource",
                "write one of the task's words, in quotes",
            ],
        ),
        "rule": (
            'answer = {"apiGroups": [""], "resources": ["pods", "pods/*"], "verbs": ["get"]}',
            [
                "must pass, and was refused (403)",
                "allows pods, which does not include pods/log",
                "the log is not the pod",
            ],
        ),
        "rollout": (
            'answer = {"apiGroups": [""], "resources": ["deployments"], "verbs": ["get", "patch"]}',
            ["names the API group '', not 'apps'", "which has no such resource"],
        ),
    },
    "02-versions-watches-and-conflicts": {
        "statuses": (
            'answer = {"put-same": 409, "put-old": 200, "put-none": 409, "patch": 409, "patch-old": 200, "delete-old": 200}',
            ["the server answers 409: Operation cannot be fulfilled", "the server answers 200"],
        ),
        "loop": (
            """def answer(trial):
    obj = send(trial, "GET", PRICES).object
    del obj["metadata"]["resourceVersion"]
    obj["data"]["sold"] = str(int(obj["data"].get("sold", "0")) + 1)
    send(trial, "PUT", PRICES, obj)""",
            ["add to what you have read", "milk is gone"],
        ),
        "claims": (
            'answer = {"1": True, "2": False, "3": False, "4": True, "5": False}',
            ["counted apart", "410", "begins with ['ADDED'"],
        ),
    },
    "03-patches-and-server-side-apply": {
        "smallest": (
            """answer = ("merge", {"metadata": {"labels": {"team": ""}}, "spec": {"template": {"spec": {
    "containers": [{"name": "web", "image": "shop/web:1", "env": [{"name": "MODE", "value": "sale"}]}]}}}})""",
            ["a merge patch replaces the whole list", "null removes a key"],
        ),
        "applies": (
            'answer = {"same": 409, "other": 200, "silent": 200, "owner": 409, "nameless": 200}',
            ['conflict with "autoscaler"', "fieldManager: Required value", "200: no conflict"],
        ),
        "handover": (
            """def answer(trial):
    patch(trial, "apply", {**IDENTITY, "spec": {"replicas": 1}}, "autoscaler")""",
            ["spec.replicas is owned by ['", "spec.replicas is 1", "share it, let go, then change"],
        ),
    },
    "04-rbac-from-zero": {
        "pods": (
            f"""answer = '''
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: ben}}
roleRef: {{{API}, kind: ClusterRole, name: edit}}
subjects: [{{{API}, kind: User, name: ben}}]
'''""",
            ["ClusterRoleBinding ben grants ClusterRole edit", "a RoleBinding holds in its own namespace"],
        ),
        "where": (
            """answer = {
    "RoleBinding in shop: list pods in shop": False,
    "RoleBinding in shop: list pods in bank": True,
    "RoleBinding in shop: list secrets in shop": True,
    "ClusterRoleBinding: list pods in bank": False,
    "ClusterRoleBinding: list pods everywhere": False,
    "ClusterRoleBinding: list nodes": True,
}""",
            ["RoleBinding shop/try grants ClusterRole view", "near miss", "only in shop, not in bank"],
        ),
        "helper": (
            f"""answer = '''
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: dora, namespace: shop}}
roleRef: {{{API}, kind: ClusterRole, name: deployment-reader}}
subjects: [{{{API}, kind: User, name: dora}}]
'''""",
            ["near miss", "but the role does not exist", "which API group are deployments in?"],
        ),
        "repair": (
            """answer = '''
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: till-reader, namespace: shop}
rules: [{apiGroups: [""], resources: [secrets], verbs: ["*"]}]
'''""",
            ["keep resourceNames", "a list hands out all of them"],
        ),
    },
    "05-groups-and-least-privilege": {
        "groups": (
            'answer = {"system:serviceaccounts", "system:serviceaccounts:shop"}',
            ["compare with the groups of robot"],
        ),
        "who": ('answer = {"user:gus", "user:hal"}', ["✓ user:gus", "user:hal cannot list them:", "2 more"]),
        "closed": (
            'def answer(trial):\n    trial.delete("clusterrolebinding", "helpdesk")',
            ["replace the role, do not remove it", "it comes by a group"],
        ),
        "part": (
            """answer = '''
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: view-teas, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules: [{apiGroups: [shop.example.com], resources: [teas], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: teas}
rules: []
'''""",
            ["view only reads", "new ClusterRoles: ['teas', 'view-teas']"],
        ),
    },
    "06-service-accounts-and-tokens": {
        "valid": (
            """answer = {
    "one hour token, after 59 minutes": False,
    "one hour token, after 2 hours": True,
    "token for the audience vault, asked by the API server": True,
    "token for the audience vault, asked by vault": False,
    "token bound to the pod, after the pod is deleted": True,
    "token of the account, after the account is deleted": True,
    "token of the account, after it was deleted and made again": True,
}""",
            ["the server says: authenticated", "expired", 'audiences ["vault"]'],
        ),
        "off": (
            'def answer(trial):\n    trial.delete("serviceaccount", "robot", "shop")',
            ["not found", "keep the account"],
        ),
        "static": (
            """answer = '''
apiVersion: v1
kind: Pod
metadata: {name: static, namespace: shop}
spec: {containers: [{name: web, image: "shop/static:1"}]}
'''""",
            ["a token is mounted at /var/run/secrets/kubernetes.io/serviceaccount", "it runs as default"],
        ),
    },
    "07-escalation-and-how-to-close-it": {
        "which": (
            'answer = {"user:kim", "user:ned", "user:gus"}',
            ["no path to cluster-admin", "'user:gus' is none of the four", "2 more"],
        ),
        "close": (
            'def answer(trial):\n    trial.delete("rolebinding", "runners", "shop")',
            ["Gus needs his pods", "proven: user:ida", "Ida may impersonate any account everywhere"],
        ),
        "bind": (
            'answer = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["*"]}',
            ["it must be refused, and was accepted", "proven: user:ned"],
        ),
    },
    "08-admission": {
        "expression": (
            "answer = \"object.spec.template.spec.containers[0].image.startsWith('registry.shop/') "
            "&& object.metadata.labels.team != ''\"",
            ["all containers, not the first", "for another reason"],
        ),
        "mutate": (
            """def answer(request):
    request["object"]["metadata"]["labels"] = {"team": "shop"}
    return request["object"]""",
            ["{'a': 'b', 'team': 'shop'} is right", "{'team': 'tea'} is right"],
        ),
        "down": (
            """answer = {
    "failurePolicy Fail, create a deployment": "stored",
    "failurePolicy Ignore, create a deployment with :latest": "refused",
    "failurePolicy Fail, create a config map": "refused",
    "failurePolicy Fail, delete a deployment": "refused",
}""",
            [
                "failed calling webhook",
                "Ignore lets the write pass unseen",
                "name only CREATE and UPDATE of deployments",
            ],
        ),
        "restricted": (
            """answer = '''
apiVersion: v1
kind: Pod
metadata: {name: strict, namespace: shop}
spec:
  securityContext: {runAsNonRoot: true}
  containers: [{name: web, image: "registry.shop/web:1"}]
'''""",
            ['violates PodSecurity "restricted:latest"', "seccompProfile"],
        ),
    },
    "09-custom-resources": {
        "schema": (
            f"answer = {{{ORDERS}}}",
            ["maximum", "required is a list of names", "an order without boxes is stored as {'tea': 'assam'}"],
        ),
        "rules": (
            'answer = [{"rule": "has(self.gift) == has(self.card)", "message": "a gift needs a card"}]',
            ["it must be accepted, and was refused", "it must be refused, and was accepted", "oldSelf"],
        ),
        "versions": (
            """answer = {
    "after v2 became the storage version, a new order keeps its priority when read as v2": False,
    "after v2 became the storage version, the order 'new' has its priority back": True,
    "after v1 is not served any more, the order 'old' can be read as v2": False,
    "after v1 is not served any more, it can be read as v1": True,
    "v1 can be taken out of the definition while status.storedVersions names it": True,
}""",
            ["what was pruned is lost", "the server answers 404", "storedVersions"],
        ),
    },
    "10-controllers": {
        "back": (
            """answer = {
    "one pod is deleted": 2,
    "the ReplicaSet is deleted": 0,
    "the label app is taken off one pod: pods with the label": 2,
    "the label app is taken off one pod: all pods in the namespace": 3,
    "the deployment is deleted with propagationPolicy Orphan": 0,
    "the deployment is deleted": 3,
    "a node fails, after one minute: Running pods": 2,
    "a node fails, after ten minutes: Running pods": 2,
}""",
            ["afterwards there are 3", "afterwards there are 4", "afterwards there are 0: none"],
        ),
        "reconcile": (
            """def answer(trial):
    for each in trial.list("orders", "shop"):
        trial.apply(deployment(each["metadata"]["name"], each["spec"]["boxes"], annotations={"at": str(len(RUNS))}))
        RUNS.append(1)


RUNS = []""",
            ["although nothing had changed", "set the owner"],
        ),
        "finalizer": (
            """def answer(trial):
    for each in trial.list("orders", "shop"):
        trial.apply({**each, "metadata": {**each["metadata"], "finalizers": []}})""",
            ["there are the bills []", "take off yours only", "all orders"],
        ),
    },
    "11-versions-and-deprecation": {
        "after": (
            """answer = {
    "GET web in policy/v1": 404,
    "GET web in policy/v1beta1": 200,
    "POST a manifest in policy/v1beta1": 201,
    "POST a manifest in policy/v1": 404,
    "DELETE web in policy/v1": 404,
}""",
            ["404 ", "the server could not find the requested resource"],
        ),
        "allowed": (
            """answer = {
    "v1beta1 is deprecated in release 2 and removed in release 3": True,
    "v1beta1 is deprecated in release 2 and removed in release 5": False,
    "v1alpha1 is introduced in release 1 and removed in release 2": False,
    "v1 is deprecated in release 2 in favour of v2beta1": True,
    "v1 is stored in the first release that serves it, beside v1beta1": True,
}""",
            ["9 months are due", "the policy has nothing against it", "storage version"],
        ),
        "life": (
            'answer = {"preferred v1 from": "2", "storage v1 from": "4", "v1beta1 removed in": "4"}',
            ["but 1 does not serve v1", "the policy allows it earlier than in release 4", "complies from 5"],
        ),
    },
    "12-an-upgrade-rehearsed": {
        "read": (
            'answer = {"manifest", "stored cron job", "binding", "dashboard"}',
            ["served as batch/v1 at 1.25", "is served at both releases", "none of the five words", "2 more"],
        ),
        "mend": (
            """answer = '''
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: backup, namespace: shop}
spec:
  selector: {matchLabels: {app: backup}}
  template:
    metadata: {labels: {app: backup}}
    spec:
      nodeSelector: {node-role.kubernetes.io/control-plane: ""}
      tolerations: [{key: node-role.kubernetes.io/master, effect: NoSchedule}]
      containers: [{name: backup, image: "shop/backup:1"}]
'''""",
            ["not so: it runs at 1.24", "not so: it runs at 1.25", "and tolerate ['node-role.kubernetes.io/master']"],
        ),
        "moment": ('answer = {"late"}', ["GET batch/v1 at 1.23 answers 200", "GET batch/v1beta1 at 1.25 answers 404"]),
    },
    "13-a-break-in-told-backwards": {
        "who": (
            'answer = {"sa:ci/release-train", "kube-dns-cache"}',
            ["could do everything: yes from 22:00 to 05:08", "'kube-dns-cache' is no subject", "1 more"],
        ),
        "hand": (
            'answer = {"user:rosa@pellowick.example", "ClusterRoleBinding kube-dns-cache"}',
            ["22:45 user:rosa@pellowick.example: create RoleBinding parcels/weekend", "1 more"],
        ),
        "loot": ('answer = {"billing/stripe-live", "billing/app-settings"}', ["answered 404", "1 more"]),
        "clean": (
            "def answer(trial):\n    trial.delete('rolebinding', 'weekend', 'parcels')",
            ["user:audit-readonly@pellowick.example still can", "Omar cannot delete pods in parcels"],
        ),
    },
}

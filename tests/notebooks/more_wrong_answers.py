"""Answers that are wrong in many ways, by lesson: the exercise, the answer, and words of the explanation that it must get."""

from __future__ import annotations

from typing import Final

API: Final = "apiGroup: rbac.authorization.k8s.io"
RAISES: Final = "def answer(trial):\n    raise ValueError('boom')"
EXITS: Final = "def answer(trial):\n    raise SystemExit"
EXITED: Final = ["SystemExit", "in the line: raise SystemExit", "leave exit out"]
NOTHING: Final = "def answer(trial):\n    return None"
WAITS: Final = "async def answer(trial):\n    return None"
YIELDS: Final = "def answer(trial):\n    yield trial"
TWO: Final = "def answer(one, two):\n    return None"
NO_SHOP: Final = "def answer(trial):\n    trial.delete('namespace', 'shop')"
SHOP_GONE: Final = ["the namespace shop is gone, with everything in it"]
NEW_SPACE: Final = "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'mine'}}"
TABLE: Final = "import pandas\nanswer = pandas.DataFrame({'a': [1, 2]})"
NO_DICTIONARY: Final = ["the answer must be a dictionary"]
TRUTH: Final = ["write True or False, without quotes"]


def _role(kind: str, name: str, place: str, rules: str) -> str:
    return (
        f"apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata: {{name: {name}{place}}}\nrules: [{rules}]\n"
    )


def _bound(kind: str, place: str, role: str, who: str) -> str:
    head = f"apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata: {{name: given{place}}}\n"
    return f"---\n{head}roleRef: {{{API}, {role}}}\nsubjects: [{{{API}, kind: User, name: {who}}}]\n"


def _text(*documents: str) -> str:
    return f"answer = '''\n{''.join(documents)}'''"


_PODS = "{apiGroups: [''], resources: [pods], verbs: [get, list]}".replace("''", '""')
_SHOP = ", namespace: shop"
_DAEMON_SET = """apiVersion: apps/v1
kind: DaemonSet
metadata: {name: backup, namespace: shop}
spec:
  selector: {matchLabels: {app: backup}}
  template:
    metadata: {labels: {app: backup}}
    spec:
      containers: [{name: backup, image: "shop/backup:1"}]
"""

MORE_WRONG: Final[dict[str, list[tuple[str, str, list[str]]]]] = {
    "01-objects-verbs-and-resources": [
        (
            "paths",
            'answer = {"prizes": "/api"}',
            ["no such key: 'prizes' (did you mean 'prices'?)", "there is no path yet"],
        ),
        (
            "paths",
            'answer = {"prices": "GET /api/v1/pods", "node-1": 7}',
            ["without method and server", "7 is no path"],
        ),
        (
            "paths",
            'answer = {"pods of shop": "/api/v1/pods"}',
            ["answers with default/till, default/web, shop/till, shop/web, and shop/till, shop/web was asked for"],
        ),
        ("verbs", TABLE, [*NO_DICTIONARY, "it is of the type DataFrame"]),
        (
            "verbs",
            'answer = {"GET /api/v1/nodes": ["list"]}',
            ["write one of the task's words, in quotes", "no prediction yet"],
        ),
        ("rule", 'answer = {"apigroups": [""], "resource": ["pods"], "verbs": ["get"]}', ["did you mean 'apiGroups'?"]),
        ("rule", 'answer = {"apiGroups": "", "resources": "pods/log", "verbs": "get"}', ["is text, not a list"]),
        (
            "rule",
            'answer = {"apiGroups": [""], "resources": ["pods/logs"], "verbs": ["get"]}',
            ["did you mean pods/log?"],
        ),
        ("rule", 'answer = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}', ["the log is not the pod"]),
        (
            "rule",
            'answer = {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["list"]}',
            ["allows list, not get"],
        ),
        (
            "rollout",
            'answer = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "patch"], "resourceNames": ["*"]}',
            ["is limited to the names *; resourceNames do not support wildcards"],
        ),
        (
            "rollout",
            'answer = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"], "resourceNames": ["web"]}',
            ["nobody asked for delete", "also gained: * deployments.apps web in shop"],
        ),
        (
            "paths",
            'answer = {"pods of shop": "/api/v1/namespaces/shop/pods?watch=1"}',
            ["is a watch: its answer does not end"],
        ),
        (
            "paths",
            'answer = {"prices": "/healthz", "node-1": "/version"}',
            ["answers with something that is no object"],
        ),
    ],
    "02-versions-watches-and-conflicts": [
        ("statuses", 'answer = {"put-same": "200"}', ["write a number, without quotes"]),
        ("statuses", TABLE, NO_DICTIONARY),
        ("loop", NOTHING, ["the answer never read the price list"]),
        ("loop", "def answer(trial):\n    send(trial, 'GET', PRICES)", ["wrote nothing: send it back with PUT"]),
        (
            "loop",
            "def answer(trial):\n    obj = send(trial, 'GET', PRICES).object\n    send(trial, 'PUT', PRICES, obj)",
            ["sold is 5: your write did not arrive", "did you read again and retry?"],
        ),
        (
            "loop",
            "def answer(trial):\n    while True:\n        send(trial, 'GET', PRICES)",
            ["after 100 requests the loop still goes on"],
        ),
        ("loop", EXITS, EXITED),
        ("loop", WAITS, ["the function must not be asynchronous"]),
        (
            "loop",
            f"def answer(trial):\n    cluster.apply({NEW_SPACE})",
            ["changed the cluster that the exercise starts from"],
        ),
        ("claims", 'answer = {"1": "yes", "2": 1}', TRUTH),
        ("statuses", 'answer = {"put-same": True, "putold": 409}', ["did you mean 'put-old'?", "write a number"]),
        (
            "loop",
            "def answer(trial):\n    send(trial, 'GET', PRICES)\n    send(trial, 'PATCH', PRICES, {'data': {'sold': '6'}}, MERGE)",
            ["the others sold 11 and then 4 instead of 5, and sold is 6"],
        ),
        (
            "loop",
            "def answer(trial):\n    obj = send(trial, 'GET', PRICES).object\n    obj['data']['sold'] = 6\n    send(trial, 'PUT', PRICES, obj)",
            ["PUT answers 4"],
        ),
    ],
    "03-patches-and-server-side-apply": [
        (
            "smallest",
            'answer = ("strategic", "metadata")',
            ["the body is a text: write the list or the dictionary itself"],
        ),
        ("smallest", 'answer = ("patch", {})', ["'patch' is no kind of patch here"]),
        ("smallest", 'answer = {"strategic": {}}', ["the answer must be a pair"]),
        (
            "smallest",
            'answer = ("json", [{"op": "remove", "path": "/metadata/labels/nothing"}])',
            ["a place in a list is a number"],
        ),
        ("applies", 'answer = {"same": True}', ["write a number, without quotes"]),
        ("handover", NOTHING, ["spec.replicas is owned by ['pipeline']", "who leaves a field out, lets it go"]),
        ("handover", RAISES, ["ValueError: boom", "in the line: raise ValueError('boom')"]),
        (
            "handover",
            "def answer(trial):\n    trial.delete('deployment', 'web', 'shop')",
            ['deployments.apps "web" not found'],
        ),
        ("handover", YIELDS, ["the function must not have a yield"]),
    ],
    "04-rbac-from-zero": [
        (
            "pods",
            _text(
                _role("Role", "r", ", namespace: bank", _PODS),
                _bound("RoleBinding", ", namespace: bank", "kind: Role, name: r", "ben"),
            ),
            ["must be refused, and passed", "only in bank, not in shop"],
        ),
        (
            "pods",
            _text(_role("Role", "r", _SHOP, _PODS), _bound("RoleBinding", _SHOP, "kind: Role, name: r", "Ben")),
            ["the bindings of the answer name user:Ben, and not user:ben"],
        ),
        (
            "pods",
            _text(
                _role("Role", "r", _SHOP, _PODS.replace("get, list", "get, lists")),
                _bound("RoleBinding", _SHOP, "kind: Role, name: r", "ben"),
            ),
            ["allows get, lists, not list", "is ben among the subjects, and list among the verbs?"],
        ),
        ("pods", "answer = 'kind: Role'", ["an object without apiVersion"]),
        ("pods", "answer = '- pods\\n- get\\n'", ["an object has apiVersion, kind and metadata"]),
        ("pods", "answer = ['pods', 'get']", ["the answer must be a manifest", "it is of the type list"]),
        ("pods", TABLE, ["the answer must be a manifest", "it is of the type DataFrame"]),
        (
            "pods",
            "answer = 'apiVersion: v1\\nkind: Roles\\nmetadata: {name: a}'",
            ["nothing is served as apiVersion 'v1', kind 'Roles'"],
        ),
        ("pods", _text(_role("Role", "r", ", namespace: nowhere", "")), ['namespaces "nowhere" not found']),
        ("pods", "answer = lambda trial: 'kind: Role'", ["call trial.apply(...) in the function"]),
        ("pods", TWO, ["the function must take one argument"]),
        ("pods", NO_SHOP, [*SHOP_GONE, "must pass, and was refused"]),
        ("where", "answer = {'RoleBinding in shop: list pods in shop': 'yes'}", TRUTH),
        ("where", "answer = [True, False]", [*NO_DICTIONARY, "it is of the type list"]),
        (
            "helper",
            _text(
                _role("ClusterRole", "d", "", "{apiGroups: [apps], resources: [deployments], verbs: [get, list]}"),
                _bound("ClusterRoleBinding", "", "kind: ClusterRole, name: d", "dora"),
            ),
            ["a ClusterRoleBinding is too much", "list deployments.apps everywhere"],
        ),
        (
            "repair",
            _text(
                _role(
                    "Role",
                    "till-reader",
                    _SHOP,
                    '{apiGroups: [""], resources: [secret], verbs: [get], resourceNames: [till]}',
                )
            ),
            ["must pass, and was refused (403)", "the near miss names the verb"],
        ),
        ("repair", EXITS, EXITED),
    ],
    "05-groups-and-least-privilege": [
        ("groups", "answer = 'system:masters'", ["printer is in no group 'system:masters'", "3 more"]),
        ("groups", "answer = lambda: 1", ["the answer must be a word, or a set of words"]),
        ("who", "answer = {'gus', 'shop/robot'}", ["write a user as user:ann"]),
        ("who", TABLE, ["the answer must be a word, or a set of words", "it is of the type DataFrame"]),
        ("closed", NOTHING, ["a wildcard stands for secrets too", "it comes by a group"]),
        (
            "closed",
            f"def answer(trial):\n    inherited.apply({NEW_SPACE})",
            ["changed the cluster that the exercise starts from"],
        ),
        ("closed", "def answer(trial):\n    trial.delete('namespace', 'bank')", ["the namespace bank is gone"]),
        ("closed", EXITS, EXITED),
        (
            "part",
            _text(_role("ClusterRole", "teas", "", "{apiGroups: [shop.example.com], resources: [teas], verbs: [get]}")),
            ["which label does the aggregationRule"],
        ),
        (
            "part",
            _text(
                _role(
                    "ClusterRole",
                    "view-teas",
                    "",
                    "{apiGroups: [shop.example.com], resources: [teas], verbs: [get, list, watch]}",
                ),
                _bound("ClusterRoleBinding", "", "kind: ClusterRole, name: view-teas", "hal"),
            ),
            ["there is a new binding, and none is needed"],
        ),
        ("groups", "answer = set()", ["the answer is empty"]),
        ("groups", "answer = 'system:authenticated, system:serviceaccounts'", ["one text with commas in it"]),
        ("groups", "answer = {'group:system:authenticated'}", ["have no group: in front"]),
        (
            "who",
            "answer = set(inherited.who_can('list', 'secrets', namespace='bank')['subject'])",
            ["belongs to Kubernetes itself", "is a group: the answer names its members"],
        ),
        ("who", "answer = {'user:hal'}", ["user:hal cannot list them"]),
        (
            "part",
            _text(
                _role(
                    "ClusterRole",
                    "view-teas, labels: {rbac.authorization.k8s.io/aggregate-to-view: 'true'}",
                    "",
                    '{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}',
                )
            ),
            ["more was done than was asked for"],
        ),
    ],
    "06-service-accounts-and-tokens": [
        ("valid", "answer = {'one hour token, after 59 minutes': 'good'}", TRUTH),
        ("off", NOTHING, ["the server still authenticates it", "which object does the token come from?"]),
        ("off", NO_SHOP, SHOP_GONE),
        ("off", "def answer(trial):\n    trial.delete('secret', 'robot', 'shop')", ['secrets "robot" not found']),
        ("off", EXITS, EXITED),
        ("static", "answer = 'kind: Pod'", ["an object without apiVersion"]),
        (
            "static",
            "answer = '''\napiVersion: v1\nkind: Pod\nmetadata: {name: other, namespace: shop}\n"
            "spec: {serviceAccountName: robot, automountServiceAccountToken: false, containers: [{name: web, image: web}]}\n'''",
            ['pods "static" not found'],
        ),
        (
            "static",
            "answer = '''\napiVersion: v1\nkind: Pod\nmetadata: {name: static, namespace: shop}\n"
            "spec: {serviceAccountName: robt, automountServiceAccountToken: false, containers: [{name: web, image: web}]}\n'''",
            ['serviceaccount "robt" not found'],
        ),
    ],
    "07-escalation-and-how-to-close-it": [
        ("which", "answer = 'lea, max'", ["is none of the four"]),
        ("which", TABLE, ["the answer must be a word, or a set of words"]),
        ("close", NO_SHOP, SHOP_GONE),
        ("close", EXITS, EXITED),
        ("close", "def answer(trial):\n    trial.delete('clusterrolebinding', 'nothing')", ['"nothing" not found']),
        (
            "bind",
            'answer = {"apiGroup": ["rbac.authorization.k8s.io"], "verbs": ["bind"]}',
            ["did you mean 'apiGroups'?"],
        ),
        (
            "bind",
            'answer = {"apiGroups": [""], "resources": ["clusterroles"], "verbs": ["bind"], "resourceNames": ["view"]}',
            ["it must be accepted, and was refused", "the verb is bind, the object a ClusterRole"],
        ),
        (
            "bind",
            'answer = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["bind", "escalate"], "resourceNames": ["view"]}',
            ["Ned also gained: escalate clusterroles"],
        ),
        (
            "bind",
            'answer = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["bind"], "resourceNames": ["view"]}',
            ["Ned also gained: bind *.*"],
        ),
        (
            "bind",
            'answer = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["bind"], "resourceNames": ["view", "edit"]}',
            ["name one role only"],
        ),
    ],
    "08-admission": [
        ("expression", "answer = 'object.spec.'", ["Syntax error"]),
        ("expression", "answer = 'true'", ["it must be refused, and was accepted", "startsWith"]),
        ("expression", "answer = 'false'", ["it must be accepted, and was refused", "evaluate it: simkit.cel"]),
        ("expression", "answer = {'expression': 'true'}", ["the answer must be a text"]),
        (
            "mutate",
            "def answer(request):\n    return 'team: shop'",
            ["must give back the object or None, and gave back 'team: shop'"],
        ),
        (
            "mutate",
            "def answer(request):\n    return request['obj']",
            ["KeyError: 'obj'", "in the line: return request['obj']"],
        ),
        ("mutate", "def answer():\n    return None", ["the function must take one argument"]),
        ("mutate", "def answer(request):\n    raise SystemExit", EXITED),
        (
            "down",
            "answer = {'failurePolicy Fail, create a deployment': False}",
            ["write one of the task's words, in quotes"],
        ),
        ("restricted", NO_SHOP, SHOP_GONE),
        (
            "restricted",
            "def answer(trial):\n    trial.apply('{apiVersion: v1, kind: Namespace, metadata: {name: shop}}')",
            ["change the pod, not the level"],
        ),
        (
            "restricted",
            "answer = 'apiVersion: v1\\nkind: Pod\\nmetadata: {name: strict, namespace: shop}'",
            ["spec.containers: Required value"],
        ),
    ],
    "09-custom-resources": [
        ("schema", 'answer = {"type": "object", "properties": {"boxes": {"type": "int"}}}', ["Unsupported value"]),
        ("schema", 'answer = {"tea": "string"}', ["says type: object, and names its fields in properties"]),
        (
            "schema",
            "answer = {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}",
            ["the unknown field note was kept", "minimum"],
        ),
        ("rules", "answer = ['self.boxes > 0']", ["a dictionary with the keys rule and message"]),
        ("rules", 'answer = [{"rule": "self.cake == 1", "message": "no"}]', ["undefined field 'cake'"]),
        ("rules", 'answer = {"rule": "true"}', ["the answer must be a list"]),
        ("versions", "answer = True", NO_DICTIONARY),
        (
            "schema",
            'answer = {"type": "object", "required": ["tea"], "properties": {"tea": {"type": "string"}, "boxes": {"type": "number", "minimum": 1, "maximum": 100, "default": 1}, "priority": {"type": "string", "enum": ["low", "normal", "high"]}}}',
            ["what is the type of a whole number?"],
        ),
        (
            "schema",
            'answer = {"type": "object", "required": ["tea"], "properties": {"tea": {"type": "string"}, "boxes": {"type": "integer", "minimum": 0, "maximum": 100, "default": 1}, "priority": {"type": "string", "enum": ["low", "normal", "high"]}}}',
            ["minimum: 0 is too few"],
        ),
        (
            "schema",
            'answer = {"type": "object", "required": ["tea"], "properties": {"tea": {"type": "string"}, "boxes": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1}, "priority": {"type": "string", "enum": ["low", "high"]}}}',
            ["with three words"],
        ),
        (
            "schema",
            'answer = {"type": "object", "required": ["tea"], "properties": {"tea": {"type": "string"}, "boxes": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1}, "priority": {"type": "string", "enum": ["low", "normal", "high"], "default": "low"}}}',
            ["priority is set although nobody said one"],
        ),
        (
            "schema",
            'answer = {"type": "object", "required": ["tea"], "properties": {"tea": {"type": "string"}, "boxes": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1}, "priority": {"type": "string", "enum": ["low", "normal", "high"]}, "colour": {"type": "string"}}}',
            ["fields that nobody asked for: colour"],
        ),
        ("rules", 'answer = [{"rule": "true", "mesage": "no"}]', ["a rule has no key 'mesage'"]),
        ("rules", 'answer = [{"rule": "self.tea == oldSelf.tea"}]', ["then has(self.card)"]),
    ],
    "10-controllers": [
        ("back", "answer = {'one pod is deleted': '3'}", ["write a number, without quotes"]),
        ("reconcile", NOTHING, ["orders are a: 2 and b: 1, deployments are {}"]),
        ("reconcile", RAISES, ["ValueError: boom", "in the line: raise ValueError('boom')"]),
        ("reconcile", EXITS, EXITED),
        (
            "reconcile",
            "def answer(trial):\n    for each in trial.list('orders', 'shop'):\n        trial.create(deployment(each['metadata']['name'], each['spec']['boxes']))",
            ["already exists"],
        ),
        ("finalizer", NOTHING, ["it is still there", "there are the bills []"]),
        (
            "finalizer",
            "def answer(trial):\n    for each in trial.list('orders', 'shop'):\n        trial.delete('order', each['metadata']['name'], 'shop')",
            ["it is still there"],
        ),
        ("finalizer", WAITS, ["the function must not be asynchronous"]),
    ],
    "11-versions-and-deprecation": [
        ("after", 'answer = {"GET web in policy/v1": "200"}', ["write a number, without quotes"]),
        ("allowed", "answer = [True]", NO_DICTIONARY),
        (
            "life",
            'answer = {"preferred v1 from": "9", "storage": "3"}',
            ["'9' is none of them", "no such key: 'storage'", "no release yet"],
        ),
        ("life", 'answer = {"preferred v1 from": 3, "storage v1 from": 3, "v1beta1 removed in": 3}', ["removed"]),
        ("life", TABLE, NO_DICTIONARY),
    ],
    "12-an-upgrade-rehearsed": [
        ("read", 'answer = "everything"', ["'everything' is none of the five words", "3 more"]),
        ("mend", _text(_DAEMON_SET), ["it does not run on worker nodes", "no pod runs on a node"]),
        (
            "mend",
            "def answer(trial):\n    trial.delete('daemonset', 'backup', 'shop')",
            ['daemonsets.apps "backup" not found'],
        ),
        ("mend", "answer = 'kind: DaemonSet'", ["an object without apiVersion"]),
        ("mend", RAISES, ["ValueError: boom"]),
        ("moment", "answer = {'now'}", ["write one of the words early, between and late"]),
        ("read", "answer = {'Manifest'}", ["write them as the task does"]),
    ],
    "13-a-break-in-told-backwards": [
        ("who", 'answer = "user:tess@pellowick.example"', ["no from 22:00 to 05:08", "1 more"]),
        ("who", "answer = {'sa:kube-system/kube-dns-cache', 'sa:nobody'}", ["sa:nobody"]),
        ("hand", 'answer = {"user:eve"}', ["no write to a role or a binding is about 'user:eve'", "2 more"]),
        ("hand", 'answer = {"sa:kube-system/kube-dns-cache"}', ["01:35 sa:kube-system/kube-dns-cache: create"]),
        ("loot", 'answer = {"app-settings"}', ["write namespace/name", "2 more"]),
        (
            "clean",
            "def answer(trial):\n    trial.delete('rolebinding', 'auditors', 'billing')\n"
            "    trial.delete('clusterrolebinding', 'release-train-admin')",
            ["sa:ci/release-train can no longer"],
        ),
        ("clean", "def answer(trial):\n    trial.delete('rolebinding', 'intruder')", ["not found"]),
        ("clean", RAISES, ["ValueError: boom"]),
    ],
}

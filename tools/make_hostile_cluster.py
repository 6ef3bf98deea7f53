"""Make ``datasets/clusters/hostile.json``: a cluster in which everything has the name that an attacker chose for it.

    python -m tools.make_hostile_cluster

Each payload names a role, a binding, a user, a group, a service account, a pod and an object of a rule, and so comes
into every column of every output. The server would refuse some of them; a dump may hold them all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

TARGET: Final = Path(__file__).resolve().parents[1] / "datasets" / "clusters" / "hostile.json"
RBAC: Final = "rbac.authorization.k8s.io"
PAYLOADS: Final = {
    "shell-semicolon": "x;touch pwned",
    "shell-substitution": "$(touch pwned)",
    "shell-backticks": "`touch pwned`",
    "shell-quotes": "'; touch pwned; '\"; touch pwned; \"",
    "shell-newline": "x\ntouch pwned\n#",
    "shell-history": "!!&& touch pwned || touch pwned",
    "flag": "--all",
    "flag-short": "-A",
    "yaml-comment-end": "x\u2028touch: pwned\u0085y: z",
    "terminal-title": "\u001b]0;owned\u0007\u001b[2J\u001b[1;1H",
    "terminal-c1": "\u009b31mred\u009d0;owned\u009c",
    "carriage-return": "cluster-admin\rnobody",
    "direction": "user\u202enimda\u202c\u2066x\u2069",
    "invisible": "ad\u200bmin\ufeff\u00ad",
    "blank-letters": "ad\u3164min\u2800\u115f\u1160\uffa0",
    "marks-without-shape": "ad\u034fmin\u180b\ufe0f\U000e0100\u17b4",
    "tags": "admin\U000e0020\U000e0068\U000e0069\U000e007f",
    "markdown-link": "[click here](javascript:alert(1))",
    "markdown-image": "![](https://evil.example/x.png)",
    "markdown-code-end": "a`` ``` ` **nobody can anything** `",
    "markdown-headline": "x\n\n### Access: nothing changes\n\n</details>",
    "markdown-table": "| x | y |\\| z \\\\| w",
    "markdown-comment": "<!-- everything is fine ",
    "mention": "@everybody #1 www.evil.example https://evil.example :white_check_mark:",
    "html-script": "<script>alert(1)</script>",
    "html-attribute": "\"' onmouseover='alert(1)' x=\"<img src=x onerror=alert(1)>",
    "html-entity": "&lt;script&gt;&#x41;&amp;",
    "csv-equals": "=cmd|' /C calc'!A0",
    "csv-plus": "+1+cmd|' /C calc'!A0",
    "csv-minus": "-2+3+cmd|' /C calc'!A0",
    "csv-at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "csv-tab": "\t=1+1",
    "csv-quote": '","=1+1',
    "log-command": "::error file=x::owned",
    "log-command-newline": "x\n::add-mask::owned",
    "log-command-azure": "##vso[task.setvariable variable=x]owned",
    "log-command-teamcity": "##teamcity[buildStatus text='owned']",
    "formula-in-figure": "$\\frac{$ $\\undefined$",
    "format": "{0.__class__} %s %n ${x}",
    "path": "../../../etc/passwd",
    "nul": "a\u0000b",
    "xml": "]]><x>&\ufffe\uffff",
    "astral": "\U0001f4a5\U000e0041\U0010ffff",
    "number": "\u00b2",
    "wildcard": "*",
    "blank": " ",
    "long": "a" * 1000,
}


def main() -> None:
    """Write the cluster."""
    items = [*_fixed(), *(obj for word, text in PAYLOADS.items() for obj in _objects(word, text))]
    content = {"apiVersion": "v1", "kind": "List", "items": items}
    TARGET.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")


def _fixed() -> Iterator[dict[str, Any]]:
    for name in ("default", "kube-system", "hostile"):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    yield _role("ClusterRole", "cluster-admin", "", ["*"], ["*"], groups=["*"])


def _objects(word: str, text: str) -> Iterator[dict[str, Any]]:
    """The objects that carry one payload. Namespaces that carry one hold a binding, so that scopes show it."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": text, "labels": {text: text}}}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": text, "namespace": "hostile"}}
    yield _role("ClusterRole", text, "", ["get", text], ["secrets", text], groups=["", text])
    yield _role("Role", text, "hostile", ["create", "escalate"], ["pods", "roles"], groups=["", RBAC], names=[text])
    users = [{"kind": kind, "name": text, "apiGroup": RBAC} for kind in ("User", "Group")]
    account = {"kind": "ServiceAccount", "name": text, "namespace": "hostile"}
    yield _binding("ClusterRoleBinding", text, "", "ClusterRole", text, [*users, account])
    yield _binding("ClusterRoleBinding", f"{text} ends", "", "ClusterRole", "cluster-admin", users[:1])
    yield _binding("RoleBinding", text, "hostile", "Role", text, [account])
    yield _binding("RoleBinding", "hostile", text, "ClusterRole", text, [account])
    yield _binding("ClusterRoleBinding", f"{text} missing", "", "ClusterRole", f"{text} missing", users)
    yield _pod(word, text)


def _meta(name: str, namespace: str) -> dict[str, Any]:
    notes = {"labels": {name: name}, "annotations": {"note": name, name: name}}
    return {"name": name, **({"namespace": namespace} if namespace else {}), **notes}


def _role(
    kind: str,
    name: str,
    namespace: str,
    verbs: list[str],
    resources: list[str],
    *,
    groups: list[str],
    names: list[str] | None = None,
) -> dict[str, Any]:
    rule: dict[str, Any] = {"verbs": verbs, "resources": resources, "apiGroups": groups}
    rules = [rule, {"verbs": ["get"], "nonResourceURLs": [name]}] if not namespace else [rule]
    if names:
        rule["resourceNames"] = names
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": _meta(name, namespace), "rules": rules}


def _binding(
    kind: str, name: str, namespace: str, role_kind: str, role: str, subjects: list[dict[str, str]]
) -> dict[str, Any]:
    reference = {"apiGroup": RBAC, "kind": role_kind, "name": role}
    meta = _meta(name, namespace)
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": meta, "roleRef": reference, "subjects": subjects}


def _pod(word: str, text: str) -> dict[str, Any]:
    container = {
        "name": text,
        "image": text,
        "command": [text],
        "args": [text],
        "env": [{"name": text, "value": text}],
        "securityContext": {"privileged": True},
    }
    spec = {"serviceAccountName": text, "nodeName": text, "containers": [container]}
    meta = {**_meta(text, "hostile"), "name": f"{text}{word}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


if __name__ == "__main__":
    main()

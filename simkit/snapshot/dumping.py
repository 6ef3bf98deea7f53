"""kubectl commands that write a complete dump.

The first tells the release of the server. Then there is one file per resource, because kubectl writes every list as a
``List``: an empty one says only by the name of its file what it is a list of. A file whose list was refused is removed,
because kubectl writes an empty list there too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from simkit.meta.domain import EVENTS_GROUP, EXTENSIONS_GROUP, RBAC_GROUP, api_group, label

FOLDER: Final = "dump"
SECRETS: Final = "secrets"
ACCESS: Final = (
    *(f"{plural}.{RBAC_GROUP}" for plural in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")),
    "serviceaccounts",
    "namespaces",
)
"""The resources for questions about access."""
AUDIT: Final = (
    *ACCESS,
    "pods",
    "podtemplates",
    "replicationcontrollers",
    *(f"{plural}.apps" for plural in ("daemonsets", "deployments", "replicasets", "statefulsets")),
    *(f"{plural}.batch" for plural in ("cronjobs", "jobs")),
    "configmaps",
    f"customresourcedefinitions.{EXTENSIONS_GROUP}",
    f"networkpolicies.{api_group('networking')}",
)
"""The further resources that ``simkit audit`` reads."""
NEEDED: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(("who-can", "can-i", "check", "diff", "least-privilege"), ACCESS),
    "audit": AUDIT,
    **dict.fromkeys(("causes", "escalations", "cut", "removal-report"), ()),
}
"""The resources that each command reads; empty if it reads all."""
_ACCOUNT: Final = label("service-account.name")
_WITHOUT_VALUES: Final = (
    "{apiVersion: v1, kind: SecretList, items: [{{range .items}}"
    '{metadata: {name: {{printf "%q" .metadata.name}}, namespace: {{printf "%q" .metadata.namespace}}, '
    f'annotations: {{ {{{{range $name, $text := .metadata.annotations}}}}{{{{if eq $name "{_ACCOUNT}"}}}}'
    '{{printf "%q: %q" $name $text}}{{end}}{{end}} }}, '
    'type: {{printf "%q" .type}}, data: { {{range $key, $value := .data}}{{printf "%q" $key}}: "", {{end}} }}, '
    "{{end}}]}"
)
"""A Go template that writes the secrets with their keys and types, without their values."""


def kubectl_commands(resources: Iterable[str] = (), *, secrets: bool = False, flags: Sequence[str] = ()) -> str:
    """The shell commands that write a dump of a cluster into a folder.

    Parameters
    ----------
    resources
        Plurals with their group (``roles.rbac.authorization.k8s.io``); empty: everything that can be listed but events.
    secrets
        Whether the values of secrets are written; otherwise only their keys.
    flags
        Flags for each call of kubectl, such as ``--context prod``.

    Examples
    --------
    >>> print(kubectl_commands(["roles.rbac.authorization.k8s.io"]), end="")
    mkdir -p dump
    kubectl version -o json > dump/version.json || rm dump/version.json
    for type in roles.rbac.authorization.k8s.io; do
      kubectl get "$type" -A -o json > "dump/$type.json" || rm "dump/$type.json"
    done
    """
    kubectl = " ".join(("kubectl", *flags))
    named = list(dict.fromkeys(resources))
    apart = not secrets and (not named or SECRETS in named)
    types = " ".join(each for each in named if not (apart and each == SECRETS))
    version = f"{FOLDER}/version.json"
    lines = [f"mkdir -p {FOLDER}", f"{kubectl} version -o json > {version} || rm {version}"]
    if types or not named:
        lines += [
            f"for type in {types or _every_type(kubectl, secrets=secrets)}; do",
            f'  {kubectl} get "$type" -A -o json > "{FOLDER}/$type.json" || rm "{FOLDER}/$type.json"',
            "done",
        ]
    if apart:
        file = f"{FOLDER}/{SECRETS}.yaml"
        lines.append(f"{kubectl} get {SECRETS} -A -o go-template='{_WITHOUT_VALUES}' > {file} || rm {file}")
    return "\n".join(lines) + "\n"


def _every_type(kubectl: str, *, secrets: bool) -> str:
    """The part of a command that lists all types but events, and but secrets if they are written separately."""
    left_out = ["events", f"events.{EVENTS_GROUP}", *([] if secrets else [SECRETS])]
    pattern = " ".join(f"-e {each}" for each in left_out)
    return f"$({kubectl} api-resources --verbs=list -o name | grep -vxF {pattern})"

"""The exports of cloud providers: the outputs of read-only AWS CLI commands about one EKS cluster.

The shapes are those of the EKS API reference: DescribeCluster, ListAccessEntries, DescribeAccessEntry,
ListAssociatedAccessPolicies, ListPodIdentityAssociations and DescribePodIdentityAssociation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from simkit.meta.errors import SimkitError
from simkit.seams.authorization import AccessEntry, AccessPolicy
from simkit.snapshot.parse import documents
from simkit.snapshot.report import Report
from simkit.snapshot.sources import Source, pieces
from simkit.snapshot.unpacking import DEFAULT_LIMITS, Limits

FOLDER: Final = "cloud"
MODES: Final = ("API", "API_AND_CONFIG_MAP", "CONFIG_MAP")
"""The authentication modes of a cluster."""
PRINCIPAL: Final = re.compile(r"arn:aws[\w-]*:iam::(\d{12}):(?:(?:role|user)/[\w+=,.@/-]+|root)", re.ASCII)
"""The ARN of a principal that a cluster can know: a role or a user of IAM."""
TEMPLATE: Final = re.compile(r"\{\{\w+\}\}")
"""A part of a user name that is filled in for each session."""
MOST_TEMPLATES: Final = 2
"""The templates of a user name; more make no sense, and could make comparing names slow."""
_HOW: Final = "`simkit dump --cloud eks` prints the commands whose outputs are read"
_POLICY: Final = re.compile(r"arn:aws[\w-]*:eks::aws:cluster-access-policy/([\w-]+)", re.ASCII)
_UNUSED: Final = ("accessPolicies", "Role", "AttachedPolicies", "PolicyNames", "RoleName", "Policy", "PolicyVersion")
"""What outputs of other commands of EKS and IAM hold, which say nothing about access to the cluster by itself."""

COMMANDS: Final = f"""\
: "${{CLUSTER:?set CLUSTER to the name of the EKS cluster}}"
mkdir -p {FOLDER}
aws eks describe-cluster --name "$CLUSTER" --output json > {FOLDER}/cluster.json
aws eks list-access-entries --cluster-name "$CLUSTER" --output json > {FOLDER}/access-entries.json
for principal in $(aws eks list-access-entries --cluster-name "$CLUSTER" --query 'accessEntries[]' --output text); do
  aws eks describe-access-entry --cluster-name "$CLUSTER" --principal-arn "$principal" --output json
  aws eks list-associated-access-policies --cluster-name "$CLUSTER" --principal-arn "$principal" --output json
done > {FOLDER}/access-entries-described.json
aws eks list-pod-identity-associations --cluster-name "$CLUSTER" --output json > {FOLDER}/pod-identities.json
for id in $(aws eks list-pod-identity-associations --cluster-name "$CLUSTER" \\
    --query 'associations[].associationId' --output text); do
  aws eks describe-pod-identity-association --cluster-name "$CLUSTER" --association-id "$id" --output json
done > {FOLDER}/pod-identities-described.json
"""
"""The shell commands that write the export of an EKS cluster into a folder."""


class _Unexpected(Exception):
    """A value of an output that is not as the API documents it."""


@dataclass
class EksExport:
    """What the outputs say, before it is known what the cluster makes of it."""

    clusters: dict[str, str] = field(default_factory=dict)
    """The authentication mode of each described cluster; empty where the output is older than access entries."""
    names: dict[str, None] = field(default_factory=dict)
    """The clusters that outputs are about."""
    listed: dict[str, None] | None = None
    """The principals with an access entry; None if no list was read."""
    cut: list[str] = field(default_factory=list)
    """The lists of which further pages are missing, in words."""
    entries: dict[str, AccessEntry] = field(default_factory=dict)
    policies: dict[str, tuple[AccessPolicy, ...]] = field(default_factory=dict)
    associations: set[str] = field(default_factory=set)
    pod_roles: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """The role of each described association: namespace, service account, role."""
    broken: list[str] = field(default_factory=list)
    """What could not be read, in words."""

    def missing(self, mode: str) -> Iterator[str]:
        """What is not in the export, although the answers about access to the cluster depend on it."""
        yield from self.broken
        yield from self.cut
        if mode == "CONFIG_MAP":
            return
        if self.listed is None:
            yield "the list of access entries is missing"
        for principal in {**(self.listed or {}), **self.entries}:
            if principal not in self.entries:
                yield f"the access entry of aws:{principal} is not described"
            if principal not in self.policies:
                yield f"the access policies of aws:{principal} are not listed"
            if self.listed is not None and principal not in self.listed:
                yield f"the access entry of aws:{principal} is described but not listed"


def read_export(source: Source, report: Report, limits: Limits = DEFAULT_LIMITS) -> EksExport:
    """The export of an EKS cluster: files, folders, texts or decoded outputs, with one output each or several.

    Parameters
    ----------
    source
        The outputs in any order; lists of them, and several in a row, count as if each had a file of its own.
    report
        Takes what is none of these outputs, or is not as documented.

    Raises
    ------
    SimkitError
        If none of the outputs was found, or if they are about different clusters.
    """
    export, lost, known = EksExport(), Report(), 0
    for piece in pieces(source, lost, limits):
        for document in documents(piece, lost, lambda _: None):
            outputs = document.value if isinstance(document.value, list) else [document.value]
            known += sum([_take(export, output, piece.file, report) for output in outputs])
    for problem in lost:
        report.add(problem.file, problem.line, problem.what, problem.hint, weight=problem.weight)
        if problem.weight == "lost":
            export.broken.append("a file could not be read")
    if not known:
        raise SimkitError(f"no output of the AWS CLI about an EKS cluster was found; {_HOW}")
    if len(export.names) > 1:
        named = ", ".join(map(repr, export.names))
        raise SimkitError(f"the export is about several clusters ({named}); give the files of one")
    return export


def _take(export: EksExport, output: Any, file: str, report: Report) -> bool:
    """Read one output; False if it is none that is known."""
    if not isinstance(output, Mapping):
        report.add(file, None, "not an output of the AWS CLI", _HOW)
        return False
    readers = [read for name, read in _READ.items() if name in output]
    if not readers:
        unused = any(name in output for name in _UNUSED)
        what = "says nothing about access to the cluster" if unused else "not an output about an EKS cluster"
        report.add(file, None, what, _HOW, weight="note" if unused else "lost")
        return False
    try:
        for read in readers:  # more than one only if somebody has put outputs together
            read(export, output)
    except _Unexpected as error:
        report.add(file, None, f"an output of the AWS CLI that is not as documented: {error}", _HOW)
        export.broken.append(f"an output could not be read ({error})")
    return True


def _cluster(export: EksExport, output: Mapping[str, Any]) -> None:
    cluster = _mapping(output, "cluster")
    name, config = _text(cluster, "name"), cluster.get("accessConfig")
    export.names[name] = None
    mode = _text(config, "authenticationMode") if isinstance(config, Mapping) else ""
    if mode and mode not in MODES:
        raise _Unexpected(f"{mode!r} is no authentication mode")
    export.clusters[name] = mode


def _listed(export: EksExport, output: Mapping[str, Any]) -> None:
    if output.get("nextToken"):
        export.cut.append("the list of access entries has further pages")
    principals = [_principal(each) for each in _texts(output, "accessEntries")]
    export.listed = {**(export.listed or {}), **dict.fromkeys(principals)}


def _entry(export: EksExport, output: Mapping[str, Any]) -> None:
    entry = _mapping(output, "accessEntry")
    principal = _principal(_text(entry, "principalArn"))
    user = user_name(principal, _text(entry, "username"))
    if user is None:
        raise _Unexpected("username has too many templates")
    found = AccessEntry(principal, user, tuple(_texts(entry, "kubernetesGroups", optional=True)))
    if export.entries.setdefault(principal, found) != found:
        raise _Unexpected(f"two descriptions of aws:{principal} differ")
    if "clusterName" in entry:
        export.names[_text(entry, "clusterName")] = None


def user_name(principal: str, text: str) -> str | None:
    """The user name of a principal, with the number of its account filled in; None if it has too many templates."""
    account = PRINCIPAL.fullmatch(principal)
    user = text.replace("{{AccountID}}", account.group(1)) if account else text
    return user if len(TEMPLATE.findall(user)) <= MOST_TEMPLATES else None


def _policies(export: EksExport, output: Mapping[str, Any]) -> None:
    principal = _principal(_text(output, "principalArn"))
    if "clusterName" in output:
        export.names[_text(output, "clusterName")] = None
    if output.get("nextToken"):
        export.cut.append(f"the list of access policies of aws:{principal} has further pages")
    listed = output["associatedAccessPolicies"]
    if not isinstance(listed, list):
        raise _Unexpected("associatedAccessPolicies is no list")
    found = tuple(_policy(each) for each in listed)
    export.policies[principal] = tuple(dict.fromkeys((*export.policies.get(principal, ()), *found)))


def _policy(entry: Any) -> AccessPolicy:
    if not isinstance(entry, Mapping):
        raise _Unexpected("an associated access policy is no object")
    arn, scope = _text(entry, "policyArn"), _mapping(entry, "accessScope")
    match, kind = _POLICY.fullmatch(arn), _text(scope, "type")
    if match is None:
        raise _Unexpected(f"{arn!r} is not the ARN of an access policy")
    namespaces = tuple(_texts(scope, "namespaces", optional=True))
    if kind not in ("cluster", "namespace") or (kind == "namespace") != bool(namespaces):
        raise _Unexpected(f"the access scope of {match.group(1)} is {kind!r} with {len(namespaces)} namespaces")
    return AccessPolicy(match.group(1), namespaces)


def _associations(export: EksExport, output: Mapping[str, Any]) -> None:
    listed = output["associations"]
    if not isinstance(listed, list):
        raise _Unexpected("associations is no list")
    for each in listed:
        if not isinstance(each, Mapping):
            raise _Unexpected("an association is no object")
        export.associations.add(_text(each, "associationId"))


def _association(export: EksExport, output: Mapping[str, Any]) -> None:
    found = _mapping(output, "association")
    place = (_text(found, "namespace"), _text(found, "serviceAccount"), _principal(_text(found, "roleArn")))
    export.pod_roles[_text(found, "associationId")] = place


_READ: Final[Mapping[str, Callable[[EksExport, Mapping[str, Any]], None]]] = {
    "cluster": _cluster,
    "accessEntries": _listed,
    "accessEntry": _entry,
    "associatedAccessPolicies": _policies,
    "associations": _associations,
    "association": _association,
}
"""The readers of outputs, by the field that each of them has."""


def _mapping(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    if not isinstance(found, Mapping):
        raise _Unexpected(f"{name} is no object")
    return found


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str) or not found or not found.isprintable():
        raise _Unexpected(f"{name} is no text")
    return found


def _texts(value: Mapping[str, Any], name: str, *, optional: bool = False) -> list[str]:
    found = value.get(name)
    if found is None and optional:
        return []
    if not isinstance(found, list) or not all(isinstance(one, str) and one and one.isprintable() for one in found):
        raise _Unexpected(f"{name} is no list of texts")
    return found


def _principal(arn: str) -> str:
    if not PRINCIPAL.fullmatch(arn):
        raise _Unexpected(f"{arn!r} is not the ARN of a role or user of IAM")
    return arn

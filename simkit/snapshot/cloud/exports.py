"""Exports of cloud providers: read, told apart by their fields, and joined with the objects of a dump."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from simkit.meta.errors import SimkitError
from simkit.seams.authorization import Authorization, ProviderAccess
from simkit.seams.snapshot import Snapshot
from simkit.snapshot.cloud import aks, aks_access, eks, gke, gke_access
from simkit.snapshot.cloud.output import Export, Unexpected
from simkit.snapshot.dump import Dump
from simkit.snapshot.parse import documents
from simkit.snapshot.report import Report
from simkit.snapshot.sources import Source, pieces
from simkit.snapshot.unpacking import DEFAULT_LIMITS, Limits

COMMANDS: Final = {"eks": eks.COMMANDS, "gke": gke.COMMANDS, "aks": aks.COMMANDS}
"""The shell commands that write the export of a cluster into a folder, by provider."""
_EXPORTS: Final[Mapping[str, tuple[Callable[[], Export], Callable[[Any, Snapshot], ProviderAccess]]]] = {
    "EKS": (eks.EksExport, eks.access_of),
    "GKE": (gke.GkeExport, gke_access.access_of),
    "AKS": (aks.AksExport, aks_access.access_of),
}
"""The reader of the outputs of each provider, and what makes the access to a cluster of them."""
_LISTS: Final = frozenset(
    (
        *("value", "clusters", "roles", "policies", "results", "accounts", "projects", "groups", "memberships"),
        *("data", "assets", "policyResults"),
        *("Roles", "RoleDetailList", "UserDetailList", "GroupDetailList", "Policies", "associations"),
    )
)
"""The fields of pages of lists, each of whose items counts as an output of its own."""
_MORE: Final = {
    "nextLink": "AKS",
    "nextPageToken": "GKE",
    **dict.fromkeys(("nextToken", "NextToken", "IsTruncated"), "EKS"),
}
"""The fields of pages that others follow, with the provider."""
_UNUSED: Final = frozenset(
    (
        *("accessPolicies", "clusters", "nodegroup", "nodegroups", "addon", "addons", "fargateProfile", "update"),
        *("fargateProfileNames", "User", "Users", "Group", "Groups", "InstanceProfiles", "AccountAliases"),
        *("AttachedPolicies", "PolicyNames", "RoleName", "Policy", "PolicyVersion", "DefaultVersionId", "Statement"),
        *("projectNumber", "oauth2ClientId", "nodePools", "validMasterVersions", "tenantId"),
    )
)
"""What outputs of other commands hold, which say nothing about access to the cluster by itself."""
_PAGE: Final = frozenset(
    (
        *(*_LISTS, *_MORE, "@odata.context", "Marker", "totalSize", "fullResourceName", "readTime"),
        *("count", "skip_token", "skipToken", "total_records", "totalRecords"),
    )
)
_NAMES: Final = ("Arn", "GroupName", "name", "id", "principalArn")
"""The fields by which an output that is not as documented is named."""
_LONGEST: Final = 100
_OTHER: Final = "not an output about a managed cluster"
_MOST_TOLD: Final = 3
"""The files that an error names."""
_HOW: Final = f"`simkit dump --cloud PROVIDER` ({', '.join(COMMANDS)}) prints the commands whose outputs are read"


def with_cloud(dump: Dump, source: Source, limits: Limits = DEFAULT_LIMITS) -> Dump:
    """A dump with the access that the export of its provider tells.

    Raises
    ------
    SimkitError
        If the source holds no export, or the objects are those of another provider's cluster.
    """
    report = Report()
    export = read_export(source, report, limits)
    chain = authorization_of(dump.authorization, export, dump.snapshot())
    return replace(dump, stated=chain, problems=(*dump.problems, *report))


def authorization_of(shown: Authorization, export: Export, snapshot: Snapshot) -> Authorization:
    """The authorizers of a cluster of which an export tells the access. Raises SimkitError for another provider's."""
    if shown.provider not in ("", export.provider):
        where = f"the objects are those of a cluster on {shown.provider}"
        raise SimkitError(f"the export is of {export.provider}, but {where}")
    named = f"the {export.provider} export"
    chain = shown if shown.source else replace(shown, modes=export.modes, source=named)
    return replace(chain, provider=export.provider, outside="", access=_EXPORTS[export.provider][1](export, snapshot))


def read_export(source: Source, report: Report, limits: Limits = DEFAULT_LIMITS) -> Export:
    """The export of a managed cluster: files, folders, texts or decoded outputs, with one output each or several.

    Parameters
    ----------
    source
        The outputs in any order; lists of them, and several in a row, count as if each had a file of its own.
    report
        Takes what is none of these outputs, or is not as documented.

    Raises
    ------
    SimkitError
        If none of the outputs was found, or if they are about different clusters or of different providers.
    """
    exports, lost = [make() for make, _ in _EXPORTS.values()], Report()
    known: dict[str, Export] = {}
    for piece in pieces(source, lost, limits):
        if piece.file.endswith((".tf", ".tfvars", ".hcl")):
            lost.add(piece.file, None, "a configuration of Terraform, which says what is wanted, not what is", _HOW)
            continue
        for document in documents(piece, lost, lambda _: None):
            for output in _outputs(document.value):
                known |= {export.provider: export for export in _take(exports, output, piece.file, report)}
    for problem in lost:
        report.add(problem.file, problem.line, problem.what, problem.hint, weight=problem.weight)
    if not known:
        told = "; ".join(f"{one.file}: {one.what}" for one in tuple(report)[:_MOST_TOLD])
        raise SimkitError(f"no output about a managed cluster was found{told and f' ({told})'}; {_HOW}")
    if len(known) > 1:
        raise SimkitError(f"the export mixes outputs of {' and '.join(known)}; give the files of one cluster")
    (export,) = known.values()
    if any(problem.weight == "lost" for problem in lost):
        export.broken.append("a file could not be read")
    if len(export.names) > 1:
        named = ", ".join(map(repr, export.names))
        raise SimkitError(f"the export is about several clusters ({named}); give the files of one")
    return export


def _outputs(value: Any) -> Iterator[Any]:
    """The outputs in a value: itself, or what is in a list, in the lists in it, and in pages of lists."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left.extend(reversed(one))
        elif isinstance(one, Mapping) and one.keys() <= _PAGE and any(_is_listed(one, name) for name in one):
            left.extend(one[name] for name in one if name in _LISTS)
            left.extend({name: one[name]} for name in _MORE if one.get(name))
        else:
            yield one


def _is_listed(value: Mapping[str, Any], name: str) -> bool:
    """True if a field is a list of outputs, unlike one of names."""
    items = value[name] if name in _LISTS else None
    return isinstance(items, list) and not any(isinstance(one, str) for one in items)


def _take(exports: list[Export], output: Any, file: str, report: Report) -> list[Export]:
    """The exports of which this is an output; what is no output of a provider is reported."""
    if not isinstance(output, Mapping):
        report.add(file, None, _OTHER, _HOW)
        return []
    found = [one for one in exports if output.keys() <= _MORE.keys() and one.provider in map(_MORE.get, output)]
    for export in found:
        export.broken.append("a list has further pages")
    for export in exports if not found and not _says_nothing(output) else ():
        try:
            if export.take(output, file):
                found.append(export)
        except Unexpected as error:
            name = next((one for one in map(output.get, _NAMES) if isinstance(one, str) and one.isprintable()), "")
            why = f"{name[:_LONGEST]}: {error}" if name else str(error)
            report.add(
                file, None, f"an output about a cluster on {export.provider} that is not as documented: {why}", _HOW
            )
            export.broken.append(f"an output could not be read ({why})")
            found.append(export)
    if not found:
        of_azure = re.match(r"/subscriptions/(?!.*/microsoft\.authorization/)", str(output.get("id")).lower())
        unused = of_azure is not None or _says_nothing(output) or not _UNUSED.isdisjoint(output)
        what = "says nothing about access to the cluster" if unused else _other(output)
        report.add(file, None, what, _HOW, weight="note" if unused else "lost")
    return found


def _says_nothing(output: Mapping[str, Any]) -> bool:
    """True for an empty answer, and for the policy of a bucket, which has the fields of one of a project."""
    return not output or str(output.get("kind")).startswith("storage#")


def _other(output: Mapping[str, Any]) -> str:
    """What an object is that is no output of a provider."""
    if "terraform_version" in output:
        return "a state or plan of Terraform, which is not read: it does not tell all access to the cluster"
    if "apiVersion" in output and "kind" in output:
        return "an object of Kubernetes, which belongs into the dump"
    return _OTHER

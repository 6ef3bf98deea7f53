"""Documents of other projects that name versions of Kubernetes: kubeadm, Argo CD, Flux, Cluster API, values of charts.

What can be rewritten keeps its meaning; the rest is left to a person, with a sentence. Follows the conversions of
kubeadm's ``v1beta4`` (``cmd/kubeadm/app/apis/kubeadm``, release 1.35) and the reference of Argo CD's ignored
differences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.logic.migration.migrated import MigratedObject
from simkit.meta.domain import API_DOMAIN, api_group
from simkit.meta.names import GroupVersion
from simkit.meta.objects import Draft, Object, at, copied
from simkit.schema.lifecycle import all_lifecycles, is_served, successor
from simkit.schema.releases import minor_of

_KUBEADM: Final = api_group("kubeadm")
_CLUSTER_API: Final = f"cluster.x-{API_DOMAIN}"
_ARGO: Final = "argoproj.io"
_RELEASES: Final = frozenset(("HelmRelease", "HelmChart", "HelmChartConfig"))
"""Kinds of Flux and of k3s that hold the values of a chart."""
_ARGUMENTS: Final = (
    ("apiServer", "extraArgs"),
    ("controllerManager", "extraArgs"),
    ("scheduler", "extraArgs"),
    ("etcd", "local", "extraArgs"),
    ("nodeRegistration", "kubeletExtraArgs"),
)
"""Where kubeadm's documents have the flags of components: a mapping up to v1beta3, a list of names and values since."""
_MOVED: Final[Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]] = {
    "v1beta2": (
        (("useHyperKubeImage",), "there is no hyperkube image any more: take the field out"),
        (("dns", "type"), "CoreDNS is the only choice: take the field out"),
    ),
    "v1beta3": (
        (
            ("apiServer", "timeoutForControlPlane"),
            "it is timeouts.controlPlaneComponentHealthCheck of InitConfiguration and JoinConfiguration",
        ),
        (("discovery", "timeout"), "it is timeouts.discovery"),
    ),
}
"""The fields that the version after has no more, each with what to do."""
_READ: Final = (("v1beta1", 15, 20), ("v1beta2", 15, 26), ("v1beta3", 22, 36), ("v1beta4", 31, 1000))
"""The versions of kubeadm's documents with the first and the last release whose kubeadm reads them."""
_DEEPEST: Final = 60
_SEPARATOR: Final = re.compile(r"^---.*$", re.MULTILINE)


def migrate_foreign(obj: Object, release: str) -> MigratedObject:
    """A document that is no object of Kubernetes' own kinds, for a release; itself where it has nothing to do with
    versions."""
    group, version = GroupVersion.parse(str(obj.get("apiVersion") or ""))
    kind = str(obj.get("kind") or "")
    if group == _KUBEADM:
        return _kubeadm(obj, version, kind, release)
    if group == _ARGO and kind in ("Application", "ApplicationSet", "AppProject"):
        found = _argo(obj, kind, release)
        values = at(found.object, *_spec_of(kind), "source")
        named = (*found.person, *_named(values, (*_spec_of(kind), "source"), release))
        return MigratedObject(found.object, changed=found.changed, person=named)
    if (not kind and not group) or kind in _RELEASES:
        return MigratedObject(obj, person=tuple(_named(obj, (), release)))
    if group.endswith(_CLUSTER_API):
        return MigratedObject(obj, person=tuple(_spelled(obj, release)))
    return MigratedObject(obj)


# kubeadm


def _kubeadm(obj: Object, version: str, kind: str, release: str) -> MigratedObject:
    """A configuration of kubeadm in the newest version that the release reads; itself where its own is read."""
    minor = minor_of(release)
    read = [name for name, first, last in _READ if first <= minor <= last]
    if version in read or version not in [name for name, *_ in _READ] or not read:
        return MigratedObject(obj)
    if kind == "ClusterStatus" or version == "v1beta1":
        why = "ClusterStatus is not read any more: take it out" if kind == "ClusterStatus" else (
            f"kubeadm of {release} does not read {version}: migrate it by kubeadm config migrate of 1.20 first"
        )  # fmt: skip
        return MigratedObject(obj, person=(why,))
    wanted: Draft = copied(obj)
    target = read[-1]
    wanted["apiVersion"] = f"{_KUBEADM}/{target}"
    passed = [version, *(["v1beta3"] if version == "v1beta2" and target == "v1beta4" else [])]
    person = tuple(
        f"{'.'.join(path)}: {told}"
        for step in passed
        for path, told in _MOVED[step]
        if at(wanted, *path) is not None
    )  # fmt: skip
    if person:
        return MigratedObject(obj, person=person)
    if target == "v1beta4":
        for path in _ARGUMENTS:
            _listed(wanted, path)
    return MigratedObject(wanted, str(wanted["apiVersion"]), True)


def _listed(obj: Draft, path: tuple[str, ...]) -> None:
    """Make the mapping of arguments at a path a list of names and values."""
    owner = at(obj, *path[:-1])
    found = owner.get(path[-1]) if isinstance(owner, dict) else None
    if isinstance(owner, dict) and isinstance(found, Mapping):
        owner[path[-1]] = [{"name": str(name), "value": str(value)} for name, value in found.items()]


# Argo CD


def _spec_of(kind: str) -> tuple[str, ...]:
    return ("spec", "template", "spec") if kind == "ApplicationSet" else ("spec",)


def _argo(obj: Object, kind: str, release: str) -> MigratedObject:
    """An application whose ignored differences, or a project whose lists, name groups that still have the kind."""
    wanted: Draft = copied(obj)
    person: list[str] = []
    changed = False
    for name in ("ignoreDifferences", *_LISTS):
        place = (*_spec_of(kind), name)
        entries = at(wanted, *place)
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            group = _moved_group(entry, release) if isinstance(entry, dict) else None
            if group is None:
                continue
            told = f"{'.'.join(place)}[{index}]: {entry['kind']} of {entry['group']}"
            if not group:
                person.append(f"{told} is not served any more: take the entry out")
            elif entry.get("jsonPointers") or entry.get("jqPathExpressions"):
                person.append(
                    f"{told} is in {group} now: name that group, and see that the paths are those of its version"
                )
            else:
                entry["group"] = group
                changed = True
    return MigratedObject(wanted if changed else obj, changed=changed, person=tuple(person))


_LISTS: Final = (
    *("clusterResourceWhitelist", "clusterResourceBlacklist"),
    *("namespaceResourceWhitelist", "namespaceResourceBlacklist"),
)


def _moved_group(entry: Mapping[str, Any], release: str) -> str | None:
    """The group in which a release has the kind of an entry; empty where none has it, None where nothing moves."""
    group, kind = entry.get("group"), entry.get("kind")
    versions = [each.api_version for each in all_lifecycles().values() if (each.gvk.group, each.kind) == (group, kind)]
    if not versions or any(is_served(version, str(kind), release) for version in versions):
        return None
    found = next(filter(None, (successor(version, str(kind), release) for version in versions)), "")
    return GroupVersion.parse(found.partition(" ")[0]).group if found else ""


# Values that name versions


@cache
def _gone(release: str) -> frozenset[str]:
    """The versions with a group of which some release served kinds, and this one none."""
    served: dict[str, bool] = {}
    for each in all_lifecycles().values():
        now = is_served(each.api_version, each.kind, release)
        served[each.api_version] = served.get(each.api_version, False) or now
    to_come = {each.api_version for each in all_lifecycles().values() if not each.removed}
    return frozenset(version for version, still in served.items() if not still and version not in to_come)


def _named(value: Any, path: tuple[str, ...], release: str) -> Iterator[str]:
    """A sentence for each value under a name with "version" that is a version which is gone."""
    for place, text in _texts(value, path):
        if text in _gone(release) and place and "version" in _name_at(value, place[len(path) :]).lower():
            told = f"says {text}, of which {release} serves nothing: give the chart a version that it serves"
            yield f"{'.'.join(place)} {told}"
        elif "\n" in text and place[-1:] in (("values",), ("valuesContent",)):
            for document in _documents(text):
                yield from _named(document, place, release)


def _name_at(value: Any, place: tuple[str, ...]) -> str:
    """The last step of a path, or the name of a parameter of Helm of which it is the value."""
    owner = value
    for step in place[:-1]:
        name, _, index = step.partition("[")
        owner = at(owner, name) if name else owner
        for number in filter(None, index.rstrip("]").split("][")):
            owner = owner[int(number)]
    named = owner.get("name") if isinstance(owner, Mapping) and place[-1] == "value" else None
    return str(named or place[-1])


def configurations_within(obj: Object, release: str) -> Iterator[str]:
    """A sentence for each configuration of kubeadm that a config map of its holds in a version that is not read."""
    for place, text in _texts(obj.get("data"), ("data",)):
        for document in _documents(text) if _KUBEADM in text else ():
            if _is_unread(document, release):
                told = f"holds a {document.get('kind')} in {document.get('apiVersion')}, which {release} does not take"
                yield f"{'.'.join(place)} {told}: let kubeadm rewrite it (kubeadm config migrate)"


def _spelled(obj: Object, release: str) -> Iterator[str]:
    """A sentence for each text of an object, such as a file for nodes, that holds a document in a version that is
    gone."""
    for place, text in _texts(obj, ()):
        for document in _documents(text) if "apiVersion" in text else ():
            version, kind = str(document.get("apiVersion")), str(document.get("kind"))
            if version in _gone(release) or _is_unread(document, release):
                told = f"holds a {kind} in {version}, which {release} does not take"
                yield f"{'.'.join(place)} {told}: rewrite the text by hand, or migrate it as a file"


def _is_unread(document: Object, release: str) -> bool:
    group, version = GroupVersion.parse(str(document.get("apiVersion") or ""))
    return group == _KUBEADM and _kubeadm(document, version, str(document.get("kind")), release).is_concerned


def _texts(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The texts within a value, each with its path."""
    if len(path) > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(inner, (*path, str(name)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*path[:-1], f"{path[-1]}[{index}]") if path else (f"[{index}]",))
    elif isinstance(value, str):
        yield path, value


def _documents(text: str) -> Iterator[dict[str, Any]]:
    for part in _SEPARATOR.split(text):
        try:
            document = decode(part)
        except BrokenText:
            continue
        if isinstance(document, dict):
            yield document

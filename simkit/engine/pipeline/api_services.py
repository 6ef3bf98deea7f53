"""APIServices: the server behind each group version, and the order of groups and versions in discovery.

Upstream: k8s.io/kube-aggregator/pkg/apiserver/handler_apis.go, release 1.30.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.storage.derived import DerivedValue
from simkit.meta.domain import REGISTRATION_GROUP
from simkit.meta.message import Response
from simkit.meta.names import GroupResource, GroupVersion
from simkit.meta.objects import Object, at, name_of
from simkit.schema.catalogue import Catalogue, Group
from simkit.schema.versions import Priority, priority, version_rank
from simkit.seams import ListWatcher

SERVICES: Final = GroupResource(REGISTRATION_GROUP, "apiservices")
_PORT: Final = 443


@dataclass(frozen=True, slots=True)
class APIService:
    """One APIService. ``service`` is its namespace, name and port; None: this server answers itself."""

    name: str
    group_version: GroupVersion
    priority: Priority
    service: tuple[str, str, int] | None = None
    authorities: bytes = b""
    insecure: bool = False
    available: bool = False


def api_service(obj: Object) -> APIService:
    """The fields of an APIService object that serving needs."""
    spec: Object = obj.get("spec") or {}
    service = spec.get("service")
    where = None
    if service is not None:
        where = (service.get("namespace") or "", service.get("name") or "", service.get("port") or _PORT)
    return APIService(
        name_of(obj),
        GroupVersion(spec.get("group") or "", spec.get("version") or ""),
        Priority(spec.get("groupPriorityMinimum") or 0, spec.get("versionPriority") or 0),
        where,
        _decoded(spec.get("caBundle") or ""),
        bool(spec.get("insecureSkipTLSVerify")),
        is_available(obj),
    )


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except ValueError:
        return b""


def is_available(obj: Object) -> bool:
    """True if an APIService has the condition Available."""
    conditions: Sequence[Object] = at(obj, "status", "conditions") or ()
    return any(each.get("type") == "Available" and each.get("status") == "True" for each in conditions)


class Aggregator(Protocol):
    """Calls the servers of aggregated group versions."""

    def forward(self, context: RequestContext, registration: APIService) -> Response:
        """The backing server's answer to a request. Raises PlainError 503 where there is none."""
        ...

    def resources(self, registration: APIService) -> Mapping[str, Any] | None:
        """The list of the group version's resources; None if the backing server does not give one."""
        ...

    def described(self, registration: APIService) -> str:
        """The path of the group version's OpenAPI document, or the empty string."""
        ...

    def swagger(self, registration: APIService) -> Mapping[str, Any] | None:
        """The OpenAPI document of version 2 of the backing server; None if it has none."""
        ...


class _View:
    """All APIServices at one revision."""

    def __init__(self, found: Iterable[APIService]) -> None:
        self.all: Mapping[GroupVersion, APIService] = {
            each.group_version: each for each in found if each.name == _name_of(each.group_version)
        }
        self.groups = frozenset(each.group for each in self.all)
        self.remote = tuple(each for each in self.all.values() if each.service is not None)
        self._listed: tuple[Catalogue, Sequence[Group]] | None = None

    def listed(self, catalogue: Catalogue) -> Sequence[Group]:
        listed = self._listed
        if listed is None or listed[0] is not catalogue:
            self._listed = listed = (catalogue, _ordered(self.all, catalogue))
        return listed[1]


def _name_of(group_version: GroupVersion) -> str:
    """The name that the APIService of a group version must have. One with another name, as in a dump whose
    ``spec.group`` was lost, serves no path that somebody asks for.
    """
    return f"{group_version.version}.{group_version.group}"


def _ordered(registrations: Mapping[GroupVersion, APIService], catalogue: Catalogue) -> Sequence[Group]:
    """Groups by the highest priority of their versions, then by name; this server's own first."""
    known = {
        GroupVersion(group.name, version): priority(GroupVersion(group.name, version), catalogue.release)
        for group in catalogue.groups()
        for version in group.versions
    }
    known |= {each.group_version: each.priority for each in registrations.values()}
    versions: dict[str, list[GroupVersion]] = {}
    for each in sorted(known, key=lambda found: (-known[found].group, f"{found.version}.{found.group}")):
        versions.setdefault(each.group, []).append(each)
    ordered = sorted(versions, key=lambda name: name != REGISTRATION_GROUP)
    return [Group(name, tuple(each.version for each in _by_version(versions[name], known))) for name in ordered]


def _by_version(found: Iterable[GroupVersion], known: Mapping[GroupVersion, Priority]) -> list[GroupVersion]:
    return sorted(found, key=lambda each: (-known[each].version, version_rank(each.version)))


class APIServices:
    """The APIServices of a store, followed without polling."""

    def __init__(self, store: ListWatcher, known: _View | None = None) -> None:
        self._store = store
        self._last: Mapping[str, tuple[Object, APIService]] = {}
        """The objects of the last time with what was read from them, by name."""
        self._view = DerivedValue(store, (SERVICES,), self._read, known)

    def fork(self, store: ListWatcher) -> APIServices:
        """The APIServices of a fork of the store, in constant time."""
        return APIServices(store, self._view.at(store.revision))

    def _read(self) -> _View:
        last, now = self._last, {}
        for entry in self._store.scan(SERVICES):
            obj, before = entry.object, last.get(entry.key.name)
            now[entry.key.name] = before if before is not None and before[0] is obj else (obj, api_service(obj))
        self._last = now
        return _View(service for _, service in now.values())

    @property
    def remote(self) -> Sequence[APIService]:
        """The APIServices of other servers."""
        return self._view.now().remote

    def aggregated_service(self, group: str, version: str) -> APIService | None:
        """The APIService of a group version of another server."""
        view = self._view.now()
        if not view.remote:
            return None
        found = view.all.get(GroupVersion(group, version))
        return found if found is not None and found.service is not None else None

    def groups(self, catalogue: Catalogue) -> Sequence[Group]:
        """All groups, the core group among them, in the order in which discovery lists them."""
        return self._view.now().listed(catalogue)

    def group(self, catalogue: Catalogue, name: str) -> Group | None:
        """One group with its versions, the preferred one first."""
        if name not in self._view.now().groups and catalogue.group(name) is None:
            return None
        return next((each for each in self.groups(catalogue) if each.name == name), None)

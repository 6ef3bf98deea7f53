"""Plans of a repository's changes, and what a server answers to the same: ``… compare_plans URL REPOSITORY FOLDER``.

Each commit of a git repository that changes manifests below a folder is one change. The manifests as they were before
the commit are applied to the server. Then simkit tries the commit on a dump of what the server has, and the server is
asked for the same, by the same writer. Compared of every object are what happens to it, the fields that change, the
refusal and the warnings. The server must know the tokens of ``inprocess.TOKENS``. Afterwards the objects are deleted,
but for namespaces and definitions.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import simkit
from simkit.analysis.catalogue import DEFINITIONS, catalogue_of
from simkit.analysis.escalation.prove.proving_fork import ProvingFork
from simkit.analysis.manifest_plan.apply import ManifestWriter
from simkit.analysis.manifest_plan.result import ObjectChange
from simkit.meta.identity import Identity, administrator
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource, GroupVersionKind
from simkit.meta.objects import Object, group_version_of, name_of, namespace_of
from simkit.schema.resources import Resource
from simkit.seams.snapshot import Sandbox, Snapshot
from simkit.snapshot.dump import Dump
from simkit.snapshot.load import load
from tests.conformance.explore import without_moments
from tests.conformance.replay import OverHttp

_ALWAYS: Final = (
    DEFINITIONS,
    *(GroupResource("", name) for name in ("namespaces", "services", "limitranges", "resourcequotas")),
    GroupResource("scheduling.k8s.io", "priorityclasses"),
    GroupResource("storage.k8s.io", "storageclasses"),
    *(GroupResource("rbac.authorization.k8s.io", name) for name in ("clusterroles", "roles")),
)
"""What a server may look at when it admits other objects."""
_MANIFEST: Final = re.compile(r"\.ya?ml$")
_KEPT: Final = ("CustomResourceDefinition", "Namespace")
_TRIES: Final = 100
_SECONDS: Final = 0.1
_NO_FINALIZERS: Final = {"metadata": {"finalizers": None}}


class Change(NamedTuple):
    """A commit with the manifests that it changes, before and after it."""

    commit: str
    before: Sequence[Object]
    after: Sequence[Object]


def changes(repository: str, folder: str, release: str) -> Iterator[Change]:
    """The commits that change manifests below a folder, the newest first; what is no manifest is left out."""
    for commit in _git(repository, "log", "--no-merges", "--format=%H", "--", folder).split():
        names = _git(repository, "diff-tree", "-r", "--no-commit-id", "--name-only", commit, "--", folder).splitlines()
        files = [name for name in names if _MANIFEST.search(name)]
        before, after = (_objects(repository, revision, files, release) for revision in (f"{commit}^", commit))
        if after and before != after:
            yield Change(commit, before, after)


def _objects(repository: str, revision: str, files: Iterable[str], release: str) -> list[Object]:
    texts = (_git(repository, "show", f"{revision}:{name}", check=False) for name in files)
    found = load([text.encode() for text in texts if text], release=release, secrets=True).objects
    return [obj for obj in found if obj.get("kind") != "Kustomization"]


def _git(repository: str, *words: str, check: bool = True) -> str:
    command = ["git", "-C", repository, *words]
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


class OnServer:
    """A server behind an address as a fork to write to."""

    def __init__(self, url: str, release: str) -> None:
        self._http, self._release = OverHttp(url), release
        self.resources: set[GroupResource] = set(_ALWAYS)
        """The resources of a dump."""
        self._known: Snapshot | None = None

    def perform(self, request: Request, *, identity: Identity) -> Response:
        """The answer of the server to its administrator."""
        headers = {name: values[0] for name, values in request.headers.items()} | {"accept": "application/json"}
        answer = self._http.send(request.method, request.uri, headers, request.body or None, user="admin")
        if request.method != "GET" and DEFINITIONS.resource in request.path:
            self._known = None
        warnings = [("Warning", text) for text in answer.headers.get("warning", ())]
        return Response(answer.status, answer.body, headers=warnings)

    def send(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Response:
        """The answer to one request."""
        return self.perform(Request.of(method, path, body, content_type=content_type), identity=administrator())

    def snapshot(self) -> Snapshot:
        """The definitions that the server has now, which tell what it serves."""
        if self._known is None:
            definitions = self.send("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions").body
            self._known = load(definitions, release=self._release, captured=["*"]).snapshot()
        return self._known

    def dump(self) -> Dump:
        """The objects of some resources that the server has now."""
        return load(list(self._lists()), release=self._release, captured=["*"], secrets=True)

    def _lists(self) -> Iterator[bytes]:
        for resource in catalogue_of(self.snapshot()).stored():
            if resource.storage in self.resources:
                yield self.send("GET", resource.collection()).body

    def fork(self, *, release: str | None = None) -> Sandbox:
        """The server itself, since it cannot be copied: a replacement that is tried is made."""
        return self

    def settle(self) -> None:
        """Wait until the server serves all custom resources that are defined; its controllers run by themselves."""
        for _ in range(_TRIES):
            definitions = list(self.snapshot().scan(DEFINITIONS))
            if all(self.send("GET", path).succeeded for path in map(_served_path, definitions)):
                return
            time.sleep(_SECONDS)


def _served_path(definition: Object) -> str:
    """The path of a list of what a definition defines."""
    spec = definition["spec"]
    version = next(version["name"] for version in spec["versions"] if version["served"])
    return f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1"


class Difference(NamedTuple):
    """What simkit and the server say about one object of a change."""

    title: str
    planned: str
    answered: str


def differences(change: Change, server: OnServer) -> tuple[Counter[str], list[Difference]]:
    """How often what happens to the objects of a change, and where the server's answer differs from the plan."""
    objects = (*change.before, *change.after)
    for namespace in {namespace_of(obj) for obj in objects} - {""}:
        server.send("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    ManifestWriter(server, administrator()).apply(change.before)
    server.resources |= {resource.storage for resource, _ in _placed(server.snapshot(), objects)}
    try:
        fork = ProvingFork(simkit.Cluster.of(server.dump()))
        planned = ManifestWriter(fork, administrator()).apply(change.after)
        answered = ManifestWriter(server, administrator()).apply(change.after)
        pairs = [(mine.title, _shown(mine), _shown(other)) for mine, other in zip(planned, answered, strict=True)]
        return Counter(one.action for one in answered), [Difference(*pair) for pair in pairs if pair[1] != pair[2]]
    finally:
        _delete(server, objects)


def _shown(change: ObjectChange) -> str:
    """A change as text, without what differs at each run, and without where the manifest stands."""
    fields = (f"{one.path}: {_json(one.before)} -> {_json(one.after)}" for one in change.fields)
    told = [change.action, change.message, *change.warnings, *fields]
    return without_moments("\n".join(filter(None, told)).encode()).decode()


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _placed(snapshot: Snapshot, objects: Iterable[Object]) -> Iterator[tuple[Resource, str]]:
    """The resources of objects with their paths; those of kinds that are not served are left out."""
    catalogue = catalogue_of(snapshot)
    for obj in objects:
        resource = catalogue.kind(GroupVersionKind(*group_version_of(obj), str(obj.get("kind"))))
        if resource is not None:
            where = (namespace_of(obj) or "default") if resource.namespaced else ""
            yield resource, f"{resource.collection(where)}/{name_of(obj)}"


def _delete(server: OnServer, objects: Iterable[Object]) -> None:
    """Delete the objects but for namespaces, which only a controller can empty, and definitions."""
    found = [path for resource, path in _placed(server.snapshot(), objects) if resource.kind not in _KEPT]
    for path in reversed(list(dict.fromkeys(found))):
        server.send("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")
        if server.send("GET", path).succeeded:
            server.send("PATCH", path, _NO_FINALIZERS, "application/merge-patch+json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, write the differences to standard output, and return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="the address of the server")
    parser.add_argument("repository", help="a clone of a git repository")
    parser.add_argument("folder", help="a folder of it with manifests")
    parser.add_argument("--release", default="1.30", help="the release of the server (1.30)")
    parser.add_argument("--most", type=int, default=200, help="how many changes to compare (200)")
    args = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    number = wrong = 0
    for change in islice(changes(args.repository, args.folder, args.release), args.most):
        number += 1
        happened, found = differences(change, OnServer(args.url, args.release))
        counts += happened
        wrong += bool(found)
        for one in found:
            print(f"{change.commit[:12]} {one.title}\n--- planned\n{one.planned}\n--- answered\n{one.answered}\n")
    print(f"{number} changes, {wrong} of them with differences; {dict(counts)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Asks a server and simkit the same, and tells where they differ: ``python -m tests.conformance.compare OBJECTS``.

With the address of a server instead of objects it holds random conversations with both: see ``explore``.

Of every kind among some objects (what ``simkit.load`` reads) the largest one is sent to both as a dry run, as it is and
with one odd value in every field that its schema has. What they answer is compared: the status, every cause of a
refusal, and else the object that would be stored. Nothing is changed on the server, which is that of a kubeconfig.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import orjson
from kubernetes.config import new_client_from_config

import simkit
from simkit.meta.message import Request
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Object, group_version_of, namespace_of
from simkit.schema.catalogue import Catalogue
from simkit.snapshot.load import load
from tests.conformance.oddities import odd

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

_VOLATILE = ("uid", "creationTimestamp", "resourceVersion", "selfLink", "managedFields")


class Peer(Protocol):
    """The server that is asked to create objects."""

    def create(self, path: str, obj: Object) -> Mapping[str, Any]:
        """The answer to a dry run: the object, or the status of a refusal."""


class Remote:
    """A server somewhere, through the official client."""

    def __init__(self, kubeconfig: str | None = None, context: str | None = None) -> None:
        made: ApiClient = new_client_from_config(kubeconfig, context, persist_config=False)  # type: ignore[no-untyped-call]
        self._client = made

    def create(self, path: str, obj: Object) -> Mapping[str, Any]:
        answer = self._client.rest_client.pool_manager.request(
            "POST",
            f"{self._client.configuration.host}{path}?dryRun=All",
            body=orjson.dumps(obj),
            headers={**self._credentials(), "Content-Type": "application/json", "User-Agent": "simkit"},
        )
        found: Mapping[str, Any] = orjson.loads(answer.data)
        return found

    def _credentials(self) -> dict[str, str]:
        token = self._client.configuration.get_api_key_with_prefix("authorization")
        return {"Authorization": token} if token else {}


class Own:
    """A server in this process."""

    def __init__(self, release: str) -> None:
        self._cluster = simkit.Cluster(release=release)

    def create(self, path: str, obj: Object) -> Mapping[str, Any]:
        request = Request.of("POST", f"{path}?dryRun=All", obj, headers={"user-agent": "simkit"})
        found: Mapping[str, Any] = self._cluster.perform(request).object
        return found


class Difference(NamedTuple):
    """The answers of two servers about one object; ``where`` is the place of the odd value, or empty."""

    kind: str
    where: str
    theirs: Any
    ours: Any


def differences(their: Peer, our: Peer, obj: Object, catalogue: Catalogue, most: int) -> Iterator[Difference]:
    """The differences of two servers about an object, and about odd ones made from it at random."""
    gvk = GroupVersionKind(*group_version_of(obj), str(obj["kind"]))
    resource = catalogue.kind(gvk)
    if resource is None:
        return
    scope = f"/namespaces/{namespace_of(obj) or 'default'}" if resource.namespaced else ""
    path = f"{resource.path}{scope}/{resource.resource}"
    made = list(odd(catalogue.schema(gvk), obj))
    chosen = random.Random(0).sample(made, most) if len(made) > most else made
    for where, each in [("", obj), *chosen]:
        theirs, ours = (_told(peer.create(path, each)) for peer in (their, our))
        if theirs != ours:
            yield Difference(gvk.kind, where, theirs, ours)


def _told(answer: Mapping[str, Any]) -> Any:
    """An answer without what differs from run to run."""
    if answer.get("kind") == "Status":
        causes = (answer.get("details") or {}).get("causes") or ()
        found = [f"{each.get('field')}: {each.get('message')}" for each in causes]
        return {"code": answer.get("code"), "told": found or answer.get("message")}
    head = {name: value for name, value in answer.get("metadata", {}).items() if name not in _VOLATILE}
    return {**answer, "metadata": head}


def representatives(objects: list[Object]) -> list[Object]:
    """The largest object of every kind, ready to be created again."""
    largest: dict[tuple[str, str], Object] = {}
    for obj in sorted(objects, key=lambda each: len(orjson.dumps(each))):
        head = {name: value for name, value in obj["metadata"].items() if name not in _VOLATILE}
        made = {**obj, "metadata": {**head, "name": f"{head['name']}-again"[:63]}}
        made.pop("status", None)
        largest[str(obj.get("apiVersion")), str(obj.get("kind"))] = made
    return list(largest.values())


def main(arguments: list[str]) -> int:
    """Compare, tell every difference as a line of JSON, and say how many there are."""
    if arguments and arguments[0].startswith(("http://", "https://")):
        from tests.conformance import explore

        return explore.main(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("objects", nargs="+", help="files or folders with objects, such as a dump of that server")
    parser.add_argument("--kubeconfig", help="where the server is; as kubectl finds it")
    parser.add_argument("--context", help="its context there")
    parser.add_argument("--release", default="1.30", help="the release of the server (1.30)")
    parser.add_argument("--most", type=int, default=300, help="odd objects of each kind (300)")
    chosen = parser.parse_args(arguments)
    their, our = Remote(chosen.kubeconfig, chosen.context), Own(chosen.release)
    catalogue, count = Catalogue.for_release(chosen.release), 0
    for obj in representatives(list(load(chosen.objects, release=chosen.release).objects)):
        for found in differences(their, our, obj, catalogue, chosen.most):
            count += 1
            print(orjson.dumps(found._asdict()).decode())
    print(f"{count} differences", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A fork with the objects that a primitive needs and the cluster lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from simkit.analysis.access.resolve import AUTHORIZATION_RESOURCES
from simkit.analysis.catalogue import catalogue_of
from simkit.analysis.escalation.find.held_permissions import EVERYWHERE
from simkit.analysis.escalation.find.matching import VariantMatch
from simkit.analysis.escalation.prove.credentials import certificate_request
from simkit.analysis.escalation.prove.proving_fork import NotExecutable
from simkit.analysis.escalation.prove.required_requests import example_of
from simkit.analysis.escalation.prove.templates import body_of, collection, fill, resource_of, workload
from simkit.analysis.escalation.table.primitive import primitives
from simkit.analysis.escalation.table.requirement import Permission
from simkit.meta.identity import NODE_PREFIX, administrator
from simkit.meta.message import Request
from simkit.schema.catalogue import Catalogue
from simkit.seams.snapshot import Sandbox

LENT: Final = "lent"
"""The default names of fixtures."""
WORKLOADS: Final = (
    *("deployments", "daemonsets", "statefulsets", "replicasets"),
    *("jobs", "cronjobs", "replicationcontrollers"),
)
NEVER: Final = ("pods", "nodes", "secrets", "namespaces")
"""Resources that stand for things of the table."""


class FixtureFork(NamedTuple):
    """A fork on which an administrator created objects, and the list of them."""

    sandbox: Sandbox
    things: tuple[str, ...]

    def __str__(self) -> str:
        *most, last = self.things
        return f"{', '.join(most)} and {last}" if most else last


def fork_with_fixtures(sandbox: Sandbox, match: VariantMatch) -> FixtureFork | None:
    """A fork with the objects that a use of a primitive lacks; None if they cannot be created."""
    fork = sandbox.fork()
    values = _words(match)
    given: dict[str, None] = {}
    _put(fork, "POST", "/api/v1/namespaces", body_of("namespace", values))
    for name in match.primitive.fixtures:
        fixture = primitives().fixtures[name]
        for operation in fixture.operations:
            method, path = fill(operation.do, values).split(" ", 1)
            if _put(fork, method, path, body_of(operation.body, values)):
                given[fill(fixture.title, values)] = None
    for title, path, body in _objects(fork, match, values):
        if _put(fork, "POST", path, body):
            given[title] = None
    return FixtureFork(fork, tuple(given)) if given else None


def _words(match: VariantMatch) -> dict[str, Any]:
    """The values of the variables in fixtures."""
    values: dict[str, Any] = {"namespace": "default" if match.namespace == EVERYWHERE else match.namespace}
    values |= {"fresh": LENT, "volume": LENT}
    for label in ("account", "role", "pod", "node", "secret"):
        values[label] = (match.names(label) or (LENT,))[0]
    masks = [name.removeprefix(NODE_PREFIX) for name in match.names("user") or () if name.startswith(NODE_PREFIX)]
    values["node"] = next(iter(masks), values["node"])
    values["some_account"] = values["account"]
    values["certificate_request"] = certificate_request("somebody")
    return values


def _objects(sandbox: Sandbox, match: VariantMatch, values: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """An object for each requirement that concerns an existing object: its title, path and body."""
    snapshot = sandbox.snapshot()
    catalogue = catalogue_of(snapshot)
    for met in match.met:
        permission, hold = met.holds(match.namespace)[0]
        resource = resource_of(catalogue, permission)
        if resource is None or permission.nameless or resource.resource in (*AUTHORIZATION_RESOURCES, *NEVER):
            continue
        named = hold.names or met.requirement.names or (LENT,)
        if hold.names and met.requirement.names:
            named = tuple(name for name in hold.names if name in met.requirement.names)
        known = {**values, "fresh": named[0], "resource": resource}
        try:
            body = _example(catalogue, permission, known, snapshot)
        except NotExecutable:
            continue  # the use itself will say so
        place = met.requirement.namespace or values["namespace"]
        yield f"an object of {resource.group_resource}", collection(resource, place), body


def _example(catalogue: Catalogue, permission: Permission, values: Mapping[str, Any], snapshot: Any) -> Any:
    resource = resource_of(catalogue, permission)
    assert resource is not None
    if resource.resource in WORKLOADS and resource.group in ("", "apps", "batch"):
        return workload(resource, values["fresh"], body_of("pod", values)["spec"])
    return example_of(resource, values, snapshot)


def _put(sandbox: Sandbox, method: str, path: str, body: Any) -> bool:
    """True if an administrator's request changed something: the object is new and no policy denied it."""
    content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
    return sandbox.perform(
        Request.of(method, path, body, content_type=content_type), identity=administrator()
    ).succeeded

"""Builds and sends the requests of controllers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote

from simkit.client.controller import Client
from simkit.client.work_queue import RequeueError
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Draft, Object, metadata, name_of, namespace_of

_GONE: Final = 404
_TAKEN: Final = 409


def path_of(resource: GroupResource, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """The path of a built-in resource's collection, object or subresource, in version v1.

    Examples
    --------
    >>> path_of(GroupResource("apps", "deployments"), "dev", "web", "status")
    '/apis/apps/v1/namespaces/dev/deployments/web/status'
    """
    root = f"/apis/{resource.group}/v1" if resource.group else "/api/v1"
    scope = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    parts = (quote(name, ":@$&+=", errors="surrogatepass"), subresource) if name else ()
    return "/".join(filter(None, (f"{root}{scope}/{resource.resource}", *parts)))


def path_to(resource: GroupResource, obj: Object, subresource: str = "") -> str:
    """The path of an object."""
    return path_of(resource, namespace_of(obj), name_of(obj), subresource)


def create(client: Client, resource: GroupResource, namespace: str, obj: Object) -> Response:
    """POST."""
    return client.perform(Request.of_object("POST", path_of(resource, namespace), obj))


def replace(client: Client, resource: GroupResource, obj: Object, subresource: str = "") -> Response:
    """PUT of an object as it was read and changed; a conflict is met by looking again later."""
    return client.perform(Request.of_object("PUT", path_to(resource, obj, subresource), obj))


def replace_status(client: Client, resource: GroupResource, obj: Object, status: Any) -> Response | None:
    """PUT of a status, if it is another one than the object has."""
    if (obj.get("status") or {}) == status:
        return None
    return expect(replace(client, resource, {**obj, "status": status}, "status"), _GONE, _TAKEN)


def merge(client: Client, resource: GroupResource, obj: Object, change: Draft, subresource: str = "") -> Response:
    """A merge patch."""
    path = path_to(resource, obj, subresource)
    return client.perform(Request.of("PATCH", path, change, content_type="application/merge-patch+json"))


def delete(client: Client, path: str, obj: Object, propagation: str = "", *, exactly: bool = False) -> Response:
    """DELETE of this very object, ``exactly`` as it was read."""
    preconditions = {"uid": metadata(obj).get("uid", "")}
    if exactly:
        preconditions["resourceVersion"] = metadata(obj).get("resourceVersion", "")
    options: Draft = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions}
    if propagation:
        options["propagationPolicy"] = propagation
    return client.perform(Request.of("DELETE", path, options))


def remove(client: Client, resource: GroupResource, obj: Object, propagation: str = "") -> Response:
    """DELETE of this very object; that it is gone already, or another one, is no failure."""
    return expect(delete(client, path_to(resource, obj), obj, propagation), _GONE, _TAKEN)


def expect(response: Response, *tolerated: int) -> Response:
    """The response, if it succeeded or has a tolerated code. Raises RequeueError for any other."""
    if response.succeeded or response.status in tolerated:
        return response
    raise RequeueError(f"{response.status}: {response.body[:500].decode('utf-8', 'replace')}")


def key_of(resource: GroupResource, obj: Object) -> Key:
    """The key of an object."""
    return Key(resource, namespace_of(obj), name_of(obj))


def keys_of(resource: GroupResource, objects: Iterable[Object]) -> list[Key]:
    """The path of a collection."""
    return [key_of(resource, obj) for obj in objects]

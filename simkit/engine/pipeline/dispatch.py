"""From a target to the function that carries out its verb, or the refusal where there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from simkit.engine.pipeline.custom_resources.routes import builtin_group, check_custom_route, custom_scale, refuse_new
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import protobuf
from simkit.engine.pipeline.representation.negotiation import PROTOBUF, negotiate
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.engine.pipeline.request_scope import Served
from simkit.engine.pipeline.verbs import delete, patch, read, watch, write
from simkit.engine.pipeline.virtual_resources import access_reviews, component_statuses
from simkit.meta.domain import API_DOMAIN
from simkit.meta.errors import StatusError, bad_request, method_not_allowed, no_path, no_route
from simkit.meta.message import Response
from simkit.meta.name_validation import path_segment
from simkit.meta.names import GroupResource
from simkit.schema.catalogue import Resource

Handler = Callable[[Engine, RequestContext, Served], Response]

VERBS: Final[Mapping[str, Handler]] = {
    "get": read.get,
    "list": read.list_,
    "watch": watch.watch,
    "create": write.create,
    "update": write.update,
    "patch": patch.patch,
    "delete": delete.remove,
    "deletecollection": delete.remove_collection,
}
"""What each verb does to a resource itself."""

PARTS: Final[Mapping[str, Handler]] = {"get": read.get, "update": write.update_part, "patch": patch.patch}
"""What verbs do to a subresource that is a view of its object."""


UNSTORED: Final[Mapping[GroupResource, Handler]] = {
    **access_reviews.HANDLERS,
    GroupResource("", "componentstatuses"): component_statuses.answer,
}
"""What answers for resources that are not stored, whatever the verb."""


def dispatch(engine: Engine, exchange: RequestContext) -> Response:
    """Carry out a request for a resource. Raises 404 for what is not served, 405 for what cannot be done to it."""
    target, method = exchange.target, exchange.request.method
    backing = engine.backing(target.group, target.version)
    if backing is not None:
        remote, registration = backing
        return remote.forward(exchange, registration)
    resource = find(engine, target)
    if method == "HEAD" or (target.old_watch and method != "GET"):
        raise method_not_allowed()
    _check_route(target, resource)
    served = engine.served(resource)
    exchange.routed = ""
    if served.deprecation is not None:
        _tell_of_its_end(engine, exchange, *served.deprecation)
    if target.verb == "patch":
        patch.check_media(exchange, served)
    accept, listed = exchange.request.header("accept"), target.verb in ("list", "watch")
    binary_form, routed = PROTOBUF not in accept or _has_binary(served, target), served.custom is None
    exchange.wanted = negotiate(accept, watchable=listed, routed=routed, binary=binary_form)
    if exchange.wanted.transform == "Table" and exchange.request.query:
        exchange.wanted = replace(exchange.wanted, include=exchange.request.option("includeObject"))
    if target.subresource:
        return _part(engine, exchange, served)
    if target.verb not in resource.verbs:
        raise method_not_allowed()
    handler = UNSTORED.get(resource.group_resource)
    if handler is not None:
        return handler(engine, exchange, served)
    if served.custom is not None:
        refuse_new(served.custom, target)
    response = VERBS[target.verb](engine, exchange, served)
    engine.upkeep()
    return response


def _has_binary(served: Served, target: RequestInfo) -> bool:
    """Whether what the path leads to can be written as protobuf: custom objects cannot, but their scale can."""
    gvk = served.resource.subresource_gvk(target.subresource) if target.subresource else served.resource.gvk
    own = served.custom is None or gvk != served.resource.gvk
    return own and protobuf.available(gvk)


def _tell_of_its_end(engine: Engine, exchange: RequestContext, warning: str, end: str) -> None:
    """Warn the client, the audit log and whoever reads the metrics of a deprecated version."""
    target, exchange.deprecation = exchange.target, warning
    exchange.annotations[f"{API_DOMAIN}/deprecated"] = "true"
    if end:
        exchange.annotations[f"{API_DOMAIN}/removed-release"] = end
    engine.metrics.deprecated.add((target.group, target.version, target.resource, target.subresource, end))


def _part(engine: Engine, exchange: RequestContext, served: Served) -> Response:
    target = exchange.target
    info = served.resource.subresources[target.subresource]
    if target.verb not in info.verbs:
        raise method_not_allowed()
    special = access_reviews.SUBRESOURCES.get((served.resource.group_resource, target.subresource))
    if special is not None:
        return special(engine, exchange, served)
    if served.custom is not None and target.subresource == "scale":
        return custom_scale(engine, exchange, served)
    if served.resource.subresource_gvk(target.subresource) == served.resource.gvk and target.verb in PARTS:
        response = PARTS[target.verb](engine, exchange, served)
        engine.upkeep()
        return response
    raise unserved(target)


def unserved(target: RequestInfo) -> StatusError:
    """501 of a subresource that this server knows and cannot carry out; ``docs/gaps.md`` lists them."""
    what = f"{target.resource}/{target.subresource}"
    return StatusError(501, "NotImplemented", f"{target.verb} of {what} is not carried out by simkit; see docs/gaps.md")


def find(engine: Engine, target: RequestInfo) -> Resource:
    """The resource of a target. Raises the 404 of the real server: plain text for an unknown group."""
    resource = engine.catalogue.find(target.group, target.version, target.resource)
    if resource is None:
        raise no_route() if builtin_group(engine.catalogue, target.group) else no_path()
    return resource


def _check_route(target: RequestInfo, resource: Resource) -> None:
    """Whether the shape of the path fits the resource."""
    if resource.custom:
        check_custom_route(target, resource)
    if target.subresource and (target.subresource not in resource.subresources or not _has_name(target)):
        raise no_route()
    if target.rest and not resource.custom and target.subresource != "proxy":
        raise no_route()
    if not target.verb:
        raise method_not_allowed()
    own = target.resource == "namespaces" and not target.group
    if target.namespace and not resource.namespaced and not own:
        raise no_route()
    if target.old_watch and not resource.custom and not _old_watch_fits(target, resource):
        raise no_route()
    on_item = _has_name(target)
    wrong = path_segment(target.name) if on_item and target.verb != "create" else ()
    if wrong:
        raise bad_request(f'Name parameter invalid: "{target.name}": {", ".join(wrong)}')
    if on_item and not (resource.stored or target.subresource or "get" in resource.verbs):
        raise no_route()
    if resource.namespaced and not target.namespace and "list" not in resource.verbs:
        raise no_route()
    if resource.namespaced and not target.namespace and (on_item or target.verb not in ("list", "watch")):
        raise method_not_allowed() if not on_item else no_route()
    if target.verb == "create" and on_item and not target.subresource:
        raise method_not_allowed()
    if target.verb in ("update", "patch") and not on_item:
        raise method_not_allowed()


def _old_watch_fits(target: RequestInfo, resource: Resource) -> bool:
    """Whether there is a ``/watch/`` path of this shape: what is watched is told, and of what namespace if by name."""
    return "watch" in resource.verbs and bool(target.namespace or not target.name or not resource.namespaced)


def _has_name(target: RequestInfo) -> bool:
    """Whether the path itself has a name; a list may carry one from its field selector."""
    return bool(target.name) and target.verb not in ("list", "watch", "deletecollection")

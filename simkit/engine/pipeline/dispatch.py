"""The routing of resource requests to their handlers, as the routes of kube-apiserver do.

References
----------
``k8s.io/apiserver/pkg/endpoints/installer.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from simkit.engine.pipeline.custom_resources.definitions import (
    builtin_group,
    check_custom_route,
    refuse_new,
    unsupported,
)
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.options import check_syntax, list_options
from simkit.engine.pipeline.representation import bodies
from simkit.engine.pipeline.representation.bodies import KEPT, NONE, PLAIN, form_of
from simkit.engine.pipeline.representation.negotiation import (
    PROTOBUF,
    MediaTypeOptions,
    is_answerable,
    negotiate,
)
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.subresources import connect, eviction, scale, token
from simkit.engine.pipeline.subresources.scale import custom_scale
from simkit.engine.pipeline.verbs import delete, patch, read, watch, write
from simkit.engine.pipeline.virtual_resources import access_reviews
from simkit.meta.domain import API_DOMAIN, AUTHENTICATION_GROUP, EXTENSIONS_GROUP, REGISTRATION_GROUP, api_group
from simkit.meta.errors import StatusError, bad_request, method_not_allowed, no_path, no_route
from simkit.meta.fielderror import quoted
from simkit.meta.message import Response
from simkit.meta.name_validation import path_segment
from simkit.meta.names import GroupResource
from simkit.schema.catalogue import Resource

Handler = Callable[[Engine, RequestContext, RequestScope], Response]

VERBS: Final[Mapping[str, Handler]] = {
    "get": read.get,
    "list": read.list_,
    "watch": watch.watch,
    "create": write.create,
    "update": write.update,
    "patch": patch.patch,
    "delete": delete.delete_object,
    "deletecollection": delete.delete_collection,
}
"""The handlers of verbs on a resource itself."""

SUBRESOURCE_VERBS: Final[Mapping[str, Handler]] = {"get": read.get, "update": write.update, "patch": patch.patch}
"""The handlers of verbs on a subresource with its parent's kind, such as status."""

VIRTUAL_RESOURCES: Final[Mapping[GroupResource, Handler]] = {
    **access_reviews.HANDLERS,
    GroupResource(AUTHENTICATION_GROUP, "tokenreviews"): access_reviews.token_review,
    GroupResource("", "componentstatuses"): access_reviews.answer,
    GroupResource("", "bindings"): eviction.bind,
}
"""The handlers of resources that are not stored, for every verb."""

SUBRESOURCES: Final[Mapping[tuple[GroupResource, str], Handler]] = {
    (GroupResource("", "serviceaccounts"), "token"): token.token_request,
    (GroupResource("", "pods"), "eviction"): eviction.evict,
    (GroupResource("", "pods"), "binding"): eviction.bind,
    **{(resource, "scale"): scale.scale for resource in scale.VIEWS},
    **connect.CONNECTIONS,
}
"""The handlers of subresources with another kind than their parent's."""


def dispatch(engine: Engine, context: RequestContext) -> Response:
    """Handle a request for a resource. Raises 404 for unknown resources, 405 for unsupported verbs."""
    if not engine.shared_store or context.request.refreshed or context.request.option("resourceVersion"):
        return _dispatched(engine, context)
    if not _creates(context):
        engine.store.refresh()
        return _dispatched(engine, context)
    known, warned = engine.store.revision, len(context.warnings)
    try:  # the store itself knows whether there is such an object
        return _dispatched(engine, context)
    except StatusError:
        engine.store.refresh()
        if engine.store.revision == known:
            raise
    del context.warnings[warned:]
    return _dispatched(engine, context)


def _creates(context: RequestContext) -> bool:
    """True if a request stores a new object."""
    info = context.info
    stores = info.verb == "create" and not info.subresource and info.group_resource not in VIRTUAL_RESOURCES
    return stores and "dryRun" not in context.request.query


def _dispatched(engine: Engine, context: RequestContext) -> Response:
    info, method = context.info, context.request.method
    backing = engine.aggregated_service(info.group, info.version)
    if backing is not None:
        remote, registration = backing
        return remote.forward(context, registration)
    resource = find(engine, info)
    if info.old_watch and method != "GET":
        raise method_not_allowed()
    if method == "HEAD" and not resource.custom and info.subresource != "proxy":
        raise no_route() if info.subresource and info.subresource not in resource.subresources else method_not_allowed()
    _check_route(info, resource)
    _check_verb(info, resource)
    if resource.custom and info.verb == "create" and not info.subresource:  # a name in the path is passed over
        context.info = info = replace(info, name="")
    scope = engine.request_scope(resource)
    context.matched_path = ""
    if scope.deprecation is not None and _is_routed(context, scope):
        _tell_of_its_end(engine, context, *scope.deprecation)
    if info.verb == "patch" and info.subresource != "proxy":
        patch.check_media(context, scope)
    context.output_media_type = _negotiated(engine, context, scope)
    if context.output_media_type.transform == "Table" and context.request.query:
        context.output_media_type = replace(context.output_media_type, include=context.request.option("includeObject"))
    if info.subresource:
        response = _part(engine, context, scope)
        engine.met.add((resource.gvr, info.verb, info.subresource))
        return response
    handler = VIRTUAL_RESOURCES.get(resource.group_resource)
    if handler is None and scope.custom is not None:
        refuse_new(engine.behaviour, scope.custom, info)
    try:
        response = (handler or VERBS[info.verb])(engine, context, scope)
    finally:
        engine.met.add((resource.gvr, info.verb, ""))
        headers = context.request.headers
        if headers.get("accept", NONE)[0] not in KEPT or headers.get("content-type", NONE)[0] not in PLAIN:
            engine.met_forms.add((resource.gvr, form_of(context.request)))
    if handler is None:
        engine.settle()
    return response


def _check_verb(info: RequestInfo, resource: Resource) -> None:
    """Raise 405 for a verb that the path does not have; media types are looked at later."""
    verbs = resource.subresources[info.subresource].verbs if info.subresource else resource.verbs
    if info.verb not in verbs:
        raise _no_verb(info, resource)


def _no_verb(info: RequestInfo, resource: Resource) -> StatusError:
    return unsupported(info) if resource.custom else method_not_allowed()


_WITHOUT_TABLES: Final = frozenset(
    {"approval", "binding", "ephemeralcontainers", "eviction", "finalize", "log", "token"}
)
"""Subresources whose storage has no TableConvertor."""
_STATUS_WITHOUT_TABLES: Final = (EXTENSIONS_GROUP, REGISTRATION_GROUP, api_group("resource"))
"""Groups in which the storage of a status has none either."""


def _negotiated(engine: Engine, context: RequestContext, scope: RequestScope) -> MediaTypeOptions:
    """The form of the answer. Raises 406 if there is none, and the errors of a list's options where they come first."""
    info, accept = context.info, context.request.header("accept")
    listed, go_restful = info.verb in ("list", "watch"), scope.custom is None
    try:
        return negotiate(
            engine.behaviour,
            accept,
            watchable=listed,
            go_restful=go_restful,
            binary=PROTOBUF not in accept or _has_binary(scope, info),
            tables=_has_tables(scope.resource, info) and not (listed and _begins_a_list(engine, context, go_restful)),
            text=info.subresource == "log",
        )
    except StatusError:
        if listed and _is_called(accept, go_restful) and engine.behaviour.applies("list-options-before-forms"):
            options = list_options(
                engine.behaviour, context.request, watch=info.verb == "watch", watch_list=engine.gate("WatchList")
            )
            check_syntax(engine.behaviour, options)
        raise


def _is_called(accept: str, go_restful: bool) -> bool:
    """True if the handler is called, since the path has a media type that the client takes."""
    return not go_restful or is_answerable(accept, text=False)


def _begins_a_list(engine: Engine, context: RequestContext, go_restful: bool) -> bool:
    """True for a watch that begins with a list, and is not shown as a Table at this release."""
    if (
        context.info.verb != "watch"
        or not engine.behaviour.applies("no-tables-of-watched-lists")
        or not engine.gate("WatchList")
    ):
        return False
    if not _is_called(context.request.header("accept"), go_restful):
        return False
    options = list_options(engine.behaviour, context.request, watch=True, watch_list=True)
    return bool(options.initial_events) and options.bookmarks


def _has_tables(resource: Resource, info: RequestInfo) -> bool:
    """True if what the path leads to can be shown as a Table: what is stored, and most of its subresources."""
    if info.subresource == "status" and resource.group in _STATUS_WITHOUT_TABLES:
        return False
    return info.subresource not in _WITHOUT_TABLES and (resource.stored or "list" in resource.verbs)


def _has_binary(scope: RequestScope, info: RequestInfo) -> bool:
    """True if what the path leads to can be written as protobuf: custom objects cannot, but their scale can."""
    gvk = scope.resource.subresource_gvk(info.subresource) if info.subresource else scope.resource.gvk
    own = scope.custom is None or gvk != scope.resource.gvk
    return own and bodies.available(gvk)


def _is_routed(context: RequestContext, scope: RequestScope) -> bool:
    """True if the path takes the media types of the request, so that its handler is called, and can warn."""
    if scope.custom is not None:
        return True
    accept = context.request.header("accept")
    answered = not accept.strip() or is_answerable(accept, text=context.info.subresource == "log")
    return answered and (context.info.verb != "patch" or patch.is_known(context))


def _tell_of_its_end(engine: Engine, context: RequestContext, warning: str, end: str) -> None:
    """Report the use of a deprecated version to the client, the audit log and the metrics."""
    info, context.deprecation = context.info, warning
    context.annotations[f"{API_DOMAIN}/deprecated"] = "true"
    if end:
        context.annotations[f"{API_DOMAIN}/removed-release"] = end
    engine.metrics.deprecated.add((info.group, info.version, info.resource, info.subresource, end))


def _part(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    info = context.info
    special = SUBRESOURCES.get((scope.resource.group_resource, info.subresource))
    if special is not None:
        return special(engine, context, scope)
    if scope.custom is not None and info.subresource == "scale":
        return custom_scale(engine, context, scope)
    if scope.resource.subresource_gvk(info.subresource) == scope.resource.gvk and info.verb in SUBRESOURCE_VERBS:
        response = SUBRESOURCE_VERBS[info.verb](engine, context, scope)
        engine.settle()
        return response
    raise unserved(info)


def unserved(info: RequestInfo) -> StatusError:
    """501 for a subresource that is known and not implemented; ``docs/gaps.md`` lists them."""
    what = f"{info.resource}/{info.subresource}"
    return StatusError(501, "NotImplemented", f"{info.verb} of {what} is not carried out by simkit; see docs/gaps.md")


def find(engine: Engine, info: RequestInfo) -> Resource:
    """The resource of a request. Raises kube-apiserver's 404: plain text for an unknown group."""
    resource = engine.catalogue.find(info.group, info.version, info.resource)
    if resource is None:
        raise no_route() if builtin_group(engine.catalogue, info.group) else no_path()
    return resource


def _check_route(info: RequestInfo, resource: Resource) -> None:
    """Check that the shape of the path fits the resource."""
    if resource.custom:
        check_custom_route(info, resource)
    if info.subresource and (info.subresource not in resource.subresources or not _has_name(info)):
        raise no_route()
    if info.rest and not resource.custom and info.subresource != "proxy":
        raise no_route()
    if not info.verb:
        raise _no_verb(info, resource)
    own = info.resource == "namespaces" and not info.group
    if info.namespace and not resource.namespaced and not own:
        raise no_route()
    if info.old_watch and not resource.custom and not _old_watch_fits(info, resource):
        raise no_route()
    on_item = _has_name(info)
    wrong = path_segment(info.name) if on_item and info.verb != "create" else ()
    if wrong:
        raise bad_request(f"Name parameter invalid: {quoted(info.name)}: {', '.join(wrong)}")
    if on_item and not (resource.stored or info.subresource or "get" in resource.verbs):
        raise no_route()
    if resource.namespaced and not info.namespace and "list" not in resource.verbs:
        raise no_route()
    if resource.namespaced and not info.namespace and (on_item or info.verb not in ("list", "watch")):
        raise method_not_allowed() if not on_item else no_route()
    if info.verb == "create" and on_item and not info.subresource and not resource.custom:
        raise method_not_allowed()
    if info.verb in ("update", "patch") and not on_item:
        raise bad_request("name must be provided") if resource.custom else method_not_allowed()


def _old_watch_fits(info: RequestInfo, resource: Resource) -> bool:
    """True if there is a ``/watch/`` path of this shape: what is watched is told, and of what namespace if by name."""
    return "watch" in resource.verbs and bool(info.namespace or not info.name or not resource.namespaced)


def _has_name(info: RequestInfo) -> bool:
    """True if the path itself has a name; a list may carry one from its field selector."""
    return bool(info.name) and info.verb not in ("list", "watch", "deletecollection")

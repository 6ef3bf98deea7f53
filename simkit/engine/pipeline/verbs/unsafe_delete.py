"""The deletion of objects that are stored but cannot be read, and the error of a list that meets some.

References
----------
KEP-3926; k8s.io/apiserver/pkg/endpoints/handlers/delete.go, pkg/registry/generic/registry/corrupt_obj_deleter.go and
pkg/storage/etcd3/corrupt_obj_deleter.go, release 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.options import UNREADABLE, delete_options_invalid
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.meta.domain import RBAC_GROUP, api_group
from simkit.meta.errors import StatusError, forbidden, internal, invalid
from simkit.meta.fielderror import FieldError, invalid_value, quoted
from simkit.meta.message import Response
from simkit.meta.names import GroupKind, GroupResource, Key
from simkit.meta.unreadable import Unreadable

_VERB: Final = "unsafe-delete-ignore-read-errors"
_NOTE: Final = f"{api_group('apiserver')}/unsafe-delete-ignore-read-error"
_MOST_TOLD: Final = 100
_NOT_OFFERED: Final = f"no unsafe deleter provided, can not honor {UNREADABLE}"
_ONLY_UNREADABLE: Final = "is exclusively used to delete corrupt object(s), try again by removing this option"
_NO_COLLECTION: Final = "is not allowed with DELETECOLLECTION, try again after removing the option"


def delete_unreadable(engine: Engine, context: RequestContext, scope: RequestScope, key: Key) -> Response:
    """Remove an object that cannot be read, without finalizers, preconditions and admission.

    Raises 403 for whom that is not permitted, and 422 for an object that can be read, or is not there.
    """
    context.annotations[_NOTE] = ""
    resource = scope.resource.group_resource
    if resource == GroupResource("", "namespaces") or resource.group == RBAC_GROUP:
        raise internal(_NOT_OFFERED)
    _check_right(engine, context, resource)
    if not engine.store.discard(key):
        kind = GroupKind(resource.group, resource.resource)
        raise invalid(kind, key.name, [_error(_ONLY_UNREADABLE)])
    details = {"name": key.name, "kind": scope.resource.kind}
    told: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return responses.document_response({**told, "details": details, "code": 200}, context.output_media_type)


def refuse_collection() -> StatusError:
    """The error of a deletecollection with the option."""
    return delete_options_invalid([_error(_NO_COLLECTION)])


def _error(why: str) -> FieldError:
    return invalid_value(UNREADABLE, True, why)


def _check_right(engine: Engine, context: RequestContext, resource: GroupResource) -> None:
    decision = engine.authorizer.authorize(replace(context.info.asks(context.actor()), verb=_VERB))
    if not decision.allowed:
        why = f"not permitted to do {quoted(_VERB)}, reason: {decision.reason}"
        raise forbidden(resource, context.info.name, why)


def check_readable(found: Sequence[Unreadable], resource: GroupResource) -> None:
    """Raise a 500 StatusError that names the objects of a list which cannot be read."""
    if not found:
        return
    causes: list[dict[str, str]] = [
        {
            "reason": "UnexpectedServerResponse",
            "message": each.told("/registry"),
            "field": f"/registry/{each.path}",
        }
        for each in found[:_MOST_TOLD]
    ]
    if len(found) > _MOST_TOLD:
        causes.append({"reason": "FieldValueTooMany", "message": "too many errors, the list is truncated"})
    details = {"name": "list", "group": resource.group, "kind": resource.resource, "causes": causes}
    raise StatusError(
        500,
        "StorageReadError",
        f"failed to read one or more {resource} from the storage",
        details={name: value for name, value in details.items() if value},
    )

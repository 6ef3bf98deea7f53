"""TokenRequest: the ``token`` subresource of service accounts.

References
----------
``pkg/registry/core/serviceaccount/storage/token.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from simkit.client.resources import SERVICE_ACCOUNTS
from simkit.engine.authn.serviceaccount import WARN_ONLY_LIFETIME, BoundObject, bound_claims
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs import request_object
from simkit.engine.pipeline.verbs.request_object import create_attributes, new_owners
from simkit.kinds.strategy import strategy_of
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.domain import label
from simkit.meta.errors import bad_request, conflict, internal, invalid
from simkit.meta.fielderror import invalid_value, quoted
from simkit.meta.message import Response
from simkit.meta.names import GroupKind, GroupResource, GroupVersionKind, Key
from simkit.meta.objects import Object, at, group_version_of, metadata, name_of
from simkit.schema.field_order import Fields
from simkit.seams import existing

ISSUED: Final = label("issued-credential-id", "authentication")
"""The audit annotation with the id of the issued token."""
_PODS, _SECRETS, _NODES = (GroupResource("", name) for name in ("pods", "secrets", "nodes"))
_NODE_BINDING: Final = "ServiceAccountTokenNodeBinding"


class BoundObjects(NamedTuple):
    """The objects that a token is bound to: the one of the request, and the node of a pod."""

    items: tuple[BoundObject, ...] = ()
    of_pod: bool = False


def token_request(engine: Engine, context: RequestContext, scope: RequestScope) -> Response:
    """POST to ``serviceaccounts/<name>/token``: a token of that account."""
    options = request_object.create_options(engine.behaviour, context.request)
    gvk = scope.resource.subresource_gvk("token")
    draft = request_object.read(engine, context, gvk, engine.catalogue.schema(gvk), options.validation)
    request_object.check_address(context, scope, draft, named=False)
    strategy_of(gvk.group_kind).default(engine.behaviour, draft)
    name, now = context.info.name, timestamp(engine.clock.now())
    draft["metadata"]["managedFields"] = owned = new_owners(engine, draft, gvk, options, "token")
    review = create_attributes(context, scope, gvk, name, draft, options)
    draft = dict(engine.admission.mutate(review))
    if name_of(draft) not in ("", name):
        detail = "must match the service account name if specified"
        raise invalid(engine.behaviour, gvk.group_kind, name, [invalid_value("metadata.name", name_of(draft), detail)])
    account = _existing(engine, SERVICE_ACCOUNTS, context.info.namespace, name)
    errors = list(strategy_of(gvk.group_kind).validate(engine.behaviour, draft, None))
    if errors:
        raise invalid(engine.behaviour, gvk.group_kind, "", errors)
    _check_uid(engine.behaviour, context, gvk, draft, account)
    shown = {"uid": metadata(account).get("uid") or ""} if engine.behaviour.applies("token-request-shows-uid") else {}
    place = {"name": name, "namespace": context.info.namespace, "creationTimestamp": now}
    named = place if engine.behaviour.applies("token-requests-named") else {"creationTimestamp": None}
    given = {key: value for key, value in draft["metadata"].items() if key not in ("name", "namespace", "uid")}
    draft["metadata"] = {**given, **named, **shown, "managedFields": owned}
    draft["spec"]["audiences"] = list(draft["spec"].get("audiences") or engine.authentication.audiences)
    engine.admission.validate(review.with_object(draft))
    status = _issued(engine, context, account, draft["spec"])
    made = Fields(engine.catalogue.schema(gvk))({**draft, "status": status})
    return responses.made_response(scope, made, context.output_media_type)


def _check_uid(
    behaviour: ServedBehaviour, context: RequestContext, gvk: GroupVersionKind, draft: Object, account: Object
) -> None:
    """A token of an account that was made anew in the meantime is refused. Raises 409."""
    given, actual = metadata(draft).get("uid") or "", metadata(account).get("uid") or ""
    if given and given != actual and behaviour.applies("token-request-uid"):
        why = f"the UID in the token request ({given}) does not match the UID of the service account ({actual})"
        raise conflict(gvk.group_kind, context.info.name, why)


def _existing(engine: Engine, resource: GroupResource, namespace: str, name: str) -> Object:
    if not name:
        raise bad_request("Name parameter required.")
    return existing(engine.store, Key(resource, namespace, name)).object


def _issued(engine: Engine, context: RequestContext, account: Object, spec: dict[str, Any]) -> dict[str, Any]:
    """The status with the signed token; missing fields of the spec are set."""
    authentication = engine.authentication
    if authentication.issuer is None:
        raise internal("this server has no key to sign service account tokens with")
    audiences = spec["audiences"]
    binding = bound_objects(engine, context, spec.get("boundObjectRef"))
    longest, seconds = authentication.longest, spec["expirationSeconds"]
    if longest and seconds > longest:
        context.warnings.append(f"requested expiration of {seconds} seconds shortened to {longest} seconds")
        seconds = spec["expirationSeconds"] = longest
    now, identifier = engine.clock.now(), engine.name_source.uid()
    own = set(authentication.audiences).issuperset(audiences)
    extend = authentication.extends and binding.of_pod and seconds == WARN_ONLY_LIFETIME and own
    claims = bound_claims(
        account,
        audiences=audiences,
        seconds=seconds,
        now=now,
        identifier=identifier,
        bound=binding.items,
        extend=extend,
    )
    context.annotations[ISSUED] = f"JTI={identifier}"
    token = authentication.issuer.issue(claims)
    return {"token": token, "expirationTimestamp": timestamp(now + seconds)}


def bound_objects(engine: Engine, context: RequestContext, reference: Mapping[str, Any] | None) -> BoundObjects:
    """The objects that a token is bound to. Raises 400, 404 or 409."""
    if reference is None:
        return BoundObjects()
    group, version = group_version_of(reference)
    kind, name = reference.get("kind") or "", reference.get("name") or ""
    namespace = context.info.namespace
    if (group, kind) == ("", "Pod"):
        pod = _existing(engine, _PODS, namespace, name)
        found = _pod(engine, context, pod)
    elif (group, kind) == ("", "Secret"):
        found = BoundObjects((_bound("secret", _existing(engine, _SECRETS, namespace, name)),))
    elif (group, kind) == ("", "Node") and engine.behaviour.applies("tokens-bound-to-nodes"):
        if not engine.gates.get(_NODE_BINDING, False):
            raise bad_request(f'cannot bind token to a Node object as the "{_NODE_BINDING}" feature-gate is disabled')
        found = BoundObjects((_bound("node", _existing(engine, _NODES, "", name)),))
    else:
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    uid = reference.get("uid")
    if uid and uid != found.items[0].uid:
        why = f"the UID in the bound object reference ({uid}) does not match the UID in record."
        raise conflict(GroupKind(group, kind), name, f"{why} The object might have been deleted and then recreated")
    return found


def _bound(kind: str, obj: Object) -> BoundObject:
    return BoundObject(kind, name_of(obj), metadata(obj).get("uid", ""))


def _pod(engine: Engine, context: RequestContext, pod: Object) -> BoundObjects:
    """A pod and its node; a missing node is given by name only."""
    if at(pod, "spec", "serviceAccountName") != context.info.name:
        account = quoted(context.info.name)
        why = f"cannot bind token for serviceaccount {account} to pod running with different serviceaccount name."
        raise bad_request(why)
    items: Sequence[BoundObject] = (_bound("pod", pod),)
    node = at(pod, "spec", "nodeName")
    if node and engine.gates.get("ServiceAccountTokenPodNodeInfo", True):
        entry = engine.store.get(Key(_NODES, "", node))
        items = (*items, _bound("node", entry.object) if entry is not None else BoundObject("node", node, ""))
    return BoundObjects(tuple(items), of_pod=True)

"""Service account tokens: made on request, and judged for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from simkit.engine.authn.claims import WARN_ONLY_LIFETIME, Bound, bound_claims
from simkit.engine.pipeline import options as opt
from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.options import WriteOptions
from simkit.engine.pipeline.representation import responses
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import Served
from simkit.engine.pipeline.verbs import request_object
from simkit.engine.pipeline.verbs.create_attributes import posted
from simkit.engine.pipeline.virtual_resources.reviews import answered, asked, user_info
from simkit.kinds.strategies import strategy_of
from simkit.language.merge.update import track_update
from simkit.meta.clock import timestamp
from simkit.meta.domain import label
from simkit.meta.errors import bad_request, conflict, internal, invalid, not_found
from simkit.meta.fielderror import invalid_value, quoted
from simkit.meta.message import Response
from simkit.meta.names import GroupKind, GroupResource, GroupVersionKind, Key
from simkit.meta.objects import Draft, Object, at, group_version_of, metadata, name_of

ISSUED: Final = label("issued-credential-id", "authentication")
"""The audit annotation that tells which token was issued."""
_ACCOUNTS: Final = GroupResource("", "serviceaccounts")
_PODS, _SECRETS, _NODES = (GroupResource("", name) for name in ("pods", "secrets", "nodes"))
_NODE_BINDING: Final = "ServiceAccountTokenNodeBinding"


class Binding(NamedTuple):
    """What a token is bound to: the object that was asked for first, then what is told besides."""

    items: tuple[Bound, ...] = ()
    of_pod: bool = False


def token_request(engine: Engine, exchange: RequestContext, served: Served) -> Response:
    """POST to ``serviceaccounts/<name>/token``: a token of that account."""
    options = opt.write_options(exchange.request, "CreateOptions")
    gvk = served.resource.subresource_gvk("token")
    draft = request_object.read(engine, exchange, gvk, engine.catalogue.schema(gvk), options.validation)
    request_object.check_address(exchange, served, draft, named=False)
    strategy_of(gvk.group_kind).default(draft)
    owned = _owned(engine, draft, gvk, options)
    name = exchange.target.name
    review = posted(exchange, served, gvk, name, draft, options)
    draft = dict(engine.admission.mutate(review))
    if name_of(draft) not in ("", name):
        detail = "must match the service account name if specified"
        raise invalid(gvk.group_kind, name, [invalid_value("metadata.name", name_of(draft), detail)])
    account = _existing(engine, _ACCOUNTS, exchange.target.namespace, name)
    errors = strategy_of(gvk.group_kind).validate(draft, None)
    if errors:
        raise invalid(gvk.group_kind, "", errors)
    engine.admission.validate(replace(review, object=draft))
    status = _issued(engine, exchange, account, draft["spec"])
    now = timestamp(engine.clock.now())
    head = {"name": name, "namespace": exchange.target.namespace, "creationTimestamp": now, "managedFields": owned}
    return responses.document({**draft, "metadata": head, "status": status}, exchange.wanted, status=201)


def _owned(engine: Engine, draft: Draft, gvk: GroupVersionKind, options: WriteOptions) -> list[Any]:
    return track_update(
        None,
        draft,
        engine.catalogue.schema(gvk),
        manager=options.manager,
        api_version=gvk.api_version,
        time=timestamp(engine.clock.now()),
        subresource="token",
    )


def _existing(engine: Engine, resource: GroupResource, namespace: str, name: str) -> Object:
    if not name:
        raise bad_request("Name parameter required.")
    entry = engine.store.get(Key(resource, namespace, name))
    if entry is None:
        raise not_found(resource, name)
    return entry.object


def _issued(engine: Engine, exchange: RequestContext, account: Object, spec: dict[str, Any]) -> dict[str, Any]:
    """The status with the signed token; the spec gets what was left out."""
    authentication = engine.authentication
    if authentication.issuer is None:
        raise internal("this server has no key to sign service account tokens with")
    audiences = spec["audiences"] = list(spec.get("audiences") or authentication.audiences)
    binding = bound(engine, exchange, spec.get("boundObjectRef"))
    longest, seconds = authentication.longest, spec["expirationSeconds"]
    if longest and seconds > longest:
        exchange.warnings.append(f"requested expiration of {seconds} seconds shortened to {longest} seconds")
        seconds = spec["expirationSeconds"] = longest
    now, identifier = engine.clock.now(), engine.chance.uid()
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
    exchange.annotations[ISSUED] = f"JTI={identifier}"
    token = authentication.issuer.issue(claims)
    return {"token": token, "expirationTimestamp": timestamp(now + seconds)}


def bound(engine: Engine, exchange: RequestContext, reference: Mapping[str, Any] | None) -> Binding:
    """What the token is to be bound to. Raises 400, 404 or 409 where it cannot be."""
    if not reference:
        return Binding()
    group, version = group_version_of(reference)
    kind, name = reference.get("kind") or "", reference.get("name") or ""
    namespace = exchange.target.namespace
    if (group, kind) == ("", "Pod"):
        pod = _existing(engine, _PODS, namespace, name)
        found = _pod(engine, exchange, pod)
    elif (group, kind) == ("", "Secret"):
        found = Binding((_bound("secret", _existing(engine, _SECRETS, namespace, name)),))
    elif (group, kind) == ("", "Node"):
        if not engine.gates.get(_NODE_BINDING, False):
            raise bad_request(f'cannot bind token to a Node object as the "{_NODE_BINDING}" feature-gate is disabled')
        found = Binding((_bound("node", _existing(engine, _NODES, "", name)),))
    else:
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    uid = reference.get("uid")
    if uid and uid != found.items[0].uid:
        why = f"the UID in the bound object reference ({uid}) does not match the UID in record."
        raise conflict(GroupKind(group, kind), name, f"{why} The object might have been deleted and then recreated")
    return found


def _bound(kind: str, obj: Object) -> Bound:
    return Bound(kind, name_of(obj), metadata(obj).get("uid", ""))


def _pod(engine: Engine, exchange: RequestContext, pod: Object) -> Binding:
    """A pod and its node; a node that does not exist is told by name alone."""
    if at(pod, "spec", "serviceAccountName") != exchange.target.name:
        account = quoted(exchange.target.name)
        why = f"cannot bind token for serviceaccount {account} to pod running with different serviceaccount name."
        raise bad_request(why)
    items: Sequence[Bound] = (_bound("pod", pod),)
    node = at(pod, "spec", "nodeName")
    if node and engine.gates.get("ServiceAccountTokenPodNodeInfo", True):
        entry = engine.store.get(Key(_NODES, "", node))
        items = (*items, _bound("node", entry.object) if entry is not None else Bound("node", node, ""))
    return Binding(tuple(items), of_pod=True)


def token_review(engine: Engine, exchange: RequestContext, served: Served) -> Response:
    """TokenReview: whose token is this?"""
    draft, review = asked(engine, exchange, served)
    spec = draft.get("spec") or {}
    token, audiences = spec.get("token") or "", spec.get("audiences") or ()
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    engine.admission.validate(review)
    verdict = engine.authentication.reviewer.review(token, audiences)
    status: dict[str, Any] = {"user": {}}
    if verdict.identity is not None:
        user, named = user_info(verdict.identity), list(verdict.audiences)
        status = {"authenticated": True, "user": user, **({"audiences": named} if named else {})}
    elif verdict.error:
        status["error"] = verdict.error
    return answered(exchange, {**draft, "status": status})

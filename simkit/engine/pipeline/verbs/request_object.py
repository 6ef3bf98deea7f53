"""The object in a request body, or in the answer of a webhook: decoded, compared with the path, and defaulted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.engine.pipeline.engine import Engine
from simkit.engine.pipeline.options import WriteOptions, write_options
from simkit.engine.pipeline.representation import bodies
from simkit.engine.pipeline.representation.negotiation import PROTOBUF
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.kinds.apiextensions.definition import CustomVersion
from simkit.language.merge.managedfields import Record
from simkit.language.merge.update import track_update
from simkit.language.yaml.complaints import Repeat
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.clock import timestamp
from simkit.meta.errors import bad_request, internal
from simkit.meta.fielderror import quoted
from simkit.meta.message import Request
from simkit.meta.names import GroupResource, GroupVersion, GroupVersionKind, Key
from simkit.meta.objects import Draft, Object, at, metadata
from simkit.schema.custom.defaulting import drop_nulls
from simkit.schema.decoding import DecodeError, decode
from simkit.schema.shared_parts import SharedParts
from simkit.schema.structural import Schema
from simkit.seams import Review

# Duplicate owner references: each is kept once, and the client is warned.
# Upstream: k8s.io/apiserver/pkg/endpoints/handlers/rest.go, release 1.30.

_WARNING: Final = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)
_AFTER: Final = " after mutating admission happens"


def deduplicate(draft: Draft, warnings: list[str], *, admitted: bool) -> None:
    """Keep each owner in the metadata of a draft once, before and after admission.

    Other references to the same owner, which differ in something, stay.
    """
    metadata = draft.get("metadata") or {}
    owners: Sequence[Mapping[str, Any]] = metadata.get("ownerReferences") or ()
    if len(owners) < 2:
        return
    kept: dict[str, Mapping[str, Any]] = {}
    repeated = []
    for owner in owners:
        content = repr(sorted(owner.items()))
        if content in kept:
            repeated.append(owner.get("uid", ""))
        else:
            kept[content] = owner
    if repeated:
        warnings.append(_WARNING.format(when=_AFTER if admitted else "", uids=", ".join(repeated)))
        draft["metadata"] = {**metadata, "ownerReferences": list(kept.values())}


# The object in a request body: decoded, compared with the path, and defaulted.
# Upstream: k8s.io/apiserver/pkg/endpoints/handlers/rest.go and k8s.io/apiserver/pkg/registry/rest/meta.go, release
# 1.30.


def create_options(behaviour: ServedBehaviour, request: Request) -> WriteOptions:
    """The options of a POST, before which kube-apiserver looks at the format of the body."""
    if request.query:
        bodies.body_media(request)
    return write_options(behaviour, request, "CreateOptions")


def read(engine: Engine, context: RequestContext, gvk: GroupVersionKind, schema: Schema, validation: str) -> Draft:
    """The object in a body, of the path's kind, with unknown fields dropped.

    Unknown and duplicate fields are reported as ``validation`` says: Ignore, Warn, or Strict (a 400 that names all).
    """
    given = context.request.value
    if (
        given is not None
        and schema.name
        and (given.get("kind"), given.get("apiVersion")) == (gvk.kind, gvk.api_version)
    ):
        return fit(
            engine.behaviour,
            context,
            given,
            gvk,
            schema,
            validation,
            shared=engine.shared_parts,
            live=_live(engine, context),
        )
    media = bodies.body_media(context.request)
    body = context.request.body
    if media == PROTOBUF:
        value = bodies.decode(body, gvk)
        bodies.check_kind(engine.catalogue, value, body, GroupVersion(gvk.group, gvk.version), gvk.kind)
        return fit(engine.behaviour, context, value, gvk, schema, "Ignore")
    repeats: list[Repeat] = []
    try:
        value = bodies.parse(body, media, repeats)
    except bodies.MalformedBody as error:
        raise bodies.unrecognized(gvk.kind, str(error), body) from None
    custom = None if schema.name else bodies.custom_version(engine.catalogue, gvk)
    if custom is not None:
        return _read_custom(engine.behaviour, context, custom, value, validation, bodies.repeat_errors(repeats))
    if not _is_of(value, gvk):
        group_version = GroupVersion(gvk.group, gvk.version)
        bodies.check_kind(engine.catalogue, value, body, group_version, gvk.kind)
    return fit(
        engine.behaviour, context, value, gvk, schema, validation, bodies.repeat_errors(repeats) if repeats else ()
    )


def _is_of(value: Any, gvk: GroupVersionKind) -> bool:
    """True if a body says that it is of this kind, as most do."""
    is_object = isinstance(value, dict)
    return is_object and value.get("kind") == gvk.kind and value.get("apiVersion") == gvk.api_version


def _live(engine: Engine, context: RequestContext) -> Object | None:
    """The stored object whose status is written; None for other requests."""
    info = context.info
    if info.subresource != "status":
        return None
    entry = engine.store.get(Key(GroupResource(info.group, info.resource), info.namespace, info.name))
    return entry.object if entry is not None else None


def _read_custom(
    behaviour: ServedBehaviour,
    context: RequestContext,
    custom: CustomVersion,
    value: Any,
    validation: str,
    repeated: Sequence[str],
) -> Draft:
    """The custom object in a body, decoded in its own version and then compared with the path."""
    bodies.check_header(custom, value, context.request.body)
    schema = bodies.body_schema(custom, value)
    draft = fit(behaviour, context, value, custom.resource.gvk, schema, validation, repeated)
    bodies.check_custom_kind(behaviour, custom, value)
    return draft


def fit(
    behaviour: ServedBehaviour,
    context: RequestContext,
    value: Any,
    gvk: GroupVersionKind,
    schema: Schema,
    validation: str,
    repeated: Sequence[str] = (),
    *,
    converted: bool = False,
    keep_nulls: bool = False,
    shared: SharedParts | None = None,
    live: Object | None = None,
) -> Draft:
    """A decoded value as an object of the kind: typed, without unknown fields, with kind and apiVersion.

    ``repeated`` are errors that were found before, in the text of the body. Of a ``converted`` value, which came of a
    strategic merge, they are told by name. Nulls that a custom kind does not allow are dropped, but for ``keep_nulls``.
    ``shared`` knows parts that other values have too, and ``live`` is what a status is written to.
    """
    try:
        if shared is not None:
            decoded = shared.decode(value, schema, live)
        else:
            decoded = decode(behaviour, value or {}, schema, converted=converted)
    except DecodeError as error:
        raise bad_request(f"{_unfit(gvk)}: {error}") from error
    if repeated or decoded.problems:
        report(context, gvk, validation, [*repeated, *decoded.problems])
    kind, api_version = gvk.kind, gvk.api_version
    context.sent = value
    draft: Draft = {"kind": kind, "apiVersion": api_version}
    if not schema.name and not keep_nulls:
        drop_nulls(decoded.object, schema)
    draft.update(decoded.object)
    draft["kind"], draft["apiVersion"] = kind, api_version
    metadata = draft["metadata"] = dict(draft.get("metadata") or {})
    if schema.name and at(value, "metadata", "managedFields") == []:  # a wish, but of custom objects: forget all owners
        metadata["managedFields"] = []
    return draft


def _unfit(gvk: GroupVersionKind) -> str:
    return f"{gvk.kind} in version {quoted(gvk.version)} cannot be handled as a {gvk.kind}"


def report(context: RequestContext, gvk: GroupVersionKind, validation: str, errors: Sequence[str]) -> None:
    """Warn about unknown and duplicate fields, or refuse them."""
    if not errors or validation == "Ignore":
        return
    if validation == "Strict":
        repeated = [error for error in errors if error.startswith("line ")]  # one error of the YAML reader
        told = ["yaml: unmarshal errors:\n  " + "\n  ".join(repeated)] if repeated else []
        listed = ", ".join(told + [error for error in errors if not error.startswith("line ")])
        raise bad_request(f"{_unfit(gvk)}: strict decoding error: {listed}")
    context.warnings += errors


def default(scope: RequestScope, draft: Draft) -> Draft:
    """The draft with the defaults of the path's version; fields of disabled features have none."""
    spoke = scope.spoke
    spoke.default(draft)
    if not scope.is_storage_version and spoke.reshapes:
        return draft
    if scope.withheld.tree is None:
        scope.strategy.default(scope.behaviour, draft)
        return draft
    before = scope.withheld.places(draft)
    scope.strategy.default(scope.behaviour, draft)
    made = scope.withheld.without_added(draft, before)
    return draft if made is draft else dict(made)


def check_address(context: RequestContext, scope: RequestScope, draft: Draft, *, named: bool) -> None:
    """Check name and namespace against the path, and set them. Raises 400."""
    info, metadata = context.info, draft["metadata"]
    if scope.resource.namespaced:
        given = metadata.get("namespace")
        if given and given != info.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        metadata["namespace"] = info.namespace
    else:
        metadata.pop("namespace", None)
    if not named:
        return
    name = metadata.get("name")
    if not name:
        why = f"the name of the object ({info.name} based on URL) was undeterminable: name must be provided"
        raise bad_request(why)
    if name != info.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({info.name})")


# Objects that webhooks return: typed, with defaults, in the version that is stored


def stored_form(scope: RequestScope, value: Mapping[str, Any]) -> Draft:
    """An object in the version of a resource as the stored form. Raises the 500 StatusError for one that is none.

    Owners of fields stay as they are: who may write them was found out before.
    """
    given = value.get("apiVersion") or scope.resource.api_version, value.get("kind") or scope.resource.kind
    if given != (scope.resource.api_version, scope.resource.kind):
        raise internal(f"expected {scope.resource.gvk}, got {given[0]}, Kind={given[1]}")
    try:
        draft: Draft = dict(decode(scope.behaviour, value, scope.schema).object)
    except DecodeError as error:
        raise internal(str(error)) from None
    kind = {"kind": scope.resource.kind, "apiVersion": scope.resource.api_version}
    kept = {name: metadata(value)[name] for name in ("managedFields",) if name in metadata(value)}
    draft = {**kind, **draft, "metadata": {**(draft.get("metadata") or {}), **kept}}
    return scope.to_storage(default(scope, draft))


# The owners and the admission attributes of an object that is posted to a subresource or virtual resource


def new_owners(
    engine: Engine, draft: Object, gvk: GroupVersionKind, options: WriteOptions, subresource: str
) -> list[Record]:
    """The managed fields of an object that is not stored."""
    return track_update(
        engine.behaviour,
        None,
        draft,
        engine.catalogue.schema(gvk),
        manager=options.manager,
        api_version=gvk.api_version,
        time=timestamp(engine.clock.now()),
        subresource=subresource,
    )


def create_attributes(
    context: RequestContext,
    scope: RequestScope,
    kind: GroupVersionKind,
    name: str,
    obj: Object,
    options: WriteOptions,
) -> Review:
    """The attributes of an object posted to a subresource without a name of its own."""
    return Review(
        scope.catalogue.behaviour,
        context.actor(),
        "CREATE",
        scope.registry_scope.resource,
        scope.resource.version,
        context.info.subresource,
        kind,
        context.info.namespace,
        name,
        obj,
        None,
        options.as_object,
        options.dry_run,
        context.warnings,
        context.annotations,
    )

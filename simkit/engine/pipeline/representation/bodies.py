"""Decoding of request bodies, with kube-apiserver's errors for invalid ones.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/rest.go, k8s.io/apiserver/pkg/endpoints/handlers/create.go and
k8s.io/apimachinery/pkg/runtime/error.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from simkit.engine.pipeline.representation.negotiation import JSON, MEDIA, YAML
from simkit.kinds.apiextensions.definition import CustomVersion, Provider
from simkit.language.yaml.complaints import BrokenText, Repeat
from simkit.language.yaml.json_text import read_json
from simkit.meta import go_json
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import (
    StatusError,
    bad_request,
    internal,
    invalid,
    not_acceptable,
    scheme_name,
    unsupported_media_type,
)
from simkit.meta.fielderror import invalid_value, quoted
from simkit.meta.message import Request
from simkit.meta.names import GroupKind, GroupVersion, GroupVersionKind
from simkit.meta.objects import Draft, name_of
from simkit.schema import strict_json
from simkit.schema.catalogue import Catalogue
from simkit.schema.decode_pass import internal_package
from simkit.schema.decoding import DecodeError
from simkit.schema.decoding import decode as decode_object
from simkit.schema.lifecycle import lifecycle_of
from simkit.schema.structural import Schema

# The forms of requests and answers, told apart by their headers alone

PLAIN: Final = frozenset({"", "application/json", "application/merge-patch+json"})
KEPT: Final = frozenset({"", "*/*", "application/json", "application/json, */*"})
"""Accept headers of clients that get the bytes which are kept."""
NONE: Final = ("",)
_FORMS: Final = ("protobuf", "yaml", "Table", "cbor", "Partial")
"""Forms of bodies and answers whose modules are loaded when the first of them is read or written."""


def form_of(request: Request) -> str:
    """The form of the body or of the answer, whichever needs more; empty for plain JSON."""
    accepted, sent = request.header("accept"), request.header("content-type")
    return next((form for form in _FORMS if form in accepted or form in sent), "")


# The protobuf form of objects in requests and answers, and the errors for kinds without one.
# Upstream: k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go, release 1.30.

# The protobuf library is imported with the first message: most servers never send one.


def encode(obj: Mapping[str, Any]) -> bytes:
    """The enveloped protobuf message of an object. Raises 406 for kinds without a protobuf form."""
    from simkit.schema import binary

    try:
        return binary.encode(obj)
    except KeyError:
        raise unavailable() from None


def unavailable() -> Exception:
    """406 for a kind without a protobuf form."""
    return not_acceptable("only the following media types are accepted: application/json, application/yaml")


def available(gvk: GroupVersionKind) -> bool:
    """True if a kind has a binary form."""
    from simkit.schema import binary

    return binary.has_binary_form(gvk)


def event(kind: str, obj: Mapping[str, Any]) -> bytes:
    """A frame of a binary watch."""
    from simkit.schema import binary

    return binary.watch_frame(kind, obj)


def decode(body: bytes, gvk: GroupVersionKind) -> Draft:
    """The object in an enveloped protobuf message. Raises 400 for anything else."""
    from simkit.schema import binary
    from simkit.schema.binary.codec import Unfit

    try:
        return binary.decode(body, gvk)
    except Unfit as error:
        raise unrecognized(gvk.kind, str(error), body) from None


MOST_COLLECTIONS: Final = 200_000
"""Brackets and braces of a JSON body. More are no object that etcd takes, and to make them holds the interpreter."""
SHORT_YAML: Final = 8 * 1024
"""Bytes of a YAML body that is read in this process."""
_PREVIEW: Final = 30
MalformedBody = go_json.Malformed
header_error = go_json.header_error


def media_type(request: Request) -> str:
    """The body's media type in lower case without parameters; JSON by default."""
    given = request.header("content-type")
    return given if given == JSON else given.split(";")[0].strip().lower() or JSON


def body_media(request: Request) -> str:
    """The body's format: JSON, YAML or protobuf. Raises 415 for any other media type."""
    media = media_type(request)
    if media not in MEDIA:
        listed = ", ".join(MEDIA)
        raise unsupported_media_type(
            f"the body of the request was in an unknown format - accepted media types include: {listed}"
        )
    return media


def parse(body: bytes, media: str, repeats: list[Repeat]) -> Any:
    """The value of a JSON or YAML body; duplicate keys of YAML are appended to ``repeats``. Raises MalformedBody."""
    if media == YAML:
        return parse_yaml(body, repeats)
    try:
        return parse_json(body)
    except MalformedBody as error:
        raise MalformedBody(f"couldn't get version/kind; json parse error: {error}") from None


def parse_json(body: bytes) -> Any:
    """The value of a JSON text, with its duplicate keys. Raises MalformedBody; 413 for too many lists and maps."""
    if len(body) > MOST_COLLECTIONS and body.count(b"[") + body.count(b"{") > MOST_COLLECTIONS:
        limit = f"limit is {MOST_COLLECTIONS} lists and maps"
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {limit}")
    try:
        return strict_json.parse(body)
    except RecursionError:
        raise MalformedBody("exceeded max depth") from None
    except orjson.JSONDecodeError:
        pass
    return go_json.read(body)  # takes more, and tells where it stopped


def parse_yaml(body: bytes, repeats: list[Repeat]) -> Any:
    """The value of the first document of a YAML text. Raises MalformedBody."""
    if len(body) <= SHORT_YAML and (found := read_json(body)) is not None:
        return found
    from simkit.language.yaml.decode import decode_body  # many servers never read YAML

    try:
        return decode_body(body.decode("utf-8", "replace"), repeats)
    except BrokenText as error:
        who = "" if error.told.startswith("json: ") else "yaml: "
        raise MalformedBody(f"{who}{error.told}") from None


def repeat_errors(repeats: Sequence[Repeat]) -> list[str]:
    """The messages of strict validation about duplicate keys in YAML."""
    return [f"line {repeat.line}: key {quoted(repeat.key)} already set in map" for repeat in repeats]


def preview(body: bytes) -> str:
    """The start of a body in error messages: text if it looks like an object, else hexadecimal."""
    if not body:
        return "<empty>"
    head = body[:_PREVIEW]
    shown = head.decode("utf-8", "replace") if body[:1] == b"{" else head.hex()
    return f"{shown} ..." if len(body) > _PREVIEW else shown


def unrecognized(kind: str, why: str, body: bytes) -> StatusError:
    """400 for a body without a recognizable kind."""
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {why} ({preview(body)})")


def check_kind(catalogue: Catalogue, value: Any, body: bytes, group_version: GroupVersion, kind: str) -> None:
    """Refuse a body of another kind than the path's, first for values that do not have the types of its own kind.

    A missing kind or apiVersion is the path's.
    """
    error = header_error(value)
    if error:
        raise unrecognized(kind, error, body)
    given_version, given_kind = (value or {}).get("apiVersion") or "", (value or {}).get("kind") or ""
    given = GroupVersion.parse(given_version) if given_version else group_version
    named = given_kind or kind
    if (given, named) == (group_version, kind):
        return
    gvk = GroupVersionKind(given.group, given.version, named)
    served, handled = catalogue.kind(gvk), f"{named} in version {quoted(given.version)} cannot be handled as a {kind}"
    if served is not None and not served.custom:
        try:
            decode_object(catalogue.behaviour, value or {}, catalogue.schema(gvk))
        except DecodeError as error:
            raise bad_request(f"{handled}: {error}") from None
    known = served is not None or lifecycle_of(gvk.api_version, named) is not None
    if known and (given.group, named) == (group_version.group, kind):
        why = f"the API version in the data ({given}) does not match the expected API version ({group_version})"
        raise bad_request(why)
    if known:
        package = internal_package(group_version.group)
        why = f"converting ({given.version}.{named}) to ({package}.{kind}): unknown conversion"
    else:
        scheme = scheme_name(catalogue.behaviour, "pkg/api/legacyscheme/scheme.go:30")
        why = f"no kind {quoted(named)} is registered for version {quoted(given)} in scheme {scheme}"
    raise bad_request(f"{handled}: {why}")


# Bodies of custom objects, which must have kind and apiVersion themselves.
# Upstream: k8s.io/apiserver/pkg/endpoints/handlers/create.go, k8s.io/apiserver/pkg/endpoints/handlers/update.go and
# k8s.io/apimachinery/pkg/runtime/error.go, release 1.30.


def custom_version(catalogue: Catalogue, gvk: GroupVersionKind) -> CustomVersion | None:
    """The version that defines a custom kind; None for built-in kinds."""
    provider = catalogue.provider(gvk)
    return provider.version(gvk) if isinstance(provider, Provider) else None


def check_header(custom: CustomVersion, value: Any, body: bytes) -> None:
    """Raises 400 for a body without a kind."""
    error = custom_header_error(value, lambda: body)
    if error:
        raise unrecognized(custom.definition.kind, error, body)


def custom_header_error(value: Any, text: Callable[[], bytes]) -> str:
    """The reason why a value has no valid kind, or the empty string; ``text`` gives its text if needed."""
    error = header_error(value)
    if error:
        return error
    if not (value or {}).get("kind"):
        return f"Object 'Kind' is missing in '{text().decode('utf-8', 'replace')}'"
    return ""


_ANY_FIELDS: Final = {"type": "object", "preserveUnknown": True}


def body_schema(custom: CustomVersion, value: Any) -> Schema:
    """The schema of a body's version: no fields if the version does not exist, all fields in another group."""
    group, _ = GroupVersion.parse(value.get("apiVersion") or "")
    if group != custom.definition.group:
        return Schema(_ANY_FIELDS, custom.definition.resolve)
    other = custom.definition.version_of(value)
    return other.schema if other is not None else Schema({"type": "object"}, custom.definition.resolve)


def check_custom_kind(behaviour: ServedBehaviour, custom: CustomVersion, value: Any) -> None:
    """Raises 400 for a body of another version than the path's, 422 for one of another kind."""
    given = value.get("apiVersion") or ""
    if given != custom.api_version:
        raise bad_request(
            f"the API version in the data ({given}) does not match the expected API version ({custom.api_version})"
        )
    check_same(behaviour, custom, value)


def check_patched(behaviour: ServedBehaviour, custom: CustomVersion, patched: Any, *, whole: bool) -> None:
    """Raises 500 for a patched object without version, 422 for a whole one that became another kind or version."""
    if not patched.get("apiVersion"):
        raise internal("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    if whole:
        check_same(behaviour, custom, patched)


def check_same(behaviour: ServedBehaviour, custom: CustomVersion, value: Any) -> None:
    """Raises 422 for an object of another kind or version."""
    wanted = {"kind": custom.definition.kind, "apiVersion": custom.api_version}
    given = {name: value.get(name) or "" for name in wanted}
    errors = [
        invalid_value(name, given[name], f"must be {word}") for name, word in wanted.items() if given[name] != word
    ]
    if errors:
        group, _ = GroupVersion.parse(given["apiVersion"])
        raise invalid(behaviour, GroupKind(group, given["kind"]), name_of(value), errors)

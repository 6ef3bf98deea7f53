"""Reviews posted to a webhook, and conversion webhooks of custom resources."""

from __future__ import annotations

import base64
import contextlib
import json
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from simkit.engine.egress.policy import ConversionFunction, EgressPolicy, Peer, SkippedCall, Unreachable, parse_answer
from simkit.kinds.apiextensions.definition import ConversionFailed, Definition, kind_text
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.small_files import value_of_bytes
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import EXTENSIONS_GROUP
from simkit.meta.errors import scheme_name
from simkit.meta.fielderror import quoted
from simkit.meta.foreign import ForeignFault, call, judged_conversion
from simkit.meta.go_json import go_kind, header_error
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.meta.objects import Object, at, copied, name_of, namespace_of

# Reviews posted to a webhook, by its URL or by its service.
# References: k8s.io/apiserver/pkg/util/webhook, release 1.30.
# k8s.io/apimachinery/pkg/api/errors/errors.go, release 1.30.

_HEADERS: Final = {
    "Accept": "application/json, */*",
    "Content-Type": "application/json",
    "User-Agent": "kube-apiserver-admission",
}
_SAID: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}

VERSIONS: Final = ("v1", "v1beta1")
"""The versions of reviews."""
_LONGEST_YAML: Final = 8 * 1024
IsService = Callable[[str, str], bool]
"""A predicate for the existence of a service, by namespace and name."""


def address(client: Mapping[str, Any]) -> str:
    """The URL of a webhook, without its query. Its path is cleaned, as in client-go (``path.Join``).

    Examples
    --------
    >>> address({"service": {"namespace": "ops", "name": "hook", "path": "/convert"}})
    'https://hook.ops.svc:443/convert'
    >>> address({"url": "https://127.0.0.1:9443//validate/"})
    'https://127.0.0.1:9443/validate'
    >>> address({"url": "https://127.0.0.1:9443"})
    'https://127.0.0.1:9443/'
    """
    service = client.get("service")
    if service is None:
        url = str(client.get("url") or "")
        try:
            parts = urlsplit(url)
        except ValueError:  # of a dump
            return url
        return parts._replace(path=_clean(parts.path)).geturl()
    where = f"{service.get('name')}.{service.get('namespace')}.svc:{service.get('port') or 443}"
    return f"https://{where}{_clean(service.get('path') or '')}"


def _clean(path: str) -> str:
    return posixpath.normpath("/" + path.lstrip("/"))


def post(egress: EgressPolicy, client: Mapping[str, Any], body: bytes, seconds: int, is_service: IsService) -> bytes:
    """The answer of a webhook to a review.

    Parameters
    ----------
    client
        The ``clientConfig`` of the webhook.
    seconds
        How long all of it may take.

    Raises
    ------
    Unreachable
        Where there is no answer, or one that is no success; redirects are not followed.
    """
    from simkit.engine.egress.peer import fetch

    url = f"{address(client)}?timeout={seconds}s"
    try:
        parts = urlsplit(url)
        peer = _peer(egress, client, is_service)
    except ValueError as error:
        raise Unreachable(f'parse "{url}": {error}') from None
    except Unreachable as error:
        raise Unreachable(f'Post "{url}": {error}') from None
    headers = {**_HEADERS, "Host": parts.netloc, "Content-Length": str(len(body))}
    target = f"{parts.path or '/'}?{parts.query}"
    try:
        status, content, media = fetch(peer, "POST", target, headers, body, timeout=float(seconds))
    except Unreachable as error:
        raise Unreachable(f'Post "{url}": {error}') from None
    if not 200 <= status < 300:
        raise Unreachable(_refused(status, content, media), status)
    if not content:
        raise Unreachable(f"0-length response with status code: {status} and content type: {media}")
    return content


def _peer(egress: EgressPolicy, client: Mapping[str, Any], is_service: IsService) -> Peer:
    authorities = _decoded(client.get("caBundle") or "")
    service = client.get("service")
    if service is None:
        parts = urlsplit(address(client))
        host = parts.hostname or ""
        return Peer(host, parts.port or 443, host, authorities)
    namespace, name, port = service.get("namespace") or "", service.get("name") or "", service.get("port") or 443
    found = egress.address(namespace, name, port)
    if found is None:
        missing = f'no endpoints available for service "{name}"'
        raise Unreachable(missing if is_service(namespace, name) else f'service "{name}" not found')
    return Peer(*found, f"{name}.{namespace}.svc", authorities)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except ValueError:
        raise Unreachable("unable to load root certificates: unable to parse bytes as PEM block") from None


def _refused(status: int, content: bytes, media: str) -> str:
    """The error that client-go makes of an unsuccessful response."""
    if media.partition(";")[0].strip() == "application/json":
        with contextlib.suppress(json.JSONDecodeError):
            found = parse_answer(content)
            if isinstance(found, dict) and found.get("kind") == "Status" and found.get("message"):
                return str(found["message"])
    if status in _SAID:
        return _SAID[status]
    text = content.decode("utf-8", "replace").strip()[:2048] if media.startswith("text/") else ""
    if status in (403, 415) or (status == 406 and text):
        return text or "unknown"
    if status == 406:
        return "the server was unable to respond with a content type that the client supports"
    if status >= 500:
        return f'an error on the server ("{text or "unknown"}") has prevented the request from succeeding'
    return f"the server responded with the status code {status} but did not return more information"


class BadReview(Exception):
    """A response that is no review; the text is kube-apiserver's."""


def review(behaviour: ServedBehaviour, content: bytes, wanted: GroupVersionKind) -> Mapping[str, Any]:
    """The review in a response; one without kind and apiVersion counts as the wanted one. Raises BadReview."""
    found = _value(content)
    problem = header_error(found)
    if problem:
        raise BadReview(problem)
    found = found or {}
    given = GroupVersion.parse(found.get("apiVersion") or wanted.api_version)
    kind = found.get("kind") or wanted.kind
    if (given.group, kind) != (wanted.group, wanted.kind) or given.version not in VERSIONS:
        scheme = scheme_name(behaviour, "pkg/util/webhook/client.go:71")
        raise BadReview(f"no kind {quoted(kind)} is registered for version {quoted(given)} in scheme {scheme}")
    if given.version != wanted.version:
        raise BadReview(f"converting ({given.version}.{kind}) to ({wanted.version}.{kind}): unknown conversion")
    return found


def _value(content: bytes) -> Any:
    """The value of a JSON text, or of a short YAML text."""
    try:
        return parse_answer(content)
    except json.JSONDecodeError as error:
        if len(content) <= _LONGEST_YAML:
            with contextlib.suppress(BrokenText):
                return value_of_bytes(content)
        raise BadReview(f"couldn't get version/kind; json parse error: {error}") from None


ResponseFields = Mapping[str, tuple[type, str]]
"""The required type of each field, and its name in kube-apiserver's errors."""


def check_types(found: Mapping[str, Any], struct: str, fields: ResponseFields) -> None:
    """Raises BadReview for a response with fields of wrong types, as kube-apiserver's decoder does."""
    response = found.get("response")
    if response is None:
        return
    if not isinstance(response, Mapping):
        raise BadReview(_wrong(response, f"{struct.replace('Response', 'Review')}.response", f"v1.{struct}"))
    for name, (wanted, shown) in fields.items():
        given = response.get(name)
        if given is not None and not isinstance(given, wanted):
            raise BadReview(_wrong(given, f"{struct}.response.{name}", shown))
        if given is not None and shown in _TEXTS:
            for each in _values(given):
                if not isinstance(each, str | None):
                    raise BadReview(_wrong(each, f"{struct}.response.{name}", "string"))


def _values(given: Any) -> Iterable[Any]:
    return given.values() if isinstance(given, Mapping) else given


_TEXTS: Final = frozenset({"[]string", "map[string]string"})
_CAUSE: Final = {"reason": (str, "string"), "message": (str, "string"), "field": (str, "string")}
_DETAILS: Final = {
    **dict.fromkeys(("name", "group", "kind"), (str, "string")),
    "uid": (str, "types.UID"),
    "retryAfterSeconds": (int, "int32"),
}
_STATUS: Final = {**dict.fromkeys(("status", "message", "reason"), (str, "string")), "code": (int, "int32")}


def with_status(found: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    """A review whose response has a Status in a field, with what ``status_of`` leaves of it. Raises BadReview."""
    response = found.get("response")
    if not isinstance(response, Mapping) or response.get(field) is None:
        return found
    return {**found, "response": {**response, field: status_of(response[field])}}


def status_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The Status in a response: the fields that a Status has. Raises BadReview for fields of wrong types.

    A client gets what is in it, so nothing else of what the webhook sent may be there, however deep.
    """
    found = _fields(given, _STATUS, "Status")
    details = _typed(given, "details", dict, "v1.StatusDetails", "Status")
    if details is not None:
        causes = _typed(details, "causes", list, "[]v1.StatusCause", "StatusDetails") or ()
        for each in causes:
            if not isinstance(each, dict):
                raise BadReview(_wrong(each, "StatusDetails.causes", "v1.StatusCause"))
        told = [_fields(each, _CAUSE, "StatusCause") for each in causes]
        found["details"] = _fields(details, _DETAILS, "StatusDetails") | ({"causes": told} if told else {})
    return found


def _fields(given: Mapping[str, Any], fields: ResponseFields, struct: str) -> dict[str, Any]:
    read = {name: _typed(given, name, wanted, shown, struct) for name, (wanted, shown) in fields.items()}
    return {name: value for name, value in read.items() if value is not None}


def _typed(given: Mapping[str, Any], name: str, wanted: type, shown: str, struct: str) -> Any:
    value = given.get(name)
    fits = isinstance(value, wanted) and not isinstance(value, bool)
    if value is not None and (not fits or (wanted is int and not -(2**31) <= value < 2**31)):
        raise BadReview(_wrong(value, f"{struct}.{name}", shown))
    return value


def _wrong(given: Any, field: str, shown: str) -> str:
    return f"json: cannot unmarshal {go_kind(given)} into Go struct field {field} of type {shown}"


# Conversion webhooks of custom resources, called over HTTPS, or a function in their place.
# References: k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go, release 1.30.

SECONDS: Final = 30
"""The timeout of a conversion webhook, in seconds."""
_FIELDS: Final[ResponseFields] = {
    "uid": (str, "types.UID"),
    "convertedObjects": (list, "[]runtime.RawExtension"),
    "result": (dict, "v1.Status"),
}
_KIND: Final = "ConversionReview"


class WebhookConverter:
    """Calls the conversion webhooks of one server: a ``Conversion`` of definitions.

    Parameters
    ----------
    egress
        Whether they may be called, where services are, which functions stand in.
    is_service
        Whether there is such a service, for the error where nobody said where it is.
    uid
        Makes the uid of a review.
    """

    def __init__(
        self, behaviour: ServedBehaviour, egress: EgressPolicy, is_service: IsService, uid: Callable[[], str]
    ) -> None:
        self._behaviour, self._gateway, self._is_service, self._uid = behaviour, egress, is_service, uid

    def __call__(self, definition: Definition, objects: Sequence[Object], api_version: str) -> Sequence[Any] | None:
        """The objects from the webhook, unchecked; None if calls may not leave the process.

        Raises ConversionFailed where it cannot be called, answers something else than a review, or fails.
        """
        function = self._gateway.conversions.get(definition.name)
        if function is not None:
            return _asked(function, objects, api_version)
        conversion: Mapping[str, Any] = at(definition.spec, "conversion", "webhook") or {}
        if not self._gateway.allowed:
            target = address(conversion.get("clientConfig") or {})
            self._gateway.note(SkippedCall("conversion", definition.name, target, _shown(objects, api_version)))
            return None
        return self._call(conversion, objects, api_version)

    def _call(self, conversion: Mapping[str, Any], objects: Sequence[Object], api_version: str) -> Sequence[Any]:
        known = [name for name in conversion.get("conversionReviewVersions") or () if name in VERSIONS]
        if not known:
            raise ConversionFailed("no supported conversion review versions")
        version, uid = known[0], self._uid()
        body = orjson.dumps(
            {
                "kind": _KIND,
                "apiVersion": f"{EXTENSIONS_GROUP}/{version}",
                "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)},
            }
        )
        client = conversion.get("clientConfig") or {}
        try:
            wanted = GroupVersionKind(EXTENSIONS_GROUP, version, _KIND)
            found = review(self._behaviour, post(self._gateway, client, body, SECONDS, self._is_service), wanted)
            answered = _objects(found, uid, version)
        except (Unreachable, BadReview) as error:
            raise ConversionFailed(f"conversion webhook for {kind_text(objects[0])} failed: {error}") from None
        for each in answered:
            _check_object(each)
        return answered


def _objects(found: Mapping[str, Any], uid: str, version: str) -> Sequence[Any]:
    """The converted objects of a review. Raises BadReview if it is invalid or reports a failure."""
    check_types(found, "ConversionResponse", _FIELDS)
    found = with_status(found, "result")
    response: Mapping[str, Any] | None = found.get("response")
    if response is None:
        raise BadReview("no response provided")
    if version == "v1" and response.get("uid") != uid:
        raise BadReview(f'expected response.uid="{uid}", got "{response.get("uid") or ""}"')
    result = response.get("result") or {}
    if result.get("status") != "Success":
        told = f"response.result.status was '{result.get('status') or ''}', not 'Success'"
        raise BadReview(str(result.get("message") or told))
    answered: Sequence[Any] = response.get("convertedObjects") or ()
    return answered


def _check_object(given: Any) -> None:
    """Raise ConversionFailed for a value that is no object."""
    if not isinstance(given, Mapping):
        raise ConversionFailed("unable to decode a converted object: it is no object")
    if not given.get("kind"):
        raise ConversionFailed(f"Object 'Kind' is missing in '{orjson.dumps(given).decode()}'")


def _shown(objects: Sequence[Object], api_version: str) -> str:
    first = objects[0]
    place = f"{namespace_of(first)}/" if namespace_of(first) else ""
    return f"{first.get('kind')} {place}{name_of(first)} to {api_version}"


def _asked(function: ConversionFunction, objects: Sequence[Object], api_version: str) -> Sequence[Any]:
    """The results of a function on copies of the objects; a text is the reason of its failure."""
    answered = []
    for obj in objects:
        try:
            made = call("the function for it", function, copied(obj), api_version, judge=judged_conversion)
        except ForeignFault as fault:
            raise ConversionFailed(f"conversion for {kind_text(obj)} failed: {fault}") from fault
        if isinstance(made, str):
            raise ConversionFailed(f"conversion webhook for {kind_text(obj)} failed: {made}")
        answered.append(made)
    return answered

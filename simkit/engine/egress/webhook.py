"""Reviews posted to a webhook, by its URL or by its service.

References
----------
k8s.io/apiserver/pkg/util/webhook, release 1.30.
k8s.io/apimachinery/pkg/api/errors/errors.go, release 1.30.
"""

from __future__ import annotations

import base64
import binascii
import json
import posixpath
from collections.abc import Callable, Iterable, Mapping
from time import perf_counter
from typing import Any, Final
from urllib.parse import urlsplit

from simkit.engine.egress.address import Peer, Unreachable
from simkit.engine.egress.answer_json import parse_answer
from simkit.engine.egress.policy import EgressPolicy
from simkit.meta.go_json import go_kind

_HEADERS: Final = {
    "Accept": "application/json, */*",
    "Content-Type": "application/json",
    "User-Agent": "kube-apiserver-admission",
}
_CLIENT: Final = "rest_client"
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
    return f"https://{where}{_clean(service.get('path') or '').rstrip('/')}"


def _clean(path: str) -> str:
    return posixpath.normpath("/" + path.lstrip("/")) if path else ""


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
    began, host, meter = perf_counter(), parts.netloc, egress.meter
    meter.record(f"{_CLIENT}_request_size_bytes", "POST", host, value=len(body))
    try:
        status, content, media = fetch(peer, "POST", target, headers, body, timeout=float(seconds))
    except Unreachable as error:
        meter.count(f"{_CLIENT}_requests_total", "<error>", "POST", host)
        raise Unreachable(f'Post "{url}": {error}') from None
    finally:
        meter.record(f"{_CLIENT}_request_duration_seconds", "POST", host, value=perf_counter() - began)
    meter.count(f"{_CLIENT}_requests_total", str(status), "POST", host)
    meter.record(f"{_CLIENT}_response_size_bytes", "POST", host, value=len(content))
    if not 200 <= status < 300:
        raise Unreachable(_refused(status, content, media), status)
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
    except binascii.Error:
        raise Unreachable("unable to load root certificates: unable to parse bytes as PEM block") from None


def _refused(status: int, content: bytes, media: str) -> str:
    """The error that client-go makes of an unsuccessful response."""
    if media.partition(";")[0].strip() == "application/json":
        try:
            found = review(content)
        except BadReview:
            found = {}
        if found.get("kind") == "Status" and found.get("message"):
            return str(found["message"])
    if status in _SAID:
        return _SAID[status]
    text = content.decode("utf-8", "replace").strip()[:2048] if media.startswith("text/") else ""
    if status >= 500:
        return f'an error on the server ("{text or "unknown"}") has prevented the request from succeeding'
    return f"the server responded with the status code {status} but did not return more information"


class BadReview(Exception):
    """A response that is no review; the text is kube-apiserver's."""


def review(content: bytes) -> Mapping[str, Any]:
    """The review in a response. Raises BadReview."""
    try:
        found = parse_answer(content)
    except json.JSONDecodeError as error:
        raise BadReview(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(found, dict):
        raise BadReview(
            "couldn't get version/kind; json parse error: json: cannot unmarshal into Go value of type struct"
        )
    for field, shown in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if not found.get(field):
            raise BadReview(f"Object '{shown}' is missing in '{content.decode(errors='replace').strip()}'")
    return found


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

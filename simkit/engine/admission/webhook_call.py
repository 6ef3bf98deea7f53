"""Calls webhooks: over verified HTTPS, or a function of this process that stands in for one."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from simkit.engine.admission.webhook_hooks import Hook
from simkit.engine.admission.webhook_review import (
    Answer,
    BadAnswer,
    answer_of,
    decoded,
    encoded,
    request_of,
    version_for,
)
from simkit.engine.outside.address import Peer, Unreachable
from simkit.engine.outside.gateway import Function, Gateway, Uncalled
from simkit.logic.policy.attempt import Attempt, World
from simkit.meta.errors import bad_request
from simkit.meta.names import GroupResource
from simkit.meta.objects import copied
from simkit.schema.catalogue import Resource

_SERVICES: Final = GroupResource("", "services")
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


class CallFailed(Exception):
    """A webhook that could not be called or gave no answer; the text is the real server's."""

    def __init__(self, hook: Hook, why: str) -> None:
        super().__init__(f'failed calling webhook "{hook.name}": {why}')


class Caller:
    """Asks webhooks about writes.

    Parameters
    ----------
    gateway
        Whether they may be called, where services are, which functions stand in.
    world
        What is stored, for the objects in the versions that webhooks want, and for services.
    """

    def __init__(self, gateway: Gateway, world: World) -> None:
        self._gateway, self._world = gateway, world

    def ask(self, hook: Hook, attempt: Attempt, matched: Resource, uid: str, *, mutating: bool) -> Answer | None:
        """What the webhook says to a write; None where it was not called because no call may leave the process.

        Raises CallFailed, and the 400 StatusError of a dry run that the webhook does not take.
        """
        if attempt.dry_run and hook.side_effects not in ("None", "NoneOnDryRun"):
            raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
        function = self._gateway.functions.get(hook.name)
        if function is not None:
            return _asked(function, request_of(attempt, matched, self._world, uid))
        if not self._gateway.allowed:
            self._gateway.note(Uncalled("webhook", hook.name, _address(hook), _shown(attempt)))
            return None
        return self._call(hook, attempt, matched, uid, mutating=mutating)

    def _call(self, hook: Hook, attempt: Attempt, matched: Resource, uid: str, *, mutating: bool) -> Answer:
        try:
            version = version_for(hook)
        except BadAnswer as error:
            raise CallFailed(hook, f"could not create admission objects: {error}") from None
        body = encoded(request_of(attempt, matched, self._world, uid), version)
        try:
            review = decoded(self._posted(hook, body))
        except (Unreachable, BadAnswer) as error:
            raise CallFailed(hook, f"failed to call webhook: {error}") from None
        try:
            return answer_of(review, uid, version, mutating=mutating)
        except BadAnswer as error:
            raise CallFailed(hook, f"received invalid webhook response: {error}") from None

    def _posted(self, hook: Hook, body: bytes) -> bytes:
        from simkit.engine.outside.peer import fetch

        url = f"{_address(hook)}?timeout={hook.seconds}s"
        parts = urlsplit(url)
        try:
            headers = {**_HEADERS, "Host": parts.netloc, "Content-Length": str(len(body))}
            target = f"{parts.path or '/'}?{parts.query}"
            peer = self._peer(hook)
            status, content, media = fetch(peer, "POST", target, headers, body, timeout=float(hook.seconds))
        except Unreachable as error:
            raise Unreachable(f'Post "{url}": {error}') from None
        if not 200 <= status < 300:
            raise BadAnswer(_refused(status, content, media))
        return content

    def _peer(self, hook: Hook) -> Peer:
        authorities = _decoded(hook.client.get("caBundle") or "")
        service = hook.client.get("service")
        if service is None:
            parts = urlsplit(_address(hook))
            host = parts.hostname or ""
            return Peer(host, parts.port or 443, host, authorities)
        namespace, name, port = service.get("namespace") or "", service.get("name") or "", service.get("port") or 443
        address = self._gateway.address(namespace, name, port)
        if address is None:
            known = self._world.get(_SERVICES, name, namespace)
            missing = f'no endpoints available for service "{name}"'
            raise Unreachable(missing if known is not None else f'service "{name}" not found')
        return Peer(*address, f"{name}.{namespace}.svc", authorities)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        raise Unreachable("unable to load root certificates: unable to parse bytes as PEM block") from None


def _address(hook: Hook) -> str:
    """The URL of a webhook, without its query."""
    service = hook.client.get("service")
    if service is None:
        return str(hook.client.get("url") or "")
    where = f"{service.get('name')}.{service.get('namespace')}.svc:{service.get('port') or 443}"
    path = (service.get("path") or "").strip("/")
    return f"https://{where}/{path}" if path else f"https://{where}"


def _refused(status: int, content: bytes, media: str) -> str:
    """What a client of the real server makes of an answer that is no success."""
    if media.partition(";")[0].strip() == "application/json":
        try:
            found = decoded(content)
        except BadAnswer:
            found = {}
        if found.get("kind") == "Status" and found.get("message"):
            return str(found["message"])
    if status in _SAID:
        return _SAID[status]
    text = content.decode("utf-8", "replace").strip()[:2048] if media.startswith("text/") else ""
    if status >= 500:
        return f'an error on the server ("{text or "unknown"}") has prevented the request from succeeding'
    return f"the server responded with the status code {status} but did not return more information"


def _shown(attempt: Attempt) -> str:
    resource = attempt.resource.group_resource
    place = f"{attempt.namespace}/" if attempt.namespace and not attempt.is_namespace else ""
    return f"{attempt.operation} {resource} {place}{attempt.name}"


def _asked(function: Function, request: dict[str, Any]) -> Answer:
    """What a function says: it gets a copy of the request.

    None or True let the write pass, False refuses it, a text refuses it with this message. A mapping with ``allowed``
    is a response as webhooks give it, its patch a list of operations; one with ``kind`` is the changed object.
    """
    given = copied(request)
    said = function(given)
    if isinstance(said, str):
        return Answer(False, status={"message": said})
    if not isinstance(said, Mapping):
        return Answer(said is None or bool(said))
    if "kind" in said and "allowed" not in said:
        return Answer(True, changed=copied(said))
    status = said.get("status")
    annotations: Mapping[str, str] = said.get("auditAnnotations") or {}
    return Answer(bool(said.get("allowed")), said.get("patch") or (), status, said.get("warnings") or (), annotations)

"""The AdmissionReview for a webhook, its call, and the meaning of its response."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from simkit.client.resources import SERVICES
from simkit.engine.admission.webhook_index import WebhookAccessor
from simkit.engine.egress.policy import EgressPolicy, SkippedCall, Unreachable, WebhookFunction
from simkit.engine.egress.webhook import (
    VERSIONS,
    BadReview,
    ResponseFields,
    address,
    check_types,
    post,
    review,
    with_status,
)
from simkit.logic.policy.attributes import AdmissionAttributes, ClusterReader
from simkit.meta import go_json
from simkit.meta.domain import api_group
from simkit.meta.errors import StatusError, bad_request, internal
from simkit.meta.fielderror import quoted
from simkit.meta.foreign import ForeignFault, call_within, judged_review
from simkit.meta.go_json import go_kind
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import copied
from simkit.schema.catalogue import Resource
from simkit.schema.time_and_bytes import TextError, canonical_base64

# The AdmissionReview for a webhook, and the meaning of its response.
# Upstream: k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go, release 1.30.

_GROUP: Final = api_group("admission")
_KIND: Final = "AdmissionReview"
_JSON_PATCH: Final = "JSONPatch"


FIELDS: Final[ResponseFields] = {
    "uid": (str, "types.UID"),
    "allowed": (bool, "bool"),
    "status": (dict, "v1.Status"),
    "patch": (str, "[]uint8"),
    "patchType": (str, "v1.PatchType"),
    "auditAnnotations": (dict, "map[string]string"),
    "warnings": (list, "[]string"),
}
"""The fields that a response may have."""


class BadAnswer(Exception):
    """A response that is not valid; the text is that of kube-apiserver."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of a webhook."""

    allowed: bool
    patch: Sequence[Any] = ()
    """Operations of a JSON patch."""
    status: Mapping[str, Any] | None = None
    """The reason of the refusal."""
    warnings: Sequence[str] = ()
    annotations: Mapping[str, str] | None = None
    changed: Mapping[str, Any] | None = None
    """The whole changed object, which a function may give instead of a patch."""


def version_for(hook: WebhookAccessor) -> str:
    """The first of the webhook's review versions that is known. Raises BadAnswer if there is none."""
    for version in hook.versions:
        if version in VERSIONS:
            return version
    raise BadAnswer("webhook does not accept known AdmissionReview versions (v1, v1beta1)")


def request_of(attributes: AdmissionAttributes, matched: Resource, reader: ClusterReader, uid: str) -> dict[str, Any]:
    """The request of a review, the objects in the version that the webhook matched."""
    return {
        **attributes.request(matched, uid=uid),
        "object": None if attributes.object is None else reader.convert(attributes.object, matched),
        "oldObject": None if attributes.old is None else reader.convert(attributes.old, matched),
    }


def encoded(request: Mapping[str, Any], version: str) -> bytes:
    """The encoded review."""
    return orjson.dumps({"kind": _KIND, "apiVersion": f"{_GROUP}/{version}", "request": request})


def answer_of(review: Mapping[str, Any], uid: str, version: str, *, mutating: bool) -> Answer:
    """The answer in a review. Raises BadAnswer if it is inconsistent."""
    response = review.get("response")
    if not isinstance(response, Mapping):
        raise BadAnswer("webhook response was absent")
    if version == "v1":
        _check(review, response, uid, mutating=mutating)
    status = response.get("status")
    kind = response.get("patchType") or "" if version == "v1" else _JSON_PATCH
    return Answer(
        response.get("allowed") is True,
        _patch(response.get("patch") or "", kind) if mutating else (),
        status if isinstance(status, Mapping) else None,
        [str(each) for each in response.get("warnings") or ()],
        {str(key): str(value) for key, value in (response.get("auditAnnotations") or {}).items()},
    )


def _check(review: Mapping[str, Any], response: Mapping[str, Any], uid: str, *, mutating: bool) -> None:
    if response.get("uid") != uid:
        raise BadAnswer(f"expected response.uid={quoted(uid)}, got {quoted(response.get('uid') or '')}")
    group, _, version = str(review.get("apiVersion", "")).rpartition("/")
    if (group, version, review.get("kind")) != (_GROUP, "v1", _KIND):
        got = f"{group}/{version}, Kind={review.get('kind', '')}"
        raise BadAnswer(f"expected webhook response of {_GROUP}/v1, Kind={_KIND}, got {got}")
    patch, kind = response.get("patch"), response.get("patchType")
    if not mutating:
        for field, value in (("patch", patch), ("patchType", kind)):
            if value:
                raise BadAnswer(f"validating webhook may not return response.{field}")
    elif patch and kind is None:
        raise BadAnswer("webhook returned response.patch but not response.patchType")
    elif kind is not None and not patch:
        raise BadAnswer("webhook returned response.patchType but not response.patch")
    elif kind == "":
        raise BadAnswer('webhook returned invalid response.patchType of ""')


def _check_patch(found: Mapping[str, Any]) -> None:
    """Raises BadReview for a patch that is not in base64."""
    try:
        canonical_base64((found.get("response") or {}).get("patch") or "")
    except TextError as error:
        raise BadReview(str(error)) from None


def _patch(given: str, kind: str) -> Sequence[Any]:
    """The operations in a patch. Raises 500, whatever the failure policy, and BadAnswer for a patch of another kind."""
    if not given:
        return ()
    try:
        operations = go_json.read(base64.b64decode(given))
    except go_json.Malformed as error:
        raise internal(str(error)) from None
    if not isinstance(operations, list | None):
        raise internal(f"json: cannot unmarshal {go_kind(operations)} into Go value of type jsonpatch.Patch")
    if operations and kind != _JSON_PATCH:
        raise BadAnswer(f"unsupported patch type {quoted(kind)}")
    return operations or ()


def rejection(name: str, status: Mapping[str, Any] | None) -> StatusError:
    """The refusal of a webhook as a Status: never a success, never below 400."""
    given = status or {}
    by = f"admission webhook {quoted(name)} denied the request"
    message, reason = given.get("message"), given.get("reason")
    text = f"{by}: {message or reason}" if message or reason else f"{by} without explanation"
    code = given.get("code")
    wanted = code if isinstance(code, int) and code >= 400 else 400
    details = given.get("details")
    return StatusError(wanted, str(reason or ""), text, details=details if isinstance(details, Mapping) else None)


# Calls admission webhooks over HTTPS, or a Python function that stands in for one.
# Upstream: k8s.io/apiserver/pkg/admission/plugin/webhook/validating/dispatcher.go and
# k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go, release 1.30.


class CallFailed(Exception):
    """A webhook that could not be called or gave no answer; the text is kube-apiserver's, and so is the code."""

    def __init__(self, hook: WebhookAccessor, why: str, code: int = 500) -> None:
        super().__init__(f'failed calling webhook "{hook.name}": {why}')
        self.code = code


class WebhookClient:
    """Sends admission reviews to webhooks.

    Parameters
    ----------
    egress
        Whether they may be called, where services are, which functions stand in.
    reader
        What is stored, for the objects in the versions that webhooks want, and for services.
    """

    def __init__(self, egress: EgressPolicy, reader: ClusterReader) -> None:
        self._gateway, self._reader = egress, reader

    def ask(
        self, hook: WebhookAccessor, attributes: AdmissionAttributes, matched: Resource, uid: str, *, mutating: bool
    ) -> Answer | None:
        """The webhook's answer to a write; None if calls may not leave the process.

        Raises CallFailed, and the 400 StatusError of a dry run that the webhook does not take.
        """
        if attributes.dry_run and hook.side_effects not in ("None", "NoneOnDryRun"):
            raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
        function = self._gateway.functions.get(hook.name)
        if function is not None:
            try:
                return _asked(hook, function, request_of(attributes, matched, self._reader, uid))
            except Unreachable as error:
                raise CallFailed(hook, f"failed to call webhook: {error}") from None
        if not self._gateway.allowed:
            self._gateway.note(SkippedCall("webhook", hook.name, address(hook.client), _shown(attributes)))
            return None
        return self._call(hook, attributes, matched, uid, mutating=mutating)

    def _call(
        self, hook: WebhookAccessor, attributes: AdmissionAttributes, matched: Resource, uid: str, *, mutating: bool
    ) -> Answer:
        try:
            version = version_for(hook)
        except BadAnswer as error:
            raise CallFailed(hook, f"could not create admission objects: {error}", 400) from None
        body = encoded(request_of(attributes, matched, self._reader, uid), version)
        try:
            content = post(self._gateway, hook.client, body, hook.seconds, self._is_service)
            behaviour = self._reader.catalogue.behaviour
            found = review(behaviour, content, GroupVersionKind(_GROUP, version, _KIND))
            check_types(found, "AdmissionResponse", FIELDS)
            _check_patch(found)
            found = with_status(found, "status")
        except Unreachable as error:
            raise CallFailed(hook, f"failed to call webhook: {error}", error.status or 500) from None
        except BadReview as error:
            raise CallFailed(hook, f"failed to call webhook: {error}") from None
        try:
            return answer_of(found, uid, version, mutating=mutating)
        except BadAnswer as error:
            raise CallFailed(hook, f"received invalid webhook response: {error}", 503) from None

    def _is_service(self, namespace: str, name: str) -> bool:
        return self._reader.get(SERVICES, name, namespace) is not None


def _shown(attributes: AdmissionAttributes) -> str:
    resource = attributes.resource.group_resource
    place = f"{attributes.namespace}/" if attributes.namespace and not attributes.is_namespace else ""
    return f"{attributes.operation} {resource} {place}{attributes.name}"


def _asked(hook: WebhookAccessor, function: WebhookFunction, request: dict[str, Any]) -> Answer:
    """The answer of a function, which gets a copy of the request and the seconds that the webhook has.

    None or True let the write pass, False refuses it, a text refuses it with this message. A mapping with ``allowed``
    is a response as webhooks give it, its patch a list of operations; one with ``kind`` is the changed object. Raises
    CallFailed for everything else, for whatever it raises, and where it takes too long.
    """
    try:
        asked = copied(request)
        said = call_within(
            hook.seconds, "the function for it", function, asked, judge=judged_review, through=(Unreachable,)
        )
    except ForeignFault as fault:
        raise CallFailed(hook, f"failed to call webhook: {fault}") from fault
    except TimeoutError as late:
        raise CallFailed(hook, f"failed to call webhook: {late}: context deadline exceeded") from None
    if isinstance(said, str):
        return Answer(False, status={"message": said})
    if not isinstance(said, Mapping):
        return Answer(said is not False)
    if "allowed" not in said:
        return Answer(True, changed=said)
    status, annotations = said.get("status"), said.get("auditAnnotations") or {}
    return Answer(said["allowed"], said.get("patch") or (), status, said.get("warnings") or (), annotations)

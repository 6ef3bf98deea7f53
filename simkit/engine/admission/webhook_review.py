"""The AdmissionReview for a webhook, and the meaning of its response.

Upstream: k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go, release 1.30.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from simkit.engine.admission.webhook_index import WebhookAccessor
from simkit.engine.egress.answer_json import parse_answer
from simkit.engine.egress.webhook import ResponseFields
from simkit.logic.policy.attributes import AdmissionAttributes, ClusterReader
from simkit.meta.domain import api_group
from simkit.meta.errors import StatusError
from simkit.meta.fielderror import quoted
from simkit.schema.catalogue import Resource

_GROUP: Final = api_group("admission")
VERSIONS: Final = ("v1", "v1beta1")
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
    return Answer(
        response.get("allowed") is True,
        _patch(response.get("patch")) if mutating else (),
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
    elif kind is not None and kind != _JSON_PATCH:
        raise BadAnswer(f"webhook returned invalid response.patchType of {quoted(kind)}")


def _patch(given: Any) -> Sequence[Any]:
    if not given:
        return ()
    try:
        operations = parse_answer(base64.b64decode(given, validate=True))
    except (binascii.Error, TypeError, ValueError) as error:
        raise BadAnswer(f"the patch cannot be read: {error}") from None
    if not isinstance(operations, list):
        raise BadAnswer("the patch is no list of operations")
    return operations


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

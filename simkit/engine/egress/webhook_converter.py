"""Conversion webhooks of custom resources, called over HTTPS, or a function in their place.

References
----------
k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from simkit.engine.egress.address import Unreachable
from simkit.engine.egress.policy import ConversionFunction, EgressPolicy, SkippedCall
from simkit.engine.egress.webhook import (
    BadReview,
    IsService,
    ResponseFields,
    address,
    check_types,
    post,
    review,
    with_status,
)
from simkit.kinds.apiextensions.definition import Definition
from simkit.kinds.apiextensions.webhook_conversion import ConversionFailed, kind_text
from simkit.meta.domain import EXTENSIONS_GROUP
from simkit.meta.objects import Object, at, copied, name_of, namespace_of

VERSIONS: Final = ("v1", "v1beta1")
SECONDS: Final = 30
"""The timeout of a conversion webhook, in seconds."""
_FIELDS: Final[ResponseFields] = {
    "uid": (str, "types.UID"),
    "convertedObjects": (list, "[]runtime.RawExtension"),
    "result": (dict, "v1.Status"),
}
_KIND: Final = "ConversionReview"
_WHAT: Final = "conversion webhook for /, Kind="
"""The text by which kube-apiserver names the objects: a list without a kind."""


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

    def __init__(self, egress: EgressPolicy, is_service: IsService, uid: Callable[[], str]) -> None:
        self._gateway, self._is_service, self._uid = egress, is_service, uid

    def __call__(self, definition: Definition, objects: Sequence[Object], api_version: str) -> Sequence[Any] | None:
        """The objects from the webhook, unchecked; None if calls may not leave the process.

        Raises ConversionFailed where it cannot be called, answers something else than a review, or fails.
        """
        function = self._gateway.conversions.get(definition.name)
        try:
            if function is not None:
                return _asked(function, objects, api_version)
            conversion: Mapping[str, Any] = at(definition.spec, "conversion", "webhook") or {}
            if not self._gateway.allowed:
                target = address(conversion.get("clientConfig") or {})
                self._gateway.note(SkippedCall("conversion", definition.name, target, _shown(objects, api_version)))
                return None
            return self._call(conversion, objects, api_version)
        except ConversionFailed as error:
            raise ConversionFailed(f"conversion for {kind_text(objects[0])} failed: {error}") from None

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
            found = review(post(self._gateway, client, body, SECONDS, self._is_service))
            answered = _objects(found, uid, version)
        except (Unreachable, BadReview) as error:
            raise ConversionFailed(f"{_WHAT} failed: {error}") from None
        for each in answered:
            _check_object(each)
        return answered


def _objects(found: Mapping[str, Any], uid: str, version: str) -> Sequence[Any]:
    """The converted objects of a review. Raises BadReview if it is invalid or reports a failure."""
    group, _, given = str(found["apiVersion"]).rpartition("/")
    if (group, found["kind"]) != (EXTENSIONS_GROUP, _KIND) or given not in VERSIONS:
        name = f'"{found["kind"]}" is registered for version "{found["apiVersion"]}"'
        raise BadReview(f'no kind {name} in scheme "pkg/runtime/scheme.go:100"')
    if given != version:
        raise BadReview(f"converting ({given}.{_KIND}) to ({version}.{_KIND}): unknown conversion")
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
        made = function(copied(obj), api_version)
        if isinstance(made, str):
            raise ConversionFailed(f"{_WHAT} failed: {made}")
        if not isinstance(made, Mapping):
            raise ConversionFailed(f"the function for it gave a {type(made).__name__}, not an object")
        answered.append(copied(made))
    return answered

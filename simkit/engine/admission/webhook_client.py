"""Calls admission webhooks over HTTPS, or a Python function that stands in for one.

Upstream: k8s.io/apiserver/pkg/admission/plugin/webhook/validating/dispatcher.go and
k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.engine.admission.webhook_index import WebhookAccessor
from simkit.engine.admission.webhook_review import (
    FIELDS,
    Answer,
    BadAnswer,
    answer_of,
    encoded,
    request_of,
    version_for,
)
from simkit.engine.egress.address import Unreachable
from simkit.engine.egress.policy import EgressPolicy, SkippedCall, WebhookFunction
from simkit.engine.egress.webhook import BadReview, address, check_types, post, review, with_status
from simkit.logic.policy.attributes import AdmissionAttributes, ClusterReader
from simkit.meta.errors import bad_request
from simkit.meta.names import GroupResource
from simkit.meta.objects import copied
from simkit.schema.catalogue import Resource

_SERVICES: Final = GroupResource("", "services")


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
                return _asked(function, request_of(attributes, matched, self._reader, uid))
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
            found = review(post(self._gateway, hook.client, body, hook.seconds, self._is_service))
            check_types(found, "AdmissionResponse", FIELDS)
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
        return self._reader.get(_SERVICES, name, namespace) is not None


def _shown(attributes: AdmissionAttributes) -> str:
    resource = attributes.resource.group_resource
    place = f"{attributes.namespace}/" if attributes.namespace and not attributes.is_namespace else ""
    return f"{attributes.operation} {resource} {place}{attributes.name}"


def _asked(function: WebhookFunction, request: dict[str, Any]) -> Answer:
    """The answer of a function, which gets a copy of the request.

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

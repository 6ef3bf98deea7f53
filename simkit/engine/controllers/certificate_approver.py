"""Approves client certificate requests of kubelets that a SubjectAccessReview allows.

Upstream: pkg/controller/certificates/approver, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from simkit.engine.controllers.certificate_signer import KUBELET_CLIENT, common_name, kubelet_client, parsed_request
from simkit.engine.controllers.client_requests import expect, keys_of, replace
from simkit.engine.controllers.controller_manager import Client
from simkit.engine.controllers.lister import Lister
from simkit.engine.controllers.resource_watcher import ResourceWatcher
from simkit.engine.controllers.resources import SIGNING_REQUESTS
from simkit.engine.seams import Change
from simkit.meta.domain import AUTHORIZATION_GROUP, CERTIFICATES_GROUP
from simkit.meta.message import Request
from simkit.meta.names import Key
from simkit.meta.objects import Object, at

_REVIEWS: Final = f"/apis/{AUTHORIZATION_GROUP}/v1/subjectaccessreviews"
_SELF: Final = "Auto approving self kubelet client certificate after SubjectAccessReview."
_OTHER: Final = "Auto approving kubelet client certificate after SubjectAccessReview."


class CSRApprovingController(ResourceWatcher):
    """Approves certificate signing requests that are neither approved nor denied yet."""

    name = "certificatesigningrequest-approving-controller"
    account = "certificate-controller"

    def __init__(self) -> None:
        super().__init__(SIGNING_REQUESTS)

    def keys_affected(self, change: Change, lister: Lister) -> Iterable[Key]:
        return [change.entry.key]

    def all_keys(self, lister: Lister) -> Iterable[Key]:
        return keys_of(SIGNING_REQUESTS, lister.scan(SIGNING_REQUESTS))

    def reconcile(self, client: Client, lister: Lister, key: Key) -> None:
        request = lister.get(key)
        if request is None or at(request, "spec", "signerName") != KUBELET_CLIENT:
            return
        if at(request, "status", "certificate") or at(request, "status", "conditions"):
            return
        parsed = parsed_request(request)
        if kubelet_client(parsed, at(request, "spec", "usages") or ()):
            return
        own = at(request, "spec", "username") == common_name(parsed)
        for right, message in ((("selfnodeclient", _SELF),) if own else ()) + (("nodeclient", _OTHER),):
            if self._may(client, request, right):
                self._approve(client, request, message)
                return

    def _may(self, client: Client, request: Object, right: str) -> bool:
        asked = {
            "verb": "create",
            "group": CERTIFICATES_GROUP,
            "version": "*",
            "resource": "certificatesigningrequests",
            "subresource": right,
        }
        spec: dict[str, Any] = {"resourceAttributes": asked, "user": at(request, "spec", "username") or ""}
        for name in ("uid", "groups", "extra"):
            if at(request, "spec", name):
                spec[name] = request["spec"][name]
        review = {"apiVersion": f"{AUTHORIZATION_GROUP}/v1", "kind": "SubjectAccessReview", "spec": spec}
        return bool(at(expect(client.perform(Request.of("POST", _REVIEWS, review))).object, "status", "allowed"))

    def _approve(self, client: Client, request: Object, message: str) -> None:
        approved = {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": message}
        wanted = {**request, "status": {**(request.get("status") or {}), "conditions": [approved]}}
        expect(replace(client, SIGNING_REQUESTS, wanted, "approval"), 404, 409)

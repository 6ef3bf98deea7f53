"""The steps of a stage, carried out on an object by requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from simkit.engine.controllers.client_requests import expect
from simkit.engine.controllers.controller_manager import Perform
from simkit.language.yaml.complaints import BrokenText
from simkit.language.yaml.decode import decode
from simkit.meta.errors import SimkitError
from simkit.meta.identity import AUTHENTICATED, MASTERS, Identity
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupVersionKind
from simkit.meta.objects import Object, metadata, name_of, namespace_of
from simkit.schema.catalogue import Catalogue
from simkit.schema.resources import Resource
from simkit.simulation.stages.stage import Apply, Patch, Stage, StageEvent
from simkit.simulation.stages.template.evaluation import render

USER_AGENT: Final = "kwok"
IDENTITY: Final = Identity("system:simulated-stages", (MASTERS, AUTHENTICATED))
_TYPES: Final = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_STRATEGIC_KINDS: Final = ("Pod", "Node")
Functions = Mapping[str, Callable[..., Any]]
Tell = Callable[[StageEvent], None]


class Lifecycle:
    """Carries out stages.

    Parameters
    ----------
    perform
        Sends a request in the name of an identity.
    catalogue
        What is served.
    """

    def __init__(self, perform: Perform, catalogue: Callable[[], Catalogue]) -> None:
        self._perform, self._catalogue = perform, catalogue

    def perform(self, request: Request) -> Response:
        """The answer to a request in the name of stages, as controllers send them."""
        headers = {**request.headers, "user-agent": (USER_AGENT,)}
        return self._perform(Request(request.method, request.path, request.query, headers, request.body), IDENTITY)

    def carry_out(self, stage: Stage, resource: Resource, obj: Object, functions: Functions, tell: Tell) -> None:
        """Do the steps of a stage. Raises RequeueError for a request that failed, SimkitError for a wrong template."""
        path = resource_path(resource, namespace_of(obj), name_of(obj))
        for step in stage.steps:
            if step.event is not None:
                tell(step.event)
            if step.finalizers is not None:
                present = list(metadata(obj).get("finalizers") or ())
                wanted = step.finalizers.changed(present)
                if wanted != present:
                    change = {"metadata": {"finalizers": wanted or None}}
                    self._send("PATCH", path, change, content_type=_TYPES["merge"])
            if step.delete:
                options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
                self._send("DELETE", path, {**options, "preconditions": {"uid": metadata(obj).get("uid")}})
                return
            if step.patch is not None:
                self._patch(step.patch, resource, path, obj, functions)
            if step.apply is not None:
                self._apply(step.apply, obj, functions)

    def _patch(self, patch: Patch, resource: Resource, path: str, obj: Object, functions: Functions) -> None:
        made = rendered(patch.template, obj, functions)
        if patch.root:
            if patch.type == "json":
                made = [{**each, "path": f"/{patch.root}{each.get('path', '')}"} for each in made or ()]
            else:
                made = {patch.root: made}
        own = resource.gvk.group == "" and resource.gvk.kind in _STRATEGIC_KINDS
        kind = patch.type or ("strategic" if own else "merge")
        target = f"{path}/{patch.subresource}" if patch.subresource else path
        user = patch.impersonation.username if patch.impersonation is not None else ""
        self._send("PATCH", target, made, content_type=_TYPES[kind], user=user)

    def _apply(self, apply: Apply, source: Object, functions: Functions) -> None:
        wanted = rendered(apply.template, source, functions)
        if not isinstance(wanted, dict) or not wanted.get("kind"):
            raise SimkitError("the template of an apply step gives no object with apiVersion and kind")
        group, _, version = str(wanted.get("apiVersion", "")).rpartition("/")
        resource = self._catalogue().kind(GroupVersionKind(group, version, wanted["kind"]))
        if resource is None:
            raise SimkitError(f"no kind {wanted['kind']} of {wanted.get('apiVersion')} is served")
        namespace = namespace_of(wanted) or (namespace_of(source) if resource.namespaced else "")
        user = apply.impersonation.username if apply.impersonation is not None else ""
        if not apply.subresource:
            answer = self._request("POST", resource_path(resource, namespace), wanted, user=user)
            if answer.status != 409:
                expect(answer)
                return
        path = resource_path(resource, namespace, name_of(wanted))
        target = f"{path}/{apply.subresource}" if apply.subresource else path
        query = {"fieldManager": [USER_AGENT], "force": ["true"]} if apply.type == "apply" else {}
        self._send("PATCH", target, wanted, content_type=_TYPES[apply.type], user=user, query=query)

    def _send(self, method: str, path: str, body: Any, **given: Any) -> None:
        expect(self._request(method, path, body, **given), 404, 409)

    def _request(
        self,
        method: str,
        path: str,
        body: Any,
        *,
        content_type: str = "application/json",
        user: str = "",
        query: Mapping[str, list[str]] | None = None,
    ) -> Response:
        headers = {"user-agent": [USER_AGENT], "content-type": [content_type]}
        request = Request(method, path, dict(query or {}), headers, orjson.dumps(body))
        return self._perform(request, Identity(user, (AUTHENTICATED,)) if user else IDENTITY)


def resource_path(resource: Resource, namespace: str, name: str = "") -> str:
    """The path of a collection, or of an object in it."""
    scope = f"/namespaces/{namespace}" if namespace and resource.namespaced else ""
    return f"{resource.path}{scope}/{resource.resource}{f'/{name}' if name else ''}"


def rendered(template: str, obj: Object, functions: Functions) -> Any:
    """The data that a template says for an object. Raises SimkitError for text that is no YAML."""
    text = render(template, obj, functions)
    try:
        return decode(text)
    except BrokenText as error:
        raise SimkitError(f"the template gives no YAML: {error}; it gives {text[:200]!r}") from error

"""The requests that clients made, with assertions about them and the permissions that they needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simkit.engine.pipeline.representation.negotiation import JSON
from simkit.engine.pipeline.request_context import RequestContext
from simkit.engine.pipeline.request_info import RequestInfo
from simkit.meta.domain import RBAC_GROUP
from simkit.meta.errors import SimkitError
from simkit.meta.message import Response
from simkit.meta.objects import at

_MOST: Final = 100_000
"""Requests that are kept."""
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request of a client, and how it was answered."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    namespace: str
    name: str
    path: str
    user: str
    user_agent: str
    status: int
    deprecation: str = ""
    """The warning about the version that was asked for."""

    @property
    def what(self) -> str:
        """The resource with its subresource, as RBAC writes it; the path for what is no resource."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource or self.path

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.what}{f' {self.name}' if self.name else ''}{where}: {self.status} ({self.user})"


def recorded(context: RequestContext, response: Response) -> RecordedRequest:
    """The record of a request."""
    info, identity = context.info, context.identity
    return RecordedRequest(
        info.verb if info.is_resource else context.request.method.lower(),
        info.group if info.is_resource else "",
        info.version,
        info.resource,
        info.subresource,
        info.namespace,
        info.name or _created_name(info, response),
        context.request.path,
        identity.user if identity is not None else "",
        context.request.header("user-agent"),
        response.status,
        context.deprecation or "",
    )


def _created_name(info: RequestInfo, response: Response) -> str:
    """The name of the object that a request created; its path does not have it."""
    if info.verb != "create" or not response.succeeded or response.content_type != JSON:
        return ""
    return str(at(response.object, "metadata", "name") or "")


class RecordedRequests(Sequence[RecordedRequest]):
    """Requests in the order in which they came."""

    def __init__(self, given: Sequence[RecordedRequest] = ()) -> None:
        self._kept = list(given)

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, index: Any) -> Any:
        found = self._kept[index]
        return RecordedRequests(found) if isinstance(index, slice) else found

    def __iter__(self) -> Iterator[RecordedRequest]:
        return iter(tuple(self._kept))

    def __repr__(self) -> str:
        return f"<{len(self)} requests>"

    def add(self, request: RecordedRequest) -> None:
        """Keep one more; the oldest ones go when there are very many."""
        self._kept.append(request)
        if len(self._kept) > _MOST:
            del self._kept[: _MOST // 2]

    def clear(self) -> None:
        """Forget all so far."""
        self._kept.clear()

    def where(
        self,
        *,
        verbs: Collection[str] | None = None,
        resources: Collection[str] | None = None,
        namespaces: Collection[str] | None = None,
        user: str | None = None,
        check: Callable[[RecordedRequest], bool] = lambda _: True,
    ) -> RecordedRequests:
        """The requests with one of these verbs, resources (``pods``, ``pods/log``) and namespaces, of a user."""
        wanted = (verbs, resources, namespaces)
        return RecordedRequests(
            [
                each
                for each in self._kept
                if all(
                    allowed is None or value in allowed
                    for allowed, value in zip(wanted, (each.verb, each.what, each.namespace), strict=True)
                )
                and user in (None, each.user)
                and check(each)
            ]
        )

    def of_resources(self) -> RecordedRequests:
        """Those about resources: without discovery, health and versions."""
        return self.where(check=lambda each: bool(each.resource))

    def assert_only(
        self,
        *,
        verbs: Collection[str] | None = None,
        resources: Collection[str] | None = None,
        namespaces: Collection[str] | None = None,
    ) -> None:
        """Raise AssertionError unless all requests about resources have one of these verbs, resources, namespaces."""
        allowed = set(map(id, self.where(verbs=verbs, resources=resources, namespaces=namespaces)))
        others = [each for each in self.of_resources() if id(each) not in allowed]
        if others:
            raise AssertionError(_listed(f"{len(others)} requests are others than expected:", others))

    def assert_made(self, verb: str, resource: str, name: str | None = None, *, times: int | None = None) -> None:
        """Raise AssertionError unless such a request was made, so many times if that is said."""
        found = self.where(verbs=[verb], resources=[resource], check=lambda each: name in (None, each.name))
        if (times is None and not found) or (times is not None and len(found) != times):
            expected = f"{verb} {resource}{f' {name}' if name else ''}"
            said = f"expected {expected}{'' if times is None else f' {times} times'}, found {len(found)} of:"
            raise AssertionError(_listed(said, self._kept))

    def assert_no_deprecated(self) -> None:
        """Raise AssertionError if a version was used that is deprecated."""
        found = self.deprecated()
        if found:
            raise AssertionError(_listed(f"{len(found)} requests are for deprecated versions:", list(found)))

    def deprecated(self) -> RecordedRequests:
        """The requests for versions that are deprecated."""
        return self.where(check=lambda each: bool(each.deprecation))

    def roles(self, name: str, *, user: str | None = None) -> list[dict[str, Any]]:
        """The least that these requests needed, as a Role for each namespace and a ClusterRole for the rest.

        Parameters
        ----------
        name
            The name of the roles.
        user
            Whose requests count; None: all.

        Raises
        ------
        SimkitError
            Where nothing was requested.
        """
        needed: dict[str, dict[tuple[str, str], set[str]]] = {}
        for each in self.where(user=user).of_resources():
            if each.status not in (401, 403):
                rules = needed.setdefault(each.namespace, {})
                rules.setdefault((each.group, each.what), set()).add(each.verb)
        if not needed:
            raise SimkitError("no requests were recorded that need a permission")
        return [_role(name, namespace, rules) for namespace, rules in sorted(needed.items())]


def _role(name: str, namespace: str, needed: dict[tuple[str, str], set[str]]) -> dict[str, Any]:
    by_verbs: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), verbs in sorted(needed.items()):
        by_verbs.setdefault((group, tuple(sorted(verbs))), []).append(resource)
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "rules": [
            {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
            for (group, verbs), resources in by_verbs.items()
        ],
    }


def _listed(head: str, requests: Sequence[RecordedRequest]) -> str:
    lines = [f"  {each}" for each in requests[:_SHOWN]]
    more = [f"  and {len(requests) - _SHOWN} more"] if len(requests) > _SHOWN else []
    return "\n".join([head, *lines, *more])

"""The request info of a request line: verb, resource, subresource, namespace and name.

Authorization and routing read the same RequestInfo, so that no path means different things to them.

References
----------
``k8s.io/apiserver/pkg/endpoints/request/requestinfo.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from simkit.meta import fields, labels
from simkit.meta.attributes import Attributes
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.identity import Identity
from simkit.meta.name_validation import path_segment
from simkit.meta.names import GroupResource
from simkit.meta.percent_encoding import unquoted
from simkit.meta.selector_requirements import parsed_or_empty

_VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_PARTS: Final = frozenset({"status", "finalize"})
_NAME: Final = "metadata.name"
_LONGEST: Final = 16 * 1024
"""The longest selectors that are searched for a name, since the client is not authenticated yet."""
_REMEMBERED: Final = 256
"""Characters of the longest path whose request info is cached."""
_WITH_SELECTORS: Final = frozenset({"list", "watch", "deletecollection"})
"""Verbs whose selectors authorizers see, unless the verb stood in the path."""
_LONG_RUNNING_VERBS: Final = frozenset({"watch", "proxy"})
_LONG_RUNNING_SUBRESOURCES: Final = frozenset({"attach", "exec", "proxy", "log", "portforward"})
_NUMBERS: Final = ("limit", "timeoutSeconds")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """The verb and the resource of a request. Non-resource requests have only ``path`` and the lower-case method as
    verb."""

    path: str
    verb: str
    is_resource: bool = False
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    rest: str = ""
    """The path after the subresource, for connections that pass a path on."""
    old_watch: bool = False
    """True if the path has the ``/watch/`` prefix."""
    field_selector: str = ""
    label_selector: str = ""

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)

    def asks(self, behaviour: ServedBehaviour, identity: Identity) -> Attributes:
        """The attributes for the authorizer."""
        return Attributes(
            identity,
            self.verb,
            self.group,
            self.version,
            self.resource,
            self.subresource,
            self.namespace,
            self.name,
            "" if self.is_resource else self.path,
            self.is_resource,
            *self._selectors(behaviour),
        )

    def _selectors(self, behaviour: ServedBehaviour) -> tuple[tuple[fields.Term, ...], tuple[labels.Requirement, ...]]:
        """The selectors that authorizers see; one that cannot be parsed is left out, since the verb refuses it."""
        if not (self.field_selector or self.label_selector) or not behaviour.applies("authorizers-see-selectors"):
            return (), ()
        return parsed_or_empty(self.field_selector, self.label_selector)


def parse_request_info(method: str, path: str, query: Mapping[str, Sequence[str]]) -> RequestInfo:
    """The request info of a request line, derived as kube-apiserver derives it.

    Examples
    --------
    >>> parse_request_info("GET", "/api/v1/namespaces/dev/pods/a/log", {}).subresource
    'log'
    >>> parse_request_info("DELETE", "/apis/apps/v1/namespaces/dev/deployments", {}).verb
    'deletecollection'
    """
    return _parsed(method, path, query) if query or len(path) > _REMEMBERED else _known(method, path)


def _parsed(method: str, path: str, query: Mapping[str, Sequence[str]]) -> RequestInfo:
    decoded = unquoted(path)
    parts = decoded.strip("/").split("/")
    plain = RequestInfo(decoded, method.lower())
    if len(parts) < 3 or parts[0] not in ("api", "apis"):
        return plain
    group, parts = ("", parts[1:]) if parts[0] == "api" else (parts[1], parts[2:])
    if len(parts) < 2:
        return plain
    version, parts = parts[0], parts[1:]
    verb = _VERBS.get(method, "")
    old_watch = parts[0] == "watch"
    if parts[0] in ("watch", "proxy"):
        if len(parts) < 2:
            return plain
        verb, parts = parts[0], parts[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_PARTS:
            parts = parts[2:]
    resource, name, subresource, rest = _place(parts)
    if verb == "proxy":
        subresource = ""
    if not name and verb in ("get", "delete"):
        verb, name = _collection(verb, query)
    info = RequestInfo(decoded, verb, True, group, version, resource, subresource, namespace, name, rest, old_watch)
    return _with_selectors(info, query) if verb in _WITH_SELECTORS and not old_watch else info


def _with_selectors(info: RequestInfo, query: Mapping[str, Sequence[str]]) -> RequestInfo:
    by_field, by_label = (query.get(name, ("",))[0] for name in ("fieldSelector", "labelSelector"))
    return replace(info, field_selector=by_field, label_selector=by_label) if by_field or by_label else info


@lru_cache(maxsize=2048)
def _known(method: str, path: str) -> RequestInfo:
    """The request info of a request line without a query, cached since clients send the same ones again and again."""
    return _parsed(method, path, {})


def _place(parts: Sequence[str]) -> tuple[str, str, str, str]:
    padded = [*parts, "", "", ""]
    return padded[0], padded[1], padded[2], "/".join(parts[3:])


def _collection(verb: str, query: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """The verb on a collection, and the name in its field selector."""
    if verb == "delete":
        return "deletecollection", ""
    if verb == "get":
        verb = "watch" if is_true(query, "watch") else "list"
    return verb, _name_selected(query)


def is_true(query: Mapping[str, Sequence[str]], name: str) -> bool:
    """True if a boolean query parameter is on: given, and neither ``false`` nor ``0``."""
    values = query.get(name)
    return bool(values) and values[0].lower() not in ("false", "0")  # type: ignore[index]


def _name_selected(query: Mapping[str, Sequence[str]]) -> str:
    """The name in a field selector, if it is valid and the other parameters are."""
    selector, labelled = (query.get(name, ("",))[0] for name in ("fieldSelector", "labelSelector"))
    if _NAME not in selector or len(selector) + len(labelled) > _LONGEST:
        return ""
    numbers = (query[name][0] for name in _NUMBERS if name in query)
    if not all(map(_NUMBER.fullmatch, numbers)):
        return ""
    try:
        name = fields.parse(selector).exact(_NAME)
        labels.parse(labelled)
    except ValueError:
        return ""
    return "" if path_segment(name) else name


def is_long_running(info: RequestInfo) -> bool:
    """True if a request may last as long as its client likes: a watch, a log or a connection.

    References
    ----------
    ``k8s.io/apiserver/pkg/server/filters/longrunning.go``, release 1.30.
    """
    return info.verb in _LONG_RUNNING_VERBS or info.subresource in _LONG_RUNNING_SUBRESOURCES

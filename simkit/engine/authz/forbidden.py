"""The 403 error of requests that no authorizer allows.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go, release 1.30.
"""

from __future__ import annotations

from simkit.meta.attributes import Attributes
from simkit.meta.errors import StatusError, forbidden
from simkit.meta.fielderror import quoted
from simkit.meta.names import GroupResource

_HARMLESS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""Replacements that keep a message from being read as HTML by a browser."""


def sanitized(text: str) -> str:
    """A text that no browser reads as HTML."""
    return text.translate(_HARMLESS)


def forbidden_message(ask: Attributes, reason: str = "") -> str:
    """The message of a refusal: user, request, and the authorizer's reason if it gave one.

    Examples
    --------
    >>> from simkit.meta.identity import Identity
    >>> forbidden_message(Attributes(Identity("ann"), "list", resource="pods", namespace="x"))
    'User "ann" cannot list resource "pods" in API group "" in the namespace "x"'
    """
    message = sanitized(_what(ask))
    return f"{message}: {reason}" if reason else message


def forbidden_error(ask: Attributes, reason: str = "") -> StatusError:
    """The 403 for a request that no authorizer allowed."""
    resource = GroupResource(ask.group, ask.resource) if ask.is_resource else GroupResource("", "")
    return forbidden(resource, ask.name, forbidden_message(ask, reason))


def _what(ask: Attributes) -> str:
    who = f"User {quoted(ask.identity.user)} cannot {ask.verb}"
    if not ask.is_resource:
        return f"{who} path {quoted(ask.path)}"
    where = f"in the namespace {quoted(ask.namespace)}" if ask.namespace else "at the cluster scope"
    return f"{who} resource {quoted(ask.resource_path)} in API group {quoted(ask.group)} {where}"

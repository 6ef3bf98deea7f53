"""Validation of a webhook's client configuration: a URL or a service.

Follows ``k8s.io/apiserver/pkg/util/webhook/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from simkit.kinds.parts.validation.ip import PORT_RANGE
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.name_validation import dns_subdomain
from simkit.meta.objects import Object

_FORM = "; desired format: https://host[/path]"


def validate_client(path: str, client: Object) -> Iterator[FieldError]:
    """The errors of a client configuration."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from validate_url(f"{path}.url", url)
    elif service is not None:
        yield from validate_service(f"{path}.service", service)


def validate_url(path: str, url: str) -> Iterator[FieldError]:
    """The errors of the URL of a webhook."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    user, at, host = parts.netloc.rpartition("@")
    if parts.scheme != "https":
        yield invalid_value(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        yield invalid_value(path, host, f"host must be specified{_FORM}")
    if at:
        yield invalid_value(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid_value(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid_value(path, parts.query, "query parameters are not permitted in the URL")


def validate_service(path: str, service: Object) -> Iterator[FieldError]:
    """The errors of the service of a webhook.

    kube-apiserver takes name and namespace for each other: it says of a missing name that the namespace is missing.
    """
    for name, other in (("name", "namespace"), ("namespace", "name")):
        if not service.get(other):
            yield required(f"{path}.{name}", f"service {name} is required")
    if not 1 <= service["port"] <= 65535:
        yield invalid_value(f"{path}.port", service["port"], f"port is not valid: {PORT_RANGE}")
    text = service.get("path")
    if text and text != "/":
        yield from _validate_path(f"{path}.path", text)


def _validate_path(path: str, text: str) -> Iterator[FieldError]:
    if text == "//":
        yield invalid_value(path, text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        yield invalid_value(path, text, "must start with a '/'")
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        if not step:
            yield invalid_value(path, text, f"segment[{index}] may not be empty")
            continue
        yield from (invalid_value(path, text, f"segment[{index}]: {why}") for why in dns_subdomain(step))

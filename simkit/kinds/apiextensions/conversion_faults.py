"""What is wrong with how a definition says that versions are converted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from simkit.kinds.parts.gotext import texts
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required, unsupported
from simkit.meta.format import dns1035_label
from simkit.meta.objects import Object

_PATH: Final = "spec.conversion"
_CLIENT: Final = f"{_PATH}.webhookClientConfig"
_VERSIONS: Final = f"{_PATH}.conversionReviewVersions"
_STRATEGIES: Final = ("None", "Webhook")
_FORM: Final = "desired format: https://host[/path]"


def conversion_faults(conversion: Object | None, *, recognized: bool) -> Iterator[FieldError]:
    """All that is wrong; ``recognized``: a review version that the server knows must be among the named ones."""
    if conversion is None:
        return
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    if not strategy:
        yield required(f"{_PATH}.strategy")
    elif strategy not in _STRATEGIES:
        yield unsupported(f"{_PATH}.strategy", strategy, _STRATEGIES)
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or ()
    if strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield forbidden_field(_CLIENT, detail)
        if versions:
            yield forbidden_field(_VERSIONS, detail)
        return
    if client is None:
        yield required(_CLIENT, "required when strategy is set to Webhook")
    else:
        yield from _client_faults(client)
    yield from _version_faults(versions, recognized)


def _client_faults(client: Object) -> Iterator[FieldError]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(_CLIENT, "exactly one of url or service is required")
    elif url is not None:
        yield from _url_faults(url, f"{_CLIENT}.url")
    else:
        assert service is not None
        yield from _service_faults(service, f"{_CLIENT}.service")


def _url_faults(url: str, path: str) -> Iterator[FieldError]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}; {_FORM}")
        return
    if parts.scheme != "https":
        yield invalid_value(path, parts.scheme, f"'https' is the only allowed URL scheme; {_FORM}")
    if not parts.hostname:
        yield invalid_value(path, parts.netloc, f"host must be specified; {_FORM}")
    if parts.username is not None:
        yield invalid_value(path, parts.username, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid_value(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid_value(path, parts.query, "query parameters are not permitted in the URL")


def _service_faults(service: Object, path: str) -> Iterator[FieldError]:
    for name in ("name", "namespace"):
        if not service.get(name):
            yield required(f"{path}.{name}", f"service {name} is required")
    port = service.get("port")
    if port is not None and not 0 < port < 65536:
        yield invalid_value(f"{path}.port", port, "port is not valid: must be between 1 and 65535, inclusive")
    route = service.get("path")
    if route is None:
        return
    if not route.startswith("/"):
        yield invalid_value(f"{path}.path", route, "must start with a '/'")
    for index, step in enumerate(route.removeprefix("/").removesuffix("/").split("/")):
        if not step and route not in ("", "/"):
            yield invalid_value(f"{path}.path", route, f"segment[{index}] may not be empty")


def _version_faults(versions: Sequence[str], recognized: bool) -> Iterator[FieldError]:
    if not versions:
        yield required(_VERSIONS)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid_value(f"{_VERSIONS}[{index}]", version, "duplicate version")
            continue
        yield from (invalid_value(f"{_VERSIONS}[{index}]", version, text) for text in dns1035_label(version))
    if recognized and not {"v1", "v1beta1"} & set(versions):
        yield invalid_value(_VERSIONS, texts(versions), "must include at least one of v1, v1beta1")

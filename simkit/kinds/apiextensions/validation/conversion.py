"""Validation of the conversion settings of a definition.

Follows ``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from simkit.kinds.parts.admission.webhook_client_config import validate_client
from simkit.kinds.parts.go_printing.syntax import texts
from simkit.kinds.parts.validation.repeats import repeats
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required, unsupported
from simkit.meta.name_validation import dns1035_label
from simkit.meta.objects import Object

_PATH: Final = "spec.conversion"
_CLIENT: Final = f"{_PATH}.webhookClientConfig"
_VERSIONS: Final = f"{_PATH}.conversionReviewVersions"
_STRATEGIES: Final = ("None", "Webhook")


def validate_conversion(conversion: Object | None, *, recognized: bool) -> Iterator[FieldError]:
    """The errors of a conversion; ``recognized``: the review versions must include one that the server knows."""
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
        yield from validate_client(_CLIENT, client)
    yield from _validate_version(versions, recognized)


def _validate_version(versions: Sequence[str], recognized: bool) -> Iterator[FieldError]:
    if not versions:
        yield required(_VERSIONS)
        return
    again = repeats(versions)
    for index, version in enumerate(versions):
        if index in again:
            yield invalid_value(f"{_VERSIONS}[{index}]", version, "duplicate version")
            continue
        yield from (invalid_value(f"{_VERSIONS}[{index}]", version, text) for text in dns1035_label(version))
    if recognized and not {"v1", "v1beta1"} & set(versions):
        yield invalid_value(_VERSIONS, texts(versions), "must include at least one of v1, v1beta1")

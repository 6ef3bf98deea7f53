"""Conversions of webhook configurations: the same fields, other defaults; v1 requires some fields.

Follows ``pkg/apis/admissionregistration/v1beta1/defaults.go``, release 1.30.
"""

from __future__ import annotations

from typing import Final

from simkit.kinds.conversions.family import Family, Spoke, default, entries
from simkit.meta.domain import api_group
from simkit.meta.objects import Draft

_GROUP: Final = api_group("admissionregistration")
DEFAULTS: Final = {"failurePolicy": "Ignore", "matchPolicy": "Exact", "timeoutSeconds": 30, "sideEffects": "Unknown"}
"""The defaults of v1beta1. Those of v1 are Fail, Equivalent and 10, and it requires sideEffects."""


def _default(draft: Draft) -> None:
    for webhook in entries(draft, "webhooks"):
        for name, value in DEFAULTS.items():
            default(webhook, name, value)
        if not webhook.get("admissionReviewVersions"):
            webhook["admissionReviewVersions"] = ["v1beta1"]


def _family(kind: str) -> Family:
    return Family(kind, f"{_GROUP}/v1", {f"{_GROUP}/v1beta1": Spoke(default=_default)})


FAMILIES: Final = {kind: _family(kind) for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")}

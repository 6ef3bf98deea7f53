"""MutatingWebhookConfiguration: webhooks that may change what is written."""

from __future__ import annotations

from simkit.kinds.parts.webhook_configuration import webhook_rules

RULES = webhook_rules(reinvoked=True)

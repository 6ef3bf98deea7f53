"""Strategy of MutatingWebhookConfiguration.

Follows ``pkg/registry/admissionregistration/mutatingwebhookconfiguration/strategy.go``, release 1.30.
"""

from __future__ import annotations

from simkit.kinds.parts.admission.webhook_configuration import webhook_rules

STRATEGY = webhook_rules(reinvoked=True)

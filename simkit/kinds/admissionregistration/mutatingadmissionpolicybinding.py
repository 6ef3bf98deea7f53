"""Strategy of MutatingAdmissionPolicyBinding: defaulting and validation.

Follows ``pkg/registry/admissionregistration/mutatingadmissionpolicybinding/strategy.go`` and
``pkg/apis/admissionregistration/validation/validation.go``, release 1.36.
"""

from __future__ import annotations

from simkit.kinds.admissionregistration.mutatingadmissionpolicy import OPERATIONS
from simkit.kinds.admissionregistration.validatingadmissionpolicybinding import (
    PARAMETERS,
    POLICY_NAME,
    binding_strategy,
)
from simkit.kinds.parts.admission.rules import MATCH
from simkit.kinds.rules import row, table

STRATEGY = binding_strategy(POLICY_NAME, PARAMETERS, row("spec.matchResources", table(MATCH, OPERATIONS)))

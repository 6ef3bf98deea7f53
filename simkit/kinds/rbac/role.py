"""Strategy of Role: validation of rules.

Follows ``pkg/registry/rbac/role/strategy.go``, release 1.30.
"""

from __future__ import annotations

from dataclasses import replace

from simkit.kinds.parts.rbac.binding import ACCESS_KIND, normalize_rules, rules_of_role
from simkit.kinds.rules import validation

STRATEGY = replace(ACCESS_KIND, prepare=normalize_rules, validate=validation(rules_of_role(namespaced=True)))

"""ResourceClaimParameters: what a driver is told about a claim."""

from __future__ import annotations

from simkit.kinds.parts.generated_from import generated_row
from simkit.kinds.strategy import Strategy

RULES = Strategy(row=generated_row)

"""ResourceClaimParameters: what a driver is told about a claim."""

from __future__ import annotations

from simkit.kinds.parts.printers.generated_from import generated_row
from simkit.kinds.strategy import Strategy

STRATEGY = Strategy(row=generated_row)

"""Strategy of ResourceClaimParameters: printer columns.

Follows ``pkg/registry/resource/resourceclaimparameters/strategy.go``, release 1.30.
"""

from __future__ import annotations

from simkit.kinds.parts.printers.cells import generated_row
from simkit.kinds.strategy import Strategy

STRATEGY = Strategy(print_row=generated_row)

"""Strategy of ResourceClass: printer columns.

Follows ``pkg/registry/resource/resourceclass/strategy.go``, release 1.30.
"""

from __future__ import annotations

from simkit.kinds.parts.printers.cells import columns
from simkit.kinds.strategy import Strategy

STRATEGY = Strategy(print_row=columns("driverName"))

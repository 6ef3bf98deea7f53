"""Strategy of Scale: the row of its table.

Follows ``pkg/printers/internalversion/printers.go``, release 1.30.
"""

from __future__ import annotations

from simkit.kinds.parts.printers.cells import columns, number
from simkit.kinds.strategy import Strategy

STRATEGY = Strategy(print_row=columns(number("spec.replicas"), number("status.replicas")))

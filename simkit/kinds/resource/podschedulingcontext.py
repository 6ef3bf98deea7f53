"""Strategy of PodSchedulingContext: printer columns.

Follows ``pkg/registry/resource/podschedulingcontext/strategy.go``, release 1.30.
"""

from __future__ import annotations

from simkit.kinds.parts.printers.cells import columns
from simkit.kinds.strategy import Strategy

STRATEGY = Strategy(print_row=columns("spec.selectedNode"))

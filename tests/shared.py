"""The place of the recorded data for comparisons; without it, tests that need it are skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("SIMKIT_SHARED", Path(__file__).resolve().parents[2] / "shared"))
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded data is not beside this checkout")

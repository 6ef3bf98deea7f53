"""Where the recorded data is that some tests compare with; they are skipped where it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("SIMKIT_SHARED", Path(__file__).resolve().parents[2] / "shared"))
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded data is not beside this checkout")

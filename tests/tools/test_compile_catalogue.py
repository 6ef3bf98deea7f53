"""The bundled tables are what the script makes of the facts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.shared import SHARED, needs_shared

ROOT = Path(__file__).resolve().parents[2]


@needs_shared
def test_compiling_again_gives_the_same_bytes(tmp_path: Path) -> None:
    """A second run writes exactly the files that are in the repository."""
    script = ROOT / "tools" / "compile_catalogue.py"
    subprocess.run([sys.executable, str(script), "--facts", str(SHARED / "facts"), "--out", str(tmp_path)], check=True)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.json"))
    assert made
    for name in made:
        assert (tmp_path / name).read_bytes() == (ROOT / "datasets" / name).read_bytes(), name

"""The bundled tables are what the script makes of the facts."""

from __future__ import annotations

from pathlib import Path

from tools import compile_catalogue

ROOT = Path(__file__).resolve().parents[2]


def test_compiling_again_gives_the_same_bytes(tmp_path: Path) -> None:
    """A second run writes exactly the files that are in the repository."""
    assert compile_catalogue.main(["--out", str(tmp_path)]) == 0
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.json"))
    assert made
    for name in made:
        assert (tmp_path / name).read_bytes() == (ROOT / "datasets" / name).read_bytes(), name

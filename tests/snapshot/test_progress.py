"""The progress bar of long loads."""

from __future__ import annotations

import pytest

from simkit.snapshot import progress
from simkit.snapshot.progress import Progress


def test_a_bar_appears_for_those_who_wait(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """After some patience, and only where somebody is watching."""
    with Progress(10, watched=True) as bar:
        bar.advance(5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    with Progress(10, watched=False) as bar:
        bar.advance(5)
    assert capsys.readouterr().err == ""
    with Progress(10, watched=True) as bar:
        bar.advance(5)
        bar.advance(5)
    assert "loading" in capsys.readouterr().err

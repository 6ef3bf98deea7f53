"""Files that people write and that are no text, no YAML or too deep are told, each with its path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from simkit.analysis import members_of_files, read_rules, read_suite
from simkit.analysis.findings.suppress import read_baseline, read_suppressions
from simkit.language.yaml.small_files import text_of_file
from simkit.meta.errors import SimkitError

UNREADABLE = {"binary": bytes(range(256)) * 4, "latin": "a: \xe9".encode("latin-1"), "deep": b"[" * 3000}
READERS: dict[str, Callable[[Path], object]] = {
    "expectations": read_suite,
    "rules": read_rules,
    "suppressions": lambda path: read_suppressions(path, ()),
    "baseline": read_baseline,
}


@pytest.mark.parametrize("content", UNREADABLE)
@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_no_text_is_told(reader: str, content: str, tmp_path: Path) -> None:
    """As wrong input, with its path, and not as a fault of simkit."""
    path = tmp_path / "file.yaml"
    path.write_bytes(UNREADABLE[content])
    with pytest.raises(SimkitError, match=r"file\.yaml"):
        READERS[reader](path)


@pytest.mark.parametrize("content", ["binary", "deep"])
def test_a_table_of_members_that_is_none_is_told(content: str, tmp_path: Path) -> None:
    path = tmp_path / "members.csv"
    path.write_bytes(UNREADABLE[content])
    with pytest.raises(SimkitError, match=r"members\.csv"):
        members_of_files([path])


def test_metrics_that_are_no_text_are_told(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    path.write_bytes(UNREADABLE["binary"])
    with pytest.raises(SimkitError, match="no text in UTF-8"):
        text_of_file(path)

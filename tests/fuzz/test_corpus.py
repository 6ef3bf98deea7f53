"""The corpus of fuzzing is read without a fault, with every reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS, read

pytestmark = pytest.mark.slow

CORPUS = [path for path in sorted((Path(__file__).parent / "corpus").rglob("*")) if path.is_file()]


@pytest.mark.parametrize("name", TARGETS)
def test_corpus(name: str) -> None:
    """Each text is read or refused."""
    assert CORPUS
    for path in CORPUS:
        read(name, path.read_bytes())

"""The stores that an option names."""

from __future__ import annotations

from pathlib import Path

import pytest

from simkit.cluster.options import STORES, Options, is_lasting, new_store
from simkit.meta.errors import SimkitError


def test_each_store_is_named_by_its_form(tmp_path: Path) -> None:
    """Memory needs no path; a file is made at the path."""
    assert {kind: each.form.partition(":")[0] for kind, each in STORES.items()} == {kind: kind for kind in STORES}
    new_store(Options(storage="memory")).close()
    new_store(Options(storage=f"sqlite:{tmp_path / 'a.db'}")).close()
    assert (tmp_path / "a.db").exists()


@pytest.mark.parametrize("storage", ["", "disk", "memory:a", "sqlite", "sqlite:", "etcd:"])
def test_a_store_that_is_not_named_so(storage: str) -> None:
    """The error lists the forms."""
    with pytest.raises(SimkitError, match="use memory, sqlite:PATH or etcd:URL"):
        new_store(Options(storage=storage))


def test_memory_does_not_last() -> None:
    """Objects are saved into a file or an etcd only."""
    assert [is_lasting(text) for text in ("memory", "sqlite:a", "etcd:http://a", "disk:a", "sqlite:")] == [
        False,
        True,
        True,
        False,
        False,
    ]

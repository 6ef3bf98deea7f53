"""Settings of all tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A submission is judged by the same examples every time; at a desk they are new ones, which is how faults are found.
# How long an example takes says more about the machine than about it.
settings.register_profile("new", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("repeatable" if os.environ.get("CI") else "new")


@pytest.fixture(autouse=True, scope="session")
def _cache_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keeps the dumps that tests read out of the user's cache folder."""
    os.environ["SIMKIT_CACHE"] = str(tmp_path_factory.mktemp("dumps"))


@pytest.fixture(autouse=True)
def _main_module() -> Iterator[None]:
    """Puts the main module back, which IPython replaces and new processes ask for."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main

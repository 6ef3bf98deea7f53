from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.authn.providers import Issuer, issuing


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[Issuer]:
    with issuing(tmp_path) as made:
        yield made

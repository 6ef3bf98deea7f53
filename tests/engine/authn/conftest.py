from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.authn.providers import Issuer
from tests.engine.egress.service import serving


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[Issuer]:
    made = Issuer()
    with serving(tmp_path, made.reply) as service:
        made.service = service
        yield made

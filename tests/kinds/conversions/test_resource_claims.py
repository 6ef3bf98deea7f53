"""Claims for devices: what one version says in a request and another below it."""

from __future__ import annotations

import pytest

from simkit.kinds.conversions.moved_fields import EXACT
from simkit.schema.definitions import definitions
from simkit.schema.releases import RELEASES


@pytest.mark.parametrize("release", [release for release in RELEASES if release >= "1.34"])
def test_every_field_of_an_exact_request_is_moved(release: str) -> None:
    """A field that a newer release brings must not be lost on the way to the older version."""
    assert set(definitions(release).node("io.k8s.api.resource.v1.ExactDeviceRequest").fields) <= set(EXACT)

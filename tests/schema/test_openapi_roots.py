"""OpenAPI documents of paths that belong to no group, by release."""

from __future__ import annotations

import json

import pytest

from simkit.schema.catalogue import Catalogue
from simkit.schema.openapi.documents import index, swagger


@pytest.mark.parametrize(("release", "there"), [("1.30", True), ("1.31", False), ("1.33", False)])
def test_log_files_are_described_where_they_are_served(release: str, there: bool) -> None:
    """From 1.31 on the folder of log files is not served by default, and not described."""
    catalogue = Catalogue.for_release(release)
    assert ("logs" in index(catalogue)["paths"]) == there
    assert ("/logs/{logpath}" in json.loads(swagger(catalogue))["paths"]) == there
    assert "version" in index(catalogue)["paths"]

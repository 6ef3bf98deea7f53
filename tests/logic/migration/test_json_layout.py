"""JSON is written with the indentation that it has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simkit.logic.migration.documents import rewrite

INGRESS = {
    "apiVersion": "networking.k8s.io/v1beta1",
    "kind": "Ingress",
    "metadata": {"name": "web"},
    "spec": {"backend": {"serviceName": "web", "servicePort": 80}},
}
MOVED = {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}


@pytest.mark.parametrize("layout", [{"indent": 4}, {"indent": "\t"}, {}, {"separators": (",", ":")}])
def test_fields_that_move(layout: dict[str, Any]) -> None:
    """Compact texts stay compact, others keep their indentation."""
    made = rewrite(json.dumps(INGRESS, **layout), "1.33").text
    assert made == json.dumps({**json.loads(made), "spec": MOVED}, **layout)

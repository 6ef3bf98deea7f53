"""Texts in base64 with letters that are not even ASCII, for which the library has another error than for others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import simkit
from simkit.engine.authn.token_sources import secret_value
from simkit.engine.egress.files import load_kubeconfig
from simkit.engine.pipeline.api_services import api_service
from simkit.meta.errors import SimkitError
from simkit.simulation.kubelet.environment import content


def test_nobody_catches_the_error_of_ascii_letters_alone() -> None:
    """``b64decode`` raises ``binascii.Error`` for those, and a plain ``ValueError`` for all others."""
    sources = Path(simkit.__file__).parent.rglob("*.py")
    assert [str(path) for path in sources if "binascii.Error" in path.read_text()] == []


def test_such_texts_of_a_dump_are_as_good_as_none() -> None:
    """A secret of a dump with such a text made requests with any bootstrap token an internal error."""
    assert secret_value({"data": {"token-id": "\u00e9"}}, "token-id") == ""
    assert content({"kind": "Secret", "data": {"a": "\u00e9"}}) == {"a": b""}
    spec = {"group": "a", "version": "v1", "service": {"name": "a", "namespace": "b"}, "caBundle": "\u00e9"}
    assert api_service({"metadata": {"name": "v1.a"}, "spec": spec}).authorities == b""


def test_such_texts_of_a_kubeconfig_are_refused(tmp_path: Path) -> None:
    """With the name of the field."""
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority-data": "\u00e9"}
    config = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    (tmp_path / "config").write_text(json.dumps(config))
    with pytest.raises(SimkitError, match="certificate-authority-data"):
        load_kubeconfig(tmp_path / "config")

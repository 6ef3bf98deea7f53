"""Clusters with admission plugins of one's choice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import simkit
from simkit.cluster.options import Options

Making = Callable[..., simkit.Cluster]


@pytest.fixture
def making() -> Making:
    """Makes a cluster with some plugins more, and without controllers unless they are asked for."""

    def make(*plugins: str, without: tuple[str, ...] = (), settings: Path | None = None, **more: Any) -> simkit.Cluster:
        more.setdefault("controllers", ())
        options = Options(
            seed=1,
            clock=simkit.SimulatedClock(),
            enable_admission_plugins=plugins,
            disable_admission_plugins=without,
            admission_control_config_file=settings,
            **more,
        )
        made = simkit.Cluster(options=options)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        if made.perform(simkit_request("GET", "/api/v1/namespaces/default/serviceaccounts/default")).status == 404:
            made.create(account)
        return made

    return make


def simkit_request(method: str, path: str) -> Any:
    """A request without a body."""
    from simkit.meta.message import Request

    return Request.of(method, path)


@pytest.fixture
def cluster(making: Making) -> simkit.Cluster:
    """A cluster as it is by default, without controllers."""
    return making()

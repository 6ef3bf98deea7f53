"""The promises of admission plugins, kept by each of them."""

from __future__ import annotations

from typing import Final

import pytest

from simkit.cluster.plugins import PLUGINS
from simkit.engine.admission.single_rules import AlwaysDeny
from simkit.seams import Plugin
from simkit.testing.suites import AdmissionSuite
from tests.engine.admission.conftest import Making

_ELSEWHERE: Final = {"PodSecurityPolicy"}
"""Plugins that cannot be turned on; they have tests of their own."""
_ADDITIONS: Final = {
    "SecurityContextDeny": "1.29",
    "MutatingAdmissionPolicy": "1.36",
    "PodTopologyLabels": "1.36",
    "NodeDeclaredFeatureValidator": "1.36",
    "PodResizeValidator": "1.36",
    "PodGroupProtection": "1.36",
    "PodGroupWorkloadExists": "1.36",
}
"""Plugins that 1.30 does not have, with a release that does."""


class TestPlugins(AdmissionSuite):
    """Each plugin of a cluster that has it on."""

    @pytest.fixture(params=[name for name in PLUGINS.ours if name not in _ELSEWHERE])
    def plugin(self, request: pytest.FixtureRequest, making: Making) -> Plugin:
        more = {"release": _ADDITIONS[request.param]} if request.param in _ADDITIONS else {}
        if request.param == "AlwaysDeny":  # lets nothing be created, not even what the cluster needs
            return AlwaysDeny()
        cluster = making(request.param, **more)
        found: Plugin = next(each for each in cluster.engine.admission.plugins if each.name == request.param)
        return found

"""Analyses work where libraries for pictures, widgets and patterns are absent, as in a browser's Python."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
for name in ("matplotlib", "ipywidgets", "anywidget", "IPython", "re2", "_re2"):
    sys.modules[name] = None
import simkit, simkit.analysis, simkit.notebook
cluster = simkit.demo()
assert len(cluster.who_can("get", "secrets")) and len(cluster.escalations())
"""


def test_analyses_need_no_pictures_widgets_and_re2() -> None:
    """They are imported, and answer."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

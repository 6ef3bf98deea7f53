"""A new server loads only what its first answers need."""

from __future__ import annotations

import subprocess
import sys

UNUSED = ("simkit.simulation", "simkit.analysis", "simkit.engine.http.upgrade.switch", "wsproto", "pandas", "lark")
CODE = f"""
import sys
from simkit.cluster.assembly import fresh
from simkit.cluster.options import Options
import simkit.engine.http.serving
fresh(Options())
print([name for name in sys.modules if name.startswith({UNUSED!r}) and name != 'simkit.engine.http.upgrade'])
"""


def test_a_new_server_loads_no_simulation_and_no_other_protocols() -> None:
    """Simulated nodes, analyses, WebSockets and the grammar of expressions are loaded when somebody wants them."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

"""Notebooks run cell by cell in this process, which has loaded what a kernel would load anew for each.

The documentation site executes them in kernels (``make docs``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

CLAIMS: Final = Path(__file__).parent / "claims"
AUDIT: Final = "01-rbac-audit.ipynb"
PARAMETERS: Final = "parameters"
"""The tag of the cell after which values for its names are put."""


def cells(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook, each with its source as one text."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in found]


def tags(cell: Mapping[str, Any]) -> list[str]:
    """The tags of a cell."""
    return list(cell["metadata"].get("tags", ()))


def executed(path: Path, values: Mapping[str, Any], folder: Path) -> list[str]:
    """What each cell of code wrote and showed, run in a folder, with these values for the notebook's parameters.

    The claims of its text are checked after the last cell, with the names that its cells have made. Raises what a cell
    or a claim raises.
    """
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    if values and not any(PARAMETERS in tags(cell) for cell in code):
        raise ValueError(f"the notebook has no cell with the tag {PARAMETERS!r} to put values behind")
    with fresh_shell() as shell, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        shown = []
        for cell in code:
            shown.append(_shown(shell, cell["source"]))
            if PARAMETERS in tags(cell):
                shell.user_ns.update(values)
        claims = claims_of(path.name)
        return [*shown, _shown(shell, claims)] if claims else shown


def claims_of(name: str) -> str:
    """The assertions about a notebook that stands alone: what its text says, as code; empty for others."""
    file = CLAIMS / f"{Path(name).stem}.txt"
    return file.read_text(encoding="utf-8") if file.exists() else ""


@contextmanager
def fresh_shell() -> Iterator[Any]:
    """IPython without names of earlier notebooks, which shows figures as notebooks do."""
    shell: Any = InteractiveShell.instance()
    shell.reset(new_session=True)
    kinds = shell.display_formatter.active_types
    shell.display_formatter.active_types = shell.display_formatter.format_types
    backend = mpl.get_backend()
    try:
        with mpl.rc_context(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(shell, "enable_gui", lambda gui=None: None)  # pictures in a notebook need no event loop
            shell.enable_matplotlib("inline")
            yield shell
    finally:
        shell.display_formatter.active_types = kinds
        plt.close("all")
        mpl.interactive(False)
        mpl.use(backend)


def _shown(shell: Any, source: str) -> str:
    """Everything that a cell wrote and showed, with the names of the forms in which it was shown."""
    shown: list[Any] = []
    with capture_output() as captured, pytest.MonkeyPatch.context() as patch:
        patch.setattr(shell.displayhook, "write_format_data", lambda data, *_: shown.append(data))
        shell.run_cell(source, store_history=False).raise_error()
    shown += [one.data for one in captured.outputs]
    return captured.stdout + captured.stderr + "".join(map(str, shown))

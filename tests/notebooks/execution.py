"""Notebooks run to their end in a process of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import nbclient
import nbformat

if TYPE_CHECKING:
    from nbformat import NotebookNode

AUDIT: Final = "01-rbac-audit.ipynb"
PARAMETERS: Final = "parameters"
"""The tag of the cell after which values for its names are put."""
CELL_SECONDS: Final = 600


def executed(path: Path, values: dict[str, Any]) -> NotebookNode:
    """The notebook after all of its cells ran, with these values for its parameters."""
    source = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    _put_values(source, values)
    client = nbclient.NotebookClient(
        source,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(Path.cwd())}},
    )
    finished: NotebookNode = client.execute()
    return finished


def _put_values(source: NotebookNode, values: dict[str, Any]) -> None:
    """Put a cell that sets the values behind the one that holds the parameters."""
    for place, cell in enumerate(source.cells):
        if PARAMETERS in cell.metadata.get("tags", ()):
            lines = "\n".join(f"{name} = {value!r}" for name, value in values.items())
            injected = nbformat.v4.new_code_cell(lines, metadata={"tags": ["injected-parameters"]})  # type: ignore[no-untyped-call]
            source.cells.insert(place + 1, injected)
            return
    raise ValueError(f"the notebook has no cell with the tag {PARAMETERS!r} to put values behind")

"""A notebook run to its end and written as one HTML file, which needs no network to be read."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from simkit.cluster.report.library import notebook
from simkit.cluster.report.page import marked, page
from simkit.meta.errors import SimkitError
from simkit.snapshot.dump import Dump
from simkit.snapshot.save import save

if TYPE_CHECKING:
    from nbformat import NotebookNode

AUDIT: Final = "01-rbac-audit.ipynb"
PARAMETERS: Final = "parameters"
"""The tag of the cell after which values for its names are put."""
CELL_SECONDS: Final = 600


def write_report(
    dump: str | Path | Dump,
    target: str | Path,
    *,
    release: str = "1.30",
    include_defaults: bool = False,
    show_code: bool = False,
    name: str = "",
) -> Path:
    """Write the audit of a dump as an HTML file and return its path; folders on the way are made.

    Parameters
    ----------
    dump
        What ``simkit.load`` takes as a path, or a dump that was loaded already, whose release counts then.
    show_code
        Whether the report shows the notebook's code.
    name
        What the report is about, for its head; by default the name of the file.

    Raises
    ------
    SimkitError
        Where the packages of the extra ``notebook`` are missing, or a cell fails; the message is the cell's.
    """
    with TemporaryDirectory() as folder:
        if isinstance(dump, Dump):
            release, source = dump.release, save(dump, Path(folder) / "dump.json")
        else:
            source = Path(dump).resolve()
        values = {"dump": str(source), "release": release, "include_defaults": include_defaults}
        finished = executed(notebook(AUDIT), values)
    subtitle = f"{name or source.name}, read as release {release}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    out = Path(target)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(to_html(finished, subtitle=subtitle, show_code=show_code), encoding="utf-8")
    return out


def executed(path: Path, values: dict[str, Any]) -> NotebookNode:
    """The notebook after all of its cells ran in a process of their own, with these values for its parameters."""
    nbformat, nbclient = _packages("nbformat", "nbclient")
    source = nbformat.read(path, as_version=4)
    _put_values(source, values, nbformat)
    client = nbclient.NotebookClient(
        source,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(Path.cwd())}},
    )
    try:
        finished: NotebookNode = client.execute()
    except nbclient.exceptions.CellExecutionError as failed:
        raise SimkitError(f"the notebook {path.name} failed: {failed.ename}: {failed.evalue}") from failed
    return finished


def _put_values(source: NotebookNode, values: dict[str, Any], nbformat: Any) -> None:
    """Put a cell that sets the values behind the one that holds the parameters."""
    for place, cell in enumerate(source.cells):
        if PARAMETERS in cell.metadata.get("tags", ()):
            lines = "\n".join(f"{name} = {value!r}" for name, value in values.items())
            injected = nbformat.v4.new_code_cell(lines, metadata={"tags": ["injected-parameters"]})
            source.cells.insert(place + 1, injected)
            return
    raise SimkitError(f"the notebook has no cell with the tag {PARAMETERS!r} to put values behind")


def to_html(finished: NotebookNode, *, subtitle: str = "", show_code: bool = False) -> str:
    """An executed notebook as a page with its figures inside, and no reference to anything outside."""
    (nbconvert,) = _packages("nbconvert")
    exporter = nbconvert.HTMLExporter(
        template_name="basic", exclude_input=not show_code, exclude_input_prompt=True, exclude_output_prompt=True
    )
    body, _ = exporter.from_notebook_node(finished)
    return page(marked(body), headings(finished), subtitle)


def headings(finished: NotebookNode) -> list[str]:
    """The headings of the second level, in order."""
    texts = [cell.source for cell in finished.cells if cell.cell_type == "markdown"]
    return [line[3:].strip() for text in texts for line in text.splitlines() if line.startswith("## ")]


def _packages(*names: str) -> list[Any]:
    try:
        return [import_module(name) for name in names]
    except ImportError as missing:
        raise SimkitError(
            f"a report needs {missing.name}, which is not installed; try: pip install 'simkit[notebook]'"
        ) from missing

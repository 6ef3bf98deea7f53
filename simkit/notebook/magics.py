"""Magics of IPython: ``%load_ext simkit`` gives ``%kubectl``, ``%%kubectl``, ``%%apply`` and completion."""

from __future__ import annotations

from typing import Any

from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class

from simkit.cluster.cluster import Cluster
from simkit.meta.errors import SimkitError
from simkit.notebook.completion import completions
from simkit.notebook.kubectl.command import Printed, kubectl


@magics_class
class KubectlMagics(Magics):
    """kubectl against a cluster of the notebook: the variable ``cluster``, or the one of ``--cluster NAME``."""

    @line_cell_magic
    def kubectl(self, line: str, cell: str | None = None) -> Printed | None:
        """``%kubectl get pods -n dev``; as a cell magic, each further line is a command, or the input of ``-f -``."""
        cluster, line = self._cluster(line)
        if cell is None:
            return kubectl(cluster, line)
        if line.strip():
            return kubectl(cluster, line, cell)
        lines = [each.strip().removeprefix("kubectl ") for each in cell.splitlines()]
        done = [kubectl(cluster, each) for each in lines if each and not each.startswith("#")]
        return Printed("".join(each.text for each in done), max((each.code for each in done), default=0))

    @cell_magic
    def apply(self, line: str, cell: str) -> Printed:
        """Apply the manifests of the cell: ``%%apply -n dev``."""
        cluster, line = self._cluster(line)
        return kubectl(cluster, f"apply -f - {line}", cell)

    def _cluster(self, line: str) -> tuple[Cluster, str]:
        """The cluster that a line names, and the rest of the line."""
        words, name = line.split(), "cluster"
        if "--cluster" in words[:-1]:
            place = words.index("--cluster")
            name = words[place + 1]
            line = line.replace(f"--cluster {name}", "", 1)
        found = self.shell.user_ns.get(name) if self.shell is not None else None
        if not isinstance(found, Cluster):
            raise SimkitError(f"there is no cluster named {name!r} in the notebook; next: {name} = simkit.demo()")
        return found, line


def load_ipython_extension(shell: Any) -> None:
    """Register the magics and the completion, for ``%load_ext simkit``."""
    magics = KubectlMagics(shell)
    shell.register_magics(magics)

    def complete(_: Any, event: Any) -> list[str]:
        found = shell.user_ns.get("cluster")
        return completions(found, event.text_until_cursor, event.symbol) if isinstance(found, Cluster) else []

    for key in ("%kubectl", "%%kubectl", "%%apply"):
        shell.set_hook("complete_command", complete, str_key=key)

"""Processor time of whole commands, as ratios to that of ``python -c "import pandas"`` on the same machine."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

MANIFEST = """\
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: shop}
spec: {minAvailable: 1, selector: {matchLabels: {app: shop}}}
"""
RUNS = 3


UNIT = [sys.executable, "-c", "import pandas"]


def processor_seconds(*commands: list[str]) -> list[float]:
    """User and system seconds of commands and their children, in turn: of each the least of some runs after one that
    compiles modules.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times: list[list[float]] = []
    for _ in range(RUNS + 1):
        times.append([])
        for command in commands:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times[-1].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return [min(some) for some in zip(*times[1:], strict=True)]


def main() -> None:
    """Measure each command, and print its ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dump", help="also ask this dump, as the demo cluster is asked")
    dump = parser.parse_args().dump
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest, page = folder / "budget.yaml", folder / "page.html"
        manifest.write_text(MANIFEST, encoding="utf-8")
        commands = [["upgrade", str(manifest), "--to", "1.33"]]
        for source in ["--demo"] if dump is None else ["--demo", dump]:
            commands += [
                ["who-can", "get", "secrets", source],
                ["audit", source],
                ["audit", source, "--html", str(page)],
                ["escalations", source, "--prove"],
            ]
        for command in commands:
            unit, seconds = processor_seconds(UNIT, [sys.executable, "-m", "simkit.cli", *command])
            shown = " ".join(Path(word).name if "/" in word else word for word in command)
            print(f"{shown:44} {seconds:6.2f} s {seconds / unit:6.1f} times")


if __name__ == "__main__":
    main()

"""All benchmarks, one process each: ``python -m tests.bench [NAME ...] [-- OPTIONS]``.

Names are those of the files without ``bench_``. Options after ``--`` go to each, such as ``--peer URL`` to http.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run what was asked for; gives back the worst exit code."""
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    names, options = arguments[:cut], arguments[cut + 1 :]
    known = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    worst = 0
    for name in names or known:
        print(f"== {name}", flush=True)
        done = subprocess.run([sys.executable, "-m", f"tests.bench.bench_{name}", *options], check=False)
        worst = max(worst, done.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())

"""All benchmarks, one process each: ``python -m tests.bench [NAME ...] [--peer URL] [--seconds S]``.

Names are those of the files without ``bench_``. With ``--peer`` the loads that go over the network also go to another
server, and the ratios between the two are printed. With one NAME its own options may follow.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

OVER_THE_NETWORK = ("http", "peer", "watchers")
"""The benchmarks that put load on a server, ours and a peer's alike."""


def main() -> int:
    """Run what was asked for; gives back the worst exit code."""
    known = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; all unless given")
    parser.add_argument("--peer", metavar="URL", help="another server to put beside this one")
    parser.add_argument("--peer-token", metavar="TOKEN", help="of a user there who may do everything")
    parser.add_argument("--seconds", metavar="S", help="for each kind of load")
    args, own = parser.parse_known_args()
    if own and len(args.names) != 1:
        parser.error(f"{' '.join(own)}: name the one benchmark whose options these are")
    unknown = set(args.names) - set(known)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    given = [("--peer", args.peer), ("--peer-token", args.peer_token), ("--seconds", args.seconds)]
    options = [text for flag, value in given if value is not None for text in (flag, value)]
    worst = 0
    for name in args.names or known:
        print(f"== {name}", flush=True)
        more = [*(options if name in OVER_THE_NETWORK else []), *own]
        done = subprocess.run([sys.executable, "-m", f"tests.bench.bench_{name}", *more], check=False)
        worst = max(worst, done.returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())

"""``simkit serve`` that measures its event loop: how much processor time its process took between two turns of it.

Whoever asks for health meanwhile waits for as long on a machine that does nothing else, however busy this one is.
``python -m tests.bench.bench_hostile --turns`` starts it, and prints what it has measured.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from simkit.cli import main
from simkit.engine.http import serving

EVERY = 0.001


def watch(file: Path) -> None:
    """Have each server of this process measure its loop, and write the seconds to a file at its end."""
    serve = serving.ServingLoop.serve

    async def watched(self: serving.ServingLoop) -> None:
        loop, found, last = asyncio.get_running_loop(), list[float](), time.process_time()

        def turn() -> None:
            nonlocal last
            now = time.process_time()
            found.append(now - last)
            last = now
            loop.call_later(EVERY, turn)

        turn()
        try:
            await serve(self)
        finally:
            file.write_text("\n".join(map(str, found)))

    serving.ServingLoop.serve = watched  # type: ignore[method-assign]


def waits(file: Path) -> list[float]:
    """What somebody waits who comes at any moment of processor time: a hundred percentiles, in milliseconds."""
    turns = sorted(float(line) for line in file.read_text().splitlines())
    moments, total = list[float](), sum(turns)
    for part in range(1, 101):
        low, high = 0.0, turns[-1]
        for _ in range(30):
            middle = (low + high) / 2
            longer = sum(turn - middle for turn in turns if turn > middle) / total
            low, high = (middle, high) if longer > 1 - part / 100 else (low, middle)
        moments.append(1000 * low)
    return moments


if __name__ == "__main__":
    watch(Path(sys.argv.pop(1)))
    sys.exit(main())

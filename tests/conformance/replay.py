"""Replays the recorded conversations against our own server and holds the score to a floor.

    python -m tests.conformance.replay [--raise] [AREA ...]

Needs the recorded cases (``shared.py`` says where they are looked for); without them it says so and succeeds. Exit
status 1 when an area's score falls below what score.json records; ``--raise`` writes better scores there.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.shared import SHARED

RECORD: Final = Path(__file__).with_name("score.json")
CASES: Final = SHARED / "conformance" / "cases"
TOKENS: Final = 'admin-token,admin,admin-uid,"system:masters"\nalice-token,alice,alice-uid,"devs"\n'
WITH_CONTROLLERS: Final = ("--controllers", "*,bootstrapsigner,tokencleaner", "--enable-bootstrap-token-auth")
START_SECONDS: Final = 20
AT_A_TIME: Final = 4

Score = Mapping[str, Mapping[str, int]]
"""By area: answers, those that match, and those that match but for the wording of messages."""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def serving(folder: Path, *flags: str) -> Iterator[str]:
    """The URL of a server of its own process, set up as the recorded one was."""
    port = free_port()
    tokens = folder / "tokens.csv"
    tokens.write_text(TOKENS)
    command = [sys.executable, "-m", "simkit.cli", "serve", "--secure-port", "0", "--insecure-port", str(port)]
    command += ["--token-auth-file", str(tokens), "--cert-dir", str(folder / "certificates"), *flags]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=20)


def wait_for(port: int) -> None:
    """Return once somebody listens on a port; TimeoutError when nobody does in time."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port} after {START_SECONDS} seconds")


@cache
def recorder() -> Any:
    """The program beside the recordings, as a module: it sends their requests and finds the differences."""
    spec = importlib.util.spec_from_file_location("recorded_replay", SHARED / "conformance" / "replay.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def replay(server: str, area: str) -> Mapping[str, int]:
    """How many answers of an area there are, how many match, and how many match but for wording."""
    program = recorder()
    client = program.Client(server, {"admin": "admin-token", "alice": "alice-token"}, None)
    counts = {"answers": 0, "matched": 0, "soft": 0}
    for path in sorted((CASES / area).rglob("*.json")):
        case = json.loads(path.read_text())
        counts["answers"] += sum("sleep" not in step for step in case["steps"])
        try:
            answers = program.run_case(client, case)
        except (OSError, http.client.HTTPException) as error:
            print(f"{path.stem}: {error}")
            continue
        for number, plain in answers:
            if plain is not None:
                expected = case["steps"][number].get("expect")
                counts["matched"] += not program.differences(expected, plain)
                counts["soft"] += not program.differences(expected, plain, "", True)
    return counts


def measured(areas: Sequence[str]) -> Score:
    """The score of each area, each on a server of its own; several at a time, since recordings mostly wait."""
    recorder()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return dict(zip(areas, pool.map(_measured, areas)))


def _measured(area: str) -> Mapping[str, int]:
    flags = WITH_CONTROLLERS if area == "controllers" else ("--controllers", "")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name, serving(Path(name), *flags) as server:
        score = replay(server, area)
    taken = time.monotonic() - begun
    counts = f"{score['matched']:5} of {score['answers']:5} exact, {score['soft']:5} soft"
    print(f"{area:16} {counts}, {taken:4.0f} s", flush=True)
    return score


def main(arguments: Sequence[str]) -> int:
    """Measure, compare with the record, and perhaps raise it."""
    if not CASES.is_dir():
        print("the recorded conversations are not beside this checkout: nothing to replay")
        return 0
    wanted = [name for name in arguments if not name.startswith("--")]
    areas = wanted or sorted(path.name for path in CASES.iterdir() if path.is_dir())
    record: dict[str, Mapping[str, int]] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    scores = measured(areas)
    fallen = [
        f"{area}: {name} {scores[area][name]}, was {record[area][name]}"
        for area in areas
        for name in ("matched", "soft")
        if area in record and scores[area][name] < record[area][name]
    ]
    if "--raise" in arguments:
        record.update({area: score for area, score in scores.items() if _better(score, record.get(area))})
        RECORD.write_text(json.dumps(dict(sorted(record.items())), indent=1) + "\n")
    total = {name: sum(score[name] for score in scores.values()) for name in ("answers", "matched", "soft")}
    print(f"all: {total['matched']} of {total['answers']} exact, {total['soft']} soft")
    print("\n".join(fallen))
    return 1 if fallen else 0


def _better(score: Mapping[str, int], before: Mapping[str, int] | None) -> bool:
    return before is None or score["matched"] + score["soft"] > before["matched"] + before["soft"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

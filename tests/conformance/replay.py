"""Repeats recorded conversations with ``simkit serve`` and compares the answers with the table of known differences.

    python -m tests.conformance.replay [--in-process] [--release BUNDLE] [--cases FOLDER] [--raise] [--show] [AREA ...]

Without ``--cases`` the recordings of this folder are taken: by default those of 1.30, with ``--release`` one of the
others (1.21-explored, 1.25-explored, 1.30-more, 1.30-explored, 1.33, 1.34-explored, 1.35-explored, 1.36, or all). Exit
status 1 where an answer differs that is not known to; ``--raise`` takes out of known.json what agrees by now, ``--show``
prints the differences.
"""

from __future__ import annotations

import argparse
import http.client
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from simkit.meta.free_port import free_port
from tests.conformance import inprocess, known
from tests.conformance.conversation import (
    Answer,
    Case,
    Outcome,
    Server,
    compared_headers,
    hold,
    in_folder,
    recorded,
    with_token,
)

BUNDLES: Final = (
    "1.21-explored",
    "1.25-explored",
    "1.27-explored",
    "1.30",
    "1.30-more",
    "1.30-explored",
    "1.33",
    "1.33-explored",
    "1.33-enabled",
    "1.34-explored",
    "1.35-explored",
    "1.35-enabled",
    "1.36",
    "1.36-explored",
    "1.36-enabled",
)
TRIES: Final = 3
AT_A_TIME: Final = 4
_REQUEST_SECONDS: Final = 90


class OverHttp:
    """A server behind an address, over one connection as long as it stays open; certificates are not checked.

    Requests are sent one after the other: threads take one of these each.
    """

    def __init__(self, url: str) -> None:
        self._address, self._secure = urlsplit(url).netloc, url.startswith("https:")
        self._kept: http.client.HTTPConnection | None = None

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def _connection(self) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._address, timeout=_REQUEST_SECONDS)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(self._address, timeout=_REQUEST_SECONDS, context=context)

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, *, user: str) -> Answer:
        sent = with_token(headers, user)
        if self._kept is not None:
            try:
                return self._asked(self._kept, method, path, sent, body)
            except (ConnectionError, ssl.SSLEOFError):  # closed by the server in the meantime
                pass
        self._kept = self._connection()
        return self._asked(self._kept, method, path, sent, body)

    def _asked(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> Answer:
        try:
            connection.request(method, path, body=body, headers=dict(headers))
            response = connection.getresponse()
            return Answer(response.status, compared_headers(response.getheaders()), response.read())
        except (OSError, http.client.HTTPException):
            self._kept = None
            connection.close()
            raise


@contextmanager
def serving(folder: Path, bundle: str, area: str) -> Iterator[OverHttp]:
    """A server of its own process, set up as the recorded one was."""
    tokens, log = folder / "tokens.csv", folder / "log"
    tokens.write_text(inprocess.TOKENS)
    command = [sys.executable, "-m", "simkit.cli", "serve", "--secure-port", "0"]
    command += ["--release", inprocess.release_of(bundle), "--token-auth-file", str(tokens)]
    command += ["--cert-dir", str(folder / "certificates"), "--controllers", ",".join(inprocess.controllers_of(area))]
    if inprocess.plugins_off(bundle):
        command += ["--disable-admission-plugins", ",".join(inprocess.plugins_off(bundle))]
    if inprocess.has_bootstrap_tokens(bundle, area):
        command.append("--enable-bootstrap-token-auth")
    if bundle != "1.30":
        command += ["--service-account-issuer", inprocess.ISSUER]
    process, port = _started(command, log)
    try:
        yield OverHttp(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(timeout=20)
        assert process.stdout is not None
        process.stdout.close()


def _started(command: Sequence[str], log: Path) -> tuple[subprocess.Popen[str], int]:
    """The process of a server that says itself that it is ready, and its port.

    Whoever tries a port meanwhile may reach somebody else, or take it from the server: a server that ends is started
    again at another port.
    """
    for _ in range(TRIES):
        port = free_port()
        with log.open("w") as told:
            process = subprocess.Popen(
                [*command, "--insecure-port", str(port)], stdout=subprocess.PIPE, stderr=told, text=True
            )
        assert process.stdout is not None
        if "is ready" in process.stdout.readline():
            return process, port
        process.wait(timeout=20)
        process.stdout.close()
    raise RuntimeError(f"the server did not start: {log.read_text()[-2000:]}")


def held(server: Server, case: Case) -> Sequence[Outcome]:
    """The comparison of all answers of a case; all of them differ if the connection breaks."""
    try:
        return tuple(hold(server, case))
    except (OSError, http.client.HTTPException) as error:
        steps = [number for number, step in enumerate(case.steps) if "sleep" not in step]
        return tuple(Outcome(number, (str(error),), (str(error),)) for number in steps)


class Replay:
    """One run over the areas of a recording.

    Parameters
    ----------
    cases
        The conversations by area.
    in_process
        Whether to call the server in this process instead of over HTTP.
    """

    def __init__(self, bundle: str, cases: Mapping[str, Sequence[Case]], *, in_process: bool) -> None:
        self.bundle, self.cases, self._in_process = bundle, cases, in_process
        self.outcomes: dict[str, Mapping[str, Sequence[Outcome]]] = {}

    def run(self, areas: Sequence[str]) -> None:
        """Hold the conversations of some areas, each area with a server of its own, several at a time over HTTP."""
        with ThreadPoolExecutor(1 if self._in_process else AT_A_TIME) as pool:
            self.outcomes.update(zip(areas, pool.map(self._area, areas)))

    def _area(self, area: str) -> Mapping[str, Sequence[Outcome]]:
        begun = time.monotonic()
        serve = inprocess.serving if self._in_process else serving
        with tempfile.TemporaryDirectory() as folder, serve(Path(folder), self.bundle, area) as server:
            found = {case.name: held(server, case) for case in self.cases[area]}
        total, exact, soft = counted(found)
        taken = time.monotonic() - begun
        print(f"{area:16} {exact:5} of {total:5} exact, {soft:5} soft, {taken:4.0f} s", flush=True)
        return found

    def differing(self, area: str) -> dict[str, list[int]]:
        """The steps of an area whose answers differ, by case."""
        found = {
            case: [each.step for each in outcomes if each.differences] for case, outcomes in self.outcomes[area].items()
        }
        return {case: steps for case, steps in found.items() if steps}

    def new_differences(self, table: known.Table) -> Iterator[str]:
        """The differences that the table does not know, as text."""
        for area in self.outcomes:
            there = table.get(self.bundle, {}).get(area, known.Known()).cases
            for case, outcomes in self.outcomes[area].items():
                for each in outcomes:
                    if each.differences and each.step not in there.get(case, ()):
                        yield f"{self.bundle} {case} step {each.step}: {'; '.join(each.differences[:3])}"


def counted(outcomes: Mapping[str, Sequence[Outcome]]) -> tuple[int, int, int]:
    """The numbers of all answers, of equal ones, and of those that are equal but for the wording of messages."""
    every = [each for found in outcomes.values() for each in found]
    return len(every), sum(not each.differences for each in every), sum(not each.soft for each in every)


def main(arguments: Sequence[str]) -> int:
    """Replay, compare with what is known, and perhaps record that more agrees."""
    options = parsed(arguments)
    bundles = BUNDLES if options.release == "all" else (options.release,)
    table, fallen = known.read(), list[str]()
    for bundle in bundles:
        cases = in_folder(options.cases) if options.cases else recorded(bundle)
        replay = Replay(bundle, cases, in_process=options.in_process)
        replay.run(sorted(set(options.areas) & cases.keys()) if options.areas else sorted(cases))
        total, exact, soft = counted({case: each for found in replay.outcomes.values() for case, each in found.items()})
        print(f"{bundle}: all: {exact} of {total} exact, {soft} soft")
        if options.show:
            print("\n".join(replay.new_differences({})))
        fallen += replay.new_differences(table)
        if options.record:
            table = raised(table, replay)
    if options.record:
        known.write(table)
    print("\n".join(fallen))
    return 1 if fallen else 0


def raised(table: known.Table, replay: Replay) -> known.Table:
    """A table without the differences of a run that are no more. New ones are not taken in."""
    before = dict(table.get(replay.bundle, {}))
    for area in replay.outcomes:
        now, was = replay.differing(area), before.get(area, known.Known())
        kept = {case: sorted({*steps} & {*now.get(case, ())}) for case, steps in was.cases.items()}
        before[area] = known.Known(was.reason, {case: steps for case, steps in kept.items() if steps})
    return {**table, replay.bundle: before}


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.replay", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("areas", nargs="*", metavar="AREA")
    parser.add_argument(
        "--in-process", action="store_true", help="call the server in this process, on a simulated clock"
    )
    parser.add_argument("--release", choices=(*BUNDLES, "all"), default="1.30", help="the recording (default 1.30)")
    parser.add_argument("--cases", type=Path, metavar="FOLDER", help="other recordings: a folder of JSON files by area")
    parser.add_argument("--raise", dest="record", action="store_true", help="take what agrees by now out of known.json")
    parser.add_argument("--show", action="store_true", help="print all differences")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

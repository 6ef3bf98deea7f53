"""simkit beside another API server, such as kube-apiserver: ``python -m tests.bench peer --peer URL``.

Each kind of load goes to all servers in turn, for some rounds: simkit, a second one on another storage (``--storage
etcd:URL``, the etcd of the peer for example), a bare answer by uvicorn, and the peer where one is given. Printed are
medians of answers a second with the least and the most, the microseconds of processor time of the server for each
answer, and ratios. Only ratios of one run say something: figures of different machines do not.

Memory is read at equal contents: the load that creates objects comes last. ``--rounds 0`` reads memory alone.

The peer must know a token whose user may do everything. Its certificate is not verified. If it runs on this machine,
its processor time and memory are read too, without those of its etcd. It keeps the objects of the measurement: give it
one that can be thrown away.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import orjson
import pandas

from simkit.engine.http.serving import new_loop
from simkit.meta.free_port import free_port
from tests.bench.bench_engine import binding
from tests.bench.bench_http import TOKEN, Target, config_map, load, resident
from tests.bench.wrk import Answered, Load, check_installed, listening_pid, put_load

LISTED, BINDINGS = 5_000, 15_000
BARE: Final = "bare answer"
_NAMESPACE: Final = "peer-bench"
_LISTED: Final = f"{_NAMESPACE}-listed"
_MAPS: Final = f"/api/v1/namespaces/{_NAMESPACE}/configmaps"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
REVIEW: Final = Load(_REVIEWS, 16, "review")
LOADS: Final = {
    "GET of 1 KB, 32 connections": Load(f"{_MAPS}/one", 32),
    f"LIST of {LISTED:,}, consistent": Load(f"/api/v1/namespaces/{_LISTED}/configmaps", 4),
    "access review, default roles": REVIEW,
    "access review that was never sent before": Load(_REVIEWS, 16, "numbered", "review"),
}
CROWDED: Final = {
    f"access review, {BINDINGS:,} bindings more": REVIEW,
    "CREATE of 1 KB, 16 connections": Load(_MAPS, 16, "numbered", "create"),
}
GOALS: Final = dict(zip((*LOADS, *CROWDED), (3.0, 6.0, 2.0, 2.0, 10.0, 2.0), strict=True))
"""How many times the answers of kube-apiserver are wanted."""


@dataclass
class Contestant:
    """One server of the measurement."""

    name: str
    target: Target
    pids: Sequence[int]
    found: dict[str, list[Answered]] = field(default_factory=dict)
    facts: dict[str, float] = field(default_factory=dict)

    def measure(self, name: str, load: Load, seconds: float) -> None:
        """One round of a load."""
        self.found.setdefault(name, []).append(put_load(self.target, self.pids, load, seconds))

    def median(self, name: str) -> float:
        """Answers a second, the middle one of all rounds."""
        return statistics.median(each.rate for each in self.found[name])

    def price(self, name: str) -> float:
        """Microseconds of processor time for each answer, the middle one of all rounds."""
        return statistics.median(each.price for each in self.found[name])

    def weigh(self, when: str) -> None:
        """Note the memory of the process."""
        if self.pids:
            self.facts[f"memory, MB, {when}"] = resident(self.pids[0]) / 1024


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", metavar="URL", help="the other server, such as https://127.0.0.1:6443")
    parser.add_argument("--peer-token", default=TOKEN, metavar="TOKEN")
    parser.add_argument("--storage", help="also measure simkit on this storage, such as etcd:http://127.0.0.1:2379")
    parser.add_argument("--seconds", type=float, default=3, help="for each load of each round (default 3)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="how often each load goes to each server (default 3; 0: memory alone)"
    )
    args = parser.parse_args()
    check_installed()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        servers = [stack.enter_context(served(folder))]
        bare = stack.enter_context(bare_server(folder))
        if args.storage:
            servers.append(stack.enter_context(served(folder, args.storage)))
        if args.peer:
            servers.append(_peer(args.peer, args.peer_token))
        for each in servers:
            each.weigh("at rest")
            _in_loop(prepare(each.target))
            each.weigh(f"with {LISTED:,} objects")
        _rounds([*servers, bare], LOADS, args)
        for each in servers:
            _in_loop(bind_many(each.target))
            each.weigh(f"with {BINDINGS:,} bindings more")
        _rounds(servers, CROWDED, args)
        if args.rounds:
            print_tables(servers, bare)
        print_facts(servers)


def _rounds(servers: Sequence[Contestant], loads: dict[str, Load], args: argparse.Namespace) -> None:
    for name, kind in loads.items():
        for _ in range(args.rounds):
            for each in servers:
                if each.name != BARE or (not kind.script and kind.connections == 32):
                    each.measure(name, kind, args.seconds)


async def prepare(target: Target) -> None:
    """Make the namespaces and the objects that are read."""
    for name in (_NAMESPACE, _LISTED):
        body = orjson.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        await load(target, iter([target.request("POST", "/api/v1/namespaces", body)]), 1, seconds=10)
    await load(target, iter([target.request("POST", _MAPS, config_map("one"))]), 1, seconds=10)
    maps = f"/api/v1/namespaces/{_LISTED}/configmaps"
    fill = (target.request("POST", maps, config_map(f"listed-{number}")) for number in range(LISTED))
    await load(target, fill, 16, seconds=600)


async def bind_many(target: Target) -> None:
    """Make role bindings of users of their own in the namespace that is asked about."""
    bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
    requests = (target.request("POST", bindings, orjson.dumps(binding(1000 + number))) for number in range(BINDINGS))
    await load(target, requests, 16, seconds=600)


def _in_loop(work: Coroutine[object, object, None]) -> None:
    loop = new_loop()
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()


@contextlib.contextmanager
def served(folder: Path, storage: str = "memory") -> Iterator[Contestant]:
    """simkit in a process of its own: the third that is started, since the first makes certificates and compiles.

    In an etcd its objects have a prefix of their own.
    """
    ready = []
    (folder / "tokens.csv").write_text(f'{TOKEN},bench,1,"system:masters"\n')
    for turn in range(3):
        port = free_port()
        flags = ["--secure-port", str(port), "--token-auth-file", str(folder / "tokens.csv"), "--storage", storage]
        flags += ["--etcd-prefix", f"/bench-{time.time_ns():x}"] if storage.startswith("etcd:") else []
        command = [sys.executable, "-m", "simkit.cli", "serve", *flags, "--cert-dir", str(folder)]
        started = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                if not process.stdout.readline():
                    raise SystemExit("the server did not start")
                ready.append(time.perf_counter() - started)
                if turn == 2:
                    name = "simkit" if storage == "memory" else f"simkit, {storage.partition(':')[0]}"
                    made = Contestant(name, Target("127.0.0.1", port, TOKEN, process.pid), [process.pid])
                    made.facts["ready after, s"] = min(ready[1:])
                    yield made
            finally:
                process.terminate()


@contextlib.contextmanager
def bare_server(folder: Path) -> Iterator[Contestant]:
    """The ceiling, in a process of its own."""
    port = free_port()
    with subprocess.Popen([sys.executable, "-m", "tests.bench.bare_server", str(port), str(folder)]) as process:
        try:
            while listening_pid(port) is None:
                time.sleep(0.1)
            yield Contestant(BARE, Target("127.0.0.1", port, TOKEN, process.pid), [process.pid])
        finally:
            process.terminate()


def _peer(address: str, token: str) -> Contestant:
    url = urlsplit(address)
    host, port = url.hostname or "127.0.0.1", url.port or 443
    pid = listening_pid(port) if host in ("127.0.0.1", "localhost") else None
    return Contestant("peer", Target(host, port, token, pid), [] if pid is None else [pid])


def print_tables(servers: Sequence[Contestant], bare: Contestant) -> None:
    """Answers a second, ratios and processor time of every load."""
    ours, *others = servers
    everybody = [*servers, bare]
    print("answers each second: median (least, most)")
    _table({each.name: {name: _told(each, name) for name in each.found} for each in everybody})
    print("microseconds of processor time for each answer")
    _table({each.name: {name: f"{each.price(name):,.0f}" for name in each.found} for each in everybody if each.pids})
    ratios: dict[str, dict[str, str]] = {}
    for each in others:
        by_answers = {name: f"{ours.median(name) / each.median(name):.2f}" for name in each.found}
        by_price = {name: f"{each.price(name) / ours.price(name):.2f}" for name in each.found if each.pids}
        ratios |= {f"answers beside {each.name}": by_answers, f"cheaper than {each.name}": by_price}
    print("simkit beside the others")
    _table({**ratios, "goal by answers": {name: f"{goal:.0f}" for name, goal in GOALS.items()}})
    get = next(iter(bare.found))
    part, cheaper = ours.median(get) / bare.median(get), bare.price(get) / ours.price(get)
    print(f"our GET beside the bare answer: {part:.2f} of its answers, {cheaper:.2f} by processor time (goal 0.8)\n")


def print_facts(servers: Sequence[Contestant]) -> None:
    """Memory and start; memory also as part of each other server's."""
    ours, *others = servers
    columns = {each.name: {name: f"{value:,.2f}" for name, value in each.facts.items()} for each in servers}
    for each in others:
        shared = [name for name in ours.facts if name in each.facts]
        columns[f"part of {each.name}"] = {name: f"{ours.facts[name] / each.facts[name]:.3f}" for name in shared}
    _table(columns)


def _table(columns: dict[str, dict[str, str]]) -> None:
    print(pandas.DataFrame(columns).fillna("").to_string() + "\n")


def _told(each: Contestant, name: str) -> str:
    rates = [one.rate for one in each.found[name]]
    return f"{each.median(name):,.0f} ({min(rates):,.0f}, {max(rates):,.0f})"


if __name__ == "__main__":
    main()

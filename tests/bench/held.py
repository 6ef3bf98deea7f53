"""How long each attack holds the interpreter at once: ``python -m tests.bench.held [TEXT]``.

Each attack of ``tests.security.attacks`` runs in a thread, within one process, while this one asks for the interpreter
every half a millisecond. Printed are the milliseconds of processor time that the attack took, and the longest that this
thread waited for, in processor time of the process: a busy machine does not change them. Event loops wait as long.
"""

from __future__ import annotations

import sys
import threading
import time
from functools import partial

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.authn.token_sources import StaticTokens
from simkit.engine.pipeline.handler_chain import serve_request
from simkit.meta.deadline import Deadline, within
from simkit.meta.identity import MASTERS, Identity
from simkit.meta.message import Request, Response
from simkit.meta.python_gc import collect_seldom
from tests.security.attacks import Attack, attacks, preparation

LISTED, SHOWN = 3000, 4


def main() -> int:
    """Print a row for each attack whose name has the text in it."""
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    known = StaticTokens({"root": Identity("root", (MASTERS,))})
    cluster = Cluster(options=Options(seed=1, audit_policy=None, authenticators=(known,)))
    for path, obj in preparation():
        cluster.perform(Request.of("POST", path, obj))
    for number in range(LISTED):
        data = {f"key-{line}": f"{line}" * 140 for line in range(6)}
        cluster.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"listed-{number}"}, "data": data}
        )
    collect_seldom()
    sys.setswitchinterval(0.00005)
    print(f"{'attack':36}{'answer':>7}{'ms':>9}   longest waits of another thread, ms")
    for name, attack in attacks().items():
        if only in name:
            serve_request(cluster.engine, request_of(attack))  # loads modules
            status, taken, waits = measured(cluster, request_of(attack))
            print(f"{name:36}{status:7}{1000 * taken:9.1f}   {' '.join(f'{1000 * each:.1f}' for each in waits)}")
    return 0


def request_of(attack: Attack) -> Request:
    """The request of an attack."""
    headers = {name.lower(): value for name, value in attack.headers.items()}
    if attack.known:
        headers["authorization"] = "Bearer root"
    if attack.body:
        headers.setdefault("content-type", "application/json")
    return Request.of(attack.method, attack.path, attack.body or None, headers=headers)


def measured(cluster: Cluster, request: Request) -> tuple[int, float, list[float]]:
    """The status of a request, its processor seconds, and the longest waits of this thread."""
    found: list[tuple[Response, float]] = []

    def work() -> None:
        began = time.thread_time()
        response = within(Deadline(60), partial(serve_request, cluster.engine, request))
        found.append((response, time.thread_time() - began))

    thread, waits = threading.Thread(target=work), list[float]()
    thread.start()
    last = time.process_time()
    while thread.is_alive():
        time.sleep(0.0005)
        now = time.process_time()
        waits.append(now - last)
        last = now
    return found[0][0].status, found[0][1], sorted(waits, reverse=True)[:SHOWN]


if __name__ == "__main__":
    sys.exit(main())

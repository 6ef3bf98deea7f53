"""A cluster served by a process of its own, for measurements that need more than ``simkit serve`` offers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

TOKEN = "bench-token"
Beside = Callable[[object, threading.Event], None]
"""Something that a thread does with the cluster until the event comes."""


def serve_until_closed(folder: Path, storage: str = "memory", *, beside: Sequence[Beside] = ()) -> None:
    """Serve a cluster whose administrator has a token; print the port, and end when standard input does."""
    from simkit.cluster.cluster import Cluster
    from simkit.cluster.options import Options
    from simkit.engine.authn.token_sources import StaticTokens
    from simkit.meta.identity import MASTERS, Identity
    from simkit.meta.python_gc import collect_seldom

    tokens = StaticTokens({TOKEN: Identity("bench", (MASTERS,))})
    cluster = Cluster(options=Options(storage=storage, authenticators=(tokens,)))
    collect_seldom()
    over = threading.Event()
    server = cluster.serve(kubeconfig=folder / "kubeconfig")
    threads = [threading.Thread(target=each, args=(cluster, over)) for each in beside]
    for thread in threads:
        thread.start()
    print(server.url.rpartition(":")[2], flush=True)
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()
    server.stop()

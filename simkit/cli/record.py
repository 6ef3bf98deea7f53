"""``simkit record``: watches a running cluster and writes what changes as a trace."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Timer

from simkit.cli.flag_types import seconds
from simkit.cli.notes import complain, note

DESCRIPTION = "Watches a running cluster and writes its changes to a trace that simkit can replay."
EXAMPLES = """\
examples:
  simkit record --context prod --to prod.trace --for 10m
  simkit record deployments configmaps --context '' --to changes.json      # until Ctrl-C, as JSON
  simkit upgrade --from 1.30 --to 1.33 --trace prod.trace                  # what ends differently at 1.33

A trace begins with the objects that are there. It has what people and programs write and delete, not what controllers
make for other objects, and not the status. Of secrets only the keys are kept. The format is that of SimKube; a file
that ends in .json is written as JSON. It needs: pip install "kube-simkit[live]"

Exit code: 0 if everything was recorded, 1 if the server refused a resource, 2 for wrong use.
"""
REFUSED = 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "resource",
        nargs="*",
        default=[],
        metavar="RESOURCE",
        help="record only these resources, by plural name (default: all)",
    )
    parser.add_argument("--to", type=Path, required=True, metavar="FILE", help="the file to write the trace to")
    parser.add_argument(
        "--for", dest="seconds", type=seconds, metavar="TIME", help="how long to watch, such as 30s or 1h"
    )
    parser.add_argument(
        "--context", default="", metavar="NAME", help="the context of the kubeconfig (default: the current one)"
    )
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="the kubeconfig (default: as kubectl finds it)")


def run(args: argparse.Namespace) -> int:
    """Record until the time is over or somebody interrupts, and return the exit code."""
    from simkit.analysis.upgrade.trace_files import write_trace
    from simkit.analysis.upgrade.trace_recording import record_trace
    from simkit.snapshot.live import LiveCluster

    live, refused, ended = LiveCluster(args.context, args.kubeconfig), list[str](), Event()
    timer = Timer(args.seconds or 0, ended.set)

    def started(objects: int) -> None:
        until = "; Ctrl-C ends it" if args.seconds is None else f" for {args.seconds:g} seconds"
        note(f"{objects:,} objects of {live.server}; recording{until}")
        if args.seconds is not None:
            timer.start()

    with ended_by_signals(ended):
        trace = record_trace(live, args.resource, ended=ended, refused=refused.append, started=started)
    timer.cancel()
    write_trace(trace, args.to)
    for told in refused:
        complain(told)
    applied, deleted = sum(len(each.applied) for each in trace), sum(len(each.deleted) for each in trace)
    note(f"wrote {applied:,} writes and {deleted:,} deletions to {args.to}")
    return REFUSED if refused else 0


@contextmanager
def ended_by_signals(ended: Event) -> Iterator[None]:
    """A context in which the signals that end a process set an event instead."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(one, lambda *_: ended.set()) for one in signals]
    try:
        yield
    finally:
        for one, handler in zip(signals, before):
            signal.signal(one, handler)

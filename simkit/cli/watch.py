"""``simkit watch``: follows a running cluster, and reports what each write changes for access."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from textwrap import shorten
from threading import Event, Timer
from typing import TYPE_CHECKING, Final

import orjson

from simkit.analysis.rendering import first_of
from simkit.cli import limits
from simkit.cli.flag_types import seconds
from simkit.cli.notes import complain, note
from simkit.cli.source import add_cloud, add_members, read_members
from simkit.meta.distribution import VERSION
from simkit.present.escaping import json_for_terminal, terminal_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simkit.analysis.history.follow import AccessEvent
    from simkit.seams.caveats import Caveat
from queue import Empty, Full, Queue
from threading import Lock, Thread
from time import monotonic, sleep
from urllib.parse import urlsplit

DESCRIPTION = "Watches a running cluster, and reports what each write grants, which paths it opens, and how to undo it."
EXAMPLES = """\
examples:
  simkit watch                                     # the current context, until Ctrl-C
  simkit watch --context prod --expect access.yaml --for 8h
  simkit watch --audit-log /var/log/kubernetes/audit.log      # on a control plane node: names the users
  simkit watch --webhook https://alerts.example.com/hook

Events are reported within two seconds of the write: permissions granted and removed, escalation paths opened and
closed, expectations broken. -o json writes one event per line; -o ocsf does so as Detection Findings of OCSF 1.3. The
author is the user who sent the write if --audit-log shows it, and the field manager otherwise. --webhook posts each
event as JSON (with -o ocsf as a Detection Finding), tries up to four times, and reports the events that it lost. It
needs: pip install "kube-simkit[live]"

Exit code: 0 at the end, 1 if there was an event of severity high, 2 for wrong use or a server that refuses.
"""
FORMS: Final = ("table", "json", "ocsf")
_MOST: Final = 5
"""The objects and commands of a write that a terminal shows; JSON has all."""
_WIDEST: Final = 160
"""Letters of an event on a terminal."""
_OCSF_SEVERITIES: Final = {"info": 1, "high": 4}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--context", default="", metavar="NAME", help="the context of the kubeconfig (default: current)"
    )
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="the kubeconfig (default: as kubectl finds it)")
    parser.add_argument("--goal", action="append", metavar="GOAL", help="an attacker's goal, as for simkit escalations")
    parser.add_argument("--expect", type=Path, metavar="FILE", help="expectations about access, as for simkit check")
    parser.add_argument("--for", dest="seconds", type=seconds, metavar="TIME", help="how long to watch: 30s or 1h")
    parser.add_argument("--webhook", type=webhook_url, metavar="URL", help="post each event to this URL as JSON")
    parser.add_argument("-o", "--output", choices=FORMS, default="table", help="the format of events (default: table)")
    told = "the audit log that kube-apiserver is writing: names the user of each write"
    parser.add_argument("--audit-log", type=Path, metavar="FILE", help=told)
    add_cloud(parser)
    add_members(parser)


def run(args: argparse.Namespace) -> int:
    """Tell events until the time is over or somebody interrupts, and return the exit code."""
    from simkit.analysis.access.expectations import read_suite
    from simkit.analysis.escalation.find.queries import WELL_KNOWN
    from simkit.analysis.history.follow import follow
    from simkit.meta.python_gc import collect_seldom
    from simkit.snapshot.live import LiveCluster

    live, ended = LiveCluster(args.context, args.kubeconfig), Event()
    timer = Timer(args.seconds or 0, ended.set)

    def started(objects: int, caveats: Sequence[Caveat]) -> None:
        limits.limit(caveats)
        limits.repeat_if_quiet()
        collect_seldom()
        note(f"{objects:,} objects of {live.server}; watching")
        if args.seconds is not None:
            timer.start()

    grave, before = False, None
    with _ended_by_signals(ended), _posted(args.webhook) as post:
        for event in follow(
            live,
            ended=ended,
            started=started,
            refused=complain,
            goals=tuple(args.goal or WELL_KNOWN),
            members=read_members(args),
            expectations=read_suite(args.expect) if args.expect else None,
            cloud=args.cloud or None,
            audit_log=args.audit_log,
        ):
            sys.stdout.write(_table_lines(event, before) if args.output == "table" else _json_line(event, args.output))
            sys.stdout.flush()
            post(ocsf(event) if args.output == "ocsf" else event.to_dict())
            grave, before = grave or event.severity == "high", event
    timer.cancel()
    return 1 if grave else 0


@contextmanager
def _posted(url: str | None) -> Iterator[Callable[[Mapping[str, object]], None]]:
    """What posts events to a URL as long as the context lasts; without a URL it does nothing."""
    if url is None:
        yield lambda _: None
        return
    webhook = EventWebhook(url, complain)
    try:
        yield webhook.post
    finally:
        webhook.close()


@contextmanager
def _ended_by_signals(ended: Event) -> Iterator[None]:
    """A context in which the signals that end a process set an event instead."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(one, lambda *_: ended.set()) for one in signals]
    try:
        yield
    finally:
        for one, handler in zip(signals, before):
            signal.signal(one, handler)


def _table_lines(event: AccessEvent, before: AccessEvent | None) -> str:
    """An event as a line below its write, which is told once with its time, its author and the way back."""
    lines = []
    if before is None or (before.time, before.objects) != (event.time, event.objects):
        at = f"{datetime.fromtimestamp(event.time).astimezone():%H:%M:%S}"
        author = f", written by {event.author}" if event.author else ""
        lines += [f"{at} {first_of(event.objects, _MOST)}{author}", *(f"  undo: {one}" for one in event.undo[:_MOST])]
    told = ": ".join(filter(None, (event.subject, event.what)))
    lines.append(f"  {event.kind}: {shorten(told, _WIDEST, placeholder=' ...')}")
    return terminal_text("".join(f"{line}\n" for line in lines))


def _json_line(event: AccessEvent, form: str) -> str:
    """An event as JSON on a line."""
    return json_for_terminal(orjson.dumps(event.to_dict() if form == "json" else ocsf(event)).decode()) + "\n"


def ocsf(event: AccessEvent) -> dict[str, object]:
    """An event as a Detection Finding (class 2004) of OCSF 1.3."""
    severity = _OCSF_SEVERITIES[event.severity]
    milliseconds = int(event.time * 1000)
    return {
        "category_uid": 2,
        "class_uid": 2004,
        "type_uid": 200401,
        "activity_id": 1,
        "severity_id": severity,
        "time": milliseconds,
        "message": str(event),
        "status_id": 1,
        "metadata": {"version": "1.3.0", "product": {"name": "simkit", "vendor_name": "simkit", "version": VERSION}},
        "finding_info": {
            "uid": f"{event.kind}:{event.subject}:{event.what}",
            "title": event.kind,
            "created_time": milliseconds,
            "desc": event.what,
        },
        "resources": [{"name": name, "type": name.split(" ")[0]} for name in event.objects],
        "actor": {"user": {"name": event.author or "unknown"}},
        **({"remediation": {"desc": "; ".join(event.undo)}} if event.undo else {}),
        **({"unmapped": {"caveats": list(event.caveats)}} if event.caveats else {}),
    }


_TIMEOUT: Final = 5.0
"""Seconds that an attempt may take."""
_PAUSES: Final = (1.0, 2.0, 4.0)
"""Seconds before further attempts."""
_MOST_WAITING: Final = 10_000
_AT_END: Final = 15.0
"""Seconds for which events that wait are still posted at the end."""
_LARGEST_ANSWER: Final = 1 << 20
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")
_LATER: Final = frozenset((408, 429))


def webhook_url(text: str) -> str:
    """A URL to post to: https, or http on the machine itself."""
    try:
        parts = urlsplit(text)
        known = parts.hostname and (parts.port is None or parts.port)
    except ValueError:
        known = False
    if not known or not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOCAL)):
        raise argparse.ArgumentTypeError(f"{text!r} is no URL that begins with https:// (or http://localhost)")
    if parts.username or parts.password or any(letter.isspace() or not letter.isprintable() for letter in text):
        raise argparse.ArgumentTypeError("the URL of a webhook has no user name, no password and no spaces")
    return text


class EventWebhook:
    """Posts events in their order, from a thread of its own, and tells which were lost.

    Parameters
    ----------
    url
        As ``webhook_url`` gives it. Certificates are verified, and redirects are not followed.
    complain
        Called with a sentence for each event that was lost.

    Notes
    -----
    An event is posted again after 1, 2 and 4 seconds if there was no answer, or one that asks for patience (408, 429,
    5xx). Beyond 10,000 events that wait, further ones are lost.
    """

    def __init__(self, url: str, complain: Callable[[str], object]) -> None:
        self._url, self._complain, self.lost, self._lock = urlsplit(url), complain, 0, Lock()
        self._waiting, self._ended, self._until = Queue[bytes](_MOST_WAITING), Event(), float("inf")
        self._thread = Thread(target=self._run, daemon=True, name="simkit-webhook")
        self._thread.start()

    def post(self, event: Mapping[str, object]) -> None:
        """Post an event soon."""
        try:
            self._waiting.put_nowait(orjson.dumps(event))
        except Full:
            self._lose("too many events wait for the webhook")

    def close(self) -> None:
        """Post what waits for at most 15 seconds more, and tell how many events were lost in all."""
        self._until = monotonic() + _AT_END
        self._ended.set()
        self._thread.join(_AT_END + _TIMEOUT)
        self.lost += self._waiting.qsize()
        if self.lost:
            self._complain(f"{self.lost:,} events in all were not delivered to the webhook")

    def _run(self) -> None:
        while not (self._ended.is_set() and self._waiting.empty()) and monotonic() < self._until:
            try:
                body = self._waiting.get(timeout=0.2)
            except Empty:
                continue
            self._deliver(body)

    def _deliver(self, body: bytes) -> None:
        for pause in (*_PAUSES, None):
            problem, again = self._attempt(body)
            if not problem:
                return
            if not again or pause is None or monotonic() + pause > self._until:
                break
            sleep(pause)
        self._lose(problem)

    def _attempt(self, body: bytes) -> tuple[str, bool]:
        """What went wrong, empty for nothing, and whether another attempt may go better."""
        from simkit.engine.egress.peer import fetch
        from simkit.engine.egress.policy import Peer, Unreachable

        url, host, tls = self._url, self._url.hostname or "", self._url.scheme == "https"
        peer = Peer(host, url.port or (443 if tls else 80), host, tls=tls)
        target = f"{url.path or '/'}{'?' if url.query else ''}{url.query}"
        headers = {"Host": url.netloc, "Content-Type": "application/json", "Content-Length": str(len(body))}
        try:
            status, _, _ = fetch(peer, "POST", target, headers, body, timeout=_TIMEOUT, most=_LARGEST_ANSWER)
        except Unreachable as error:
            return str(error), True
        if 200 <= status < 300:
            return "", False
        return f"the webhook answered {status}", status >= 500 or status in _LATER

    def _lose(self, reason: str) -> None:
        with self._lock:
            self.lost += 1
            self._complain(f"an event was not delivered to the webhook: {reason} ({self.lost:,} lost)")

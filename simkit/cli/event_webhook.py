"""Events that are posted to a URL as JSON, with bounds on waiting and on what waits."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from queue import Empty, Full, Queue
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import Final
from urllib.parse import urlsplit

import orjson

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

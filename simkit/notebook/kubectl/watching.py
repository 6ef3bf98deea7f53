"""kubectl get --watch, for a while: a cell has to end.

Upstream: k8s.io/kubectl/pkg/cmd/get/get.go, release 1.32.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from simkit.meta.clock import SystemClock
from simkit.meta.domain import META_GROUP
from simkit.notebook.kubectl.client import Client, KubectlError
from simkit.notebook.kubectl.printing import object_text, table_rows, without_managed_fields
from simkit.notebook.kubectl.selection import Selected, title
from simkit.notebook.kubectl.waiting import seconds_of

TABLE: Final = f"application/json;as=Table;v=v1;g={META_GROUP},application/json"
"""The media types of an answer as a Table, or as it is."""
_PADDING: Final = 3
_SECONDS: Final = "10s"
"""The time of a watch unless ``--request-timeout`` says otherwise."""
_STEP: Final = 1.0
_PAUSE: Final = 0.05
"""Seconds by which a simulated clock is turned between two looks, and seconds between them on the machine's clock."""


def watched(client: Client, chosen: list[Selected], args: Namespace) -> str:
    """The present objects, and a row for each change within the time of ``--request-timeout``, 10 seconds by default.

    A simulated clock is turned by that time, so that simulated nodes and controllers do their work; else the time is
    waited for. Raises KubectlError for several kinds or names.
    """
    if len(chosen) != 1:
        raise KubectlError("error: you may only specify a single resource type")
    [one] = chosen
    seconds = seconds_of(args.request_timeout, _SECONDS, "--request-timeout")
    space = "" if args.all_namespaces or not one.resource.namespaced else one.namespace or client.namespace
    query = {"labelSelector": args.selector, "fieldSelector": args.field_selector}
    query = {name: text for name, text in query.items() if text}
    if one.name:
        client.ask("GET", client.path(one.resource, space, one.name))
        query["fieldSelector"] = f"metadata.name={one.name}"
    path = client.path(one.resource, space)
    as_table = args.output in ("", "wide")
    accept = TABLE if as_table else "application/json"
    first = client.ask("GET", path, query=query, accept=accept).object
    started = {**query, "watch": "true", "resourceVersion": first["metadata"]["resourceVersion"]}
    stream = client.ask("GET", path, query=started, accept=accept).stream
    writer = _Rows(args, one) if as_table else _Documents(args, one)
    lines = [] if args.watch_only else list(writer.beginning(first))
    try:
        for frame in _frames(client, stream, seconds):
            lines += writer.event(frame["object"])
    finally:
        stream.close()
    return "".join(lines)


def _frames(client: Client, stream: Any, seconds: float) -> Iterator[Mapping[str, Any]]:
    """The events of a stream until the time is over."""
    waited, steps_of_clock = 0.0, not isinstance(client.cluster.clock, SystemClock)
    while True:
        client.cluster.settle()
        while frames := stream.poll():
            yield from (orjson.loads(each) for each in frames)
        if waited >= seconds:
            return
        step = min(_STEP if steps_of_clock else _PAUSE, seconds - waited)
        if steps_of_clock:
            client.cluster.advance(step)
        else:
            time.sleep(step)
        waited += step


class _Rows:
    """Rows of a table whose columns keep their widths, and grow with longer texts."""

    def __init__(self, args: Namespace, one: Selected) -> None:
        self._args, self._one = args, one
        self._widths: list[int] = []
        self._heads = not args.no_headers
        self._columns: list[Any] = []

    def beginning(self, table: Mapping[str, Any]) -> Iterator[str]:
        """The lines of the present objects; none if there are none."""
        if table.get("rows"):
            yield from self.event(table)

    def event(self, table: Mapping[str, Any]) -> Iterator[str]:
        """The lines of a table with what has changed, under the heads the first time."""
        self._columns = table.get("columnDefinitions") or self._columns
        rows = table_rows(
            {**table, "columnDefinitions": self._columns},
            wide=self._args.output == "wide",
            namespaces=self._args.all_namespaces and self._one.resource.namespaced,
            labels=self._args.show_labels,
            columns=[name for each in self._args.label_columns for name in each.split(",")],
            prefix=title(self._one.resource, "").rstrip("/") if self._args.show_kind else "",
            heads=self._heads,
        )
        self._heads = False
        for place in range(max(map(len, rows), default=1) - 1):
            longest = max(len(row[place]) for row in rows) + _PADDING
            if place < len(self._widths):
                self._widths[place] = max(self._widths[place], longest)
            else:
                self._widths.append(longest)
        for row in rows:
            yield "".join(text.ljust(width) for text, width in zip(row, self._widths)) + f"{row[-1]}\n"


class _Documents:
    """Objects in the form of ``-o name``, ``yaml`` or ``json``."""

    def __init__(self, args: Namespace, one: Selected) -> None:
        self._args, self._one, self._begun = args, one, False

    def beginning(self, found: Mapping[str, Any]) -> Iterator[str]:
        """The present objects."""
        kinds = {"apiVersion": self._one.resource.api_version, "kind": self._one.resource.kind}
        for item in found["items"]:
            yield from self.event({**kinds, **item})

    def event(self, obj: Mapping[str, Any]) -> Iterator[str]:
        """One object."""
        if self._args.output == "name":
            yield f"{title(self._one.resource, obj['metadata']['name'])}\n"
            return
        if self._begun and self._args.output == "yaml":
            yield "---\n"
        self._begun = True
        yield object_text(without_managed_fields(obj), self._args.output)

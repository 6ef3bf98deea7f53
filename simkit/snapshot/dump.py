"""The result of a load: objects, the captured resources, and the problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from simkit.meta.names import GroupResource, Key
from simkit.meta.objects import Object
from simkit.meta.visible_text import html_text
from simkit.seams.authorization import Authorization
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.report import PLACED, Problem
from simkit.snapshot.resources import ResourceIndex

_SHOWN: Final = 8
"""The most resources and problems in a short description."""


@dataclass(frozen=True, eq=False)
class Dump:
    """The objects of a source, with what was captured and what could not be read.

    Iterating gives the objects in the order of the source. ``keyed`` holds them by resource, namespace and name; of an
    object that stands in the source twice, the later one counts. ``origins`` has the file and line of each, and
    ``problems`` what could not be read.
    """

    keyed: Mapping[Key, Object]
    captured: frozenset[GroupResource]
    """The resources of which the dump has all objects, as far as it shows or the user says."""
    problems: Sequence[Problem]
    index: ResourceIndex
    origins: Mapping[Key, tuple[str, int | None]]
    withheld: int = 0
    """The number of secrets without their values."""
    server_release: str = ""
    """The release of the server, where the dump tells it: ``1.33``."""
    stated: Authorization | None = None
    """The authorizers of the server, where the user says them."""

    @property
    def release(self) -> str:
        """The release whose kinds were used for reading."""
        return self.index.release

    @property
    def objects(self) -> tuple[Object, ...]:
        """The objects in the order of the source, in their original versions."""
        return tuple(self.keyed.values())

    @property
    def counts(self) -> dict[GroupResource, int]:
        """The number of objects of each resource; 0 for captured resources without objects."""
        found = Counter(key.resource for key in self.keyed)
        stored = {self.index.stored(resource) for resource in self.captured}
        return {resource: found[resource] for resource in sorted({*found, *stored})}

    @property
    def lost(self) -> tuple[Problem, ...]:
        """The problems that kept something out of the dump."""
        return tuple(problem for problem in self.problems if problem.weight == "lost")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What an answer may depend on: what was not read, or read otherwise than written.

        Objects that got the namespace of those that name none are left out.
        """
        kept = (one for one in self.problems if one.weight != "note")
        return tuple(one for one in kept if not one.hint.startswith(PLACED))

    @cached_property
    def authorization(self) -> Authorization:
        """The authorizers of the server: as the user says, or as the objects show them."""
        if self.stated is None:
            return self.snapshot().authorization
        return replace(self.stated, unread=len(self.lost))

    def snapshot(self) -> MemorySnapshot:
        """The dump as a snapshot: in the preferred versions of its release."""
        return self._snapshot

    @cached_property
    def _snapshot(self) -> MemorySnapshot:
        values, captured = self.keyed.values(), self.captured
        return MemorySnapshot(
            values, captured=captured, index=self.index, authorization=self.stated, unread=len(self.lost)
        )

    def __iter__(self) -> Iterator[Object]:
        return iter(self.keyed.values())

    def __len__(self) -> int:
        return len(self.keyed)

    def _headline(self) -> str:
        counts = self.counts
        return f"{len(self):,} objects of {len(counts)} resources, read as release {self.release}"

    def _remarks(self) -> list[str]:
        remarks = []
        if self.withheld:
            remarks.append(f"the values of {self.withheld:,} secrets were left out (secrets=True keeps them)")
        for weight, words in (("lost", "not read"), ("changed", "read otherwise than written"), ("note", "to know")):
            count = sum(problem.weight == weight for problem in self.problems)
            if count:
                remarks.append(f"{count:,} {words}")
        return remarks

    def _shown_problems(self) -> list[str]:
        order = ("lost", "changed", "note")
        ranked = sorted(self.problems, key=lambda problem: order.index(problem.weight))
        more = len(ranked) - _SHOWN
        return [str(problem) for problem in ranked[:_SHOWN]] + ([f"... and {more:,} more"] if more > 0 else [])

    def __repr__(self) -> str:
        largest = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        shown = ", ".join(f"{count:,} {resource.resource}" for resource, count in largest[:_SHOWN])
        more = f", and {len(largest) - _SHOWN} resources more" if len(largest) > _SHOWN else ""
        lines = [f"<Dump: {self._headline()}", f"  {shown}{more}" if shown else "", *self._lines()]
        return "\n".join(filter(None, lines)) + ">"

    def _lines(self) -> list[str]:
        return [f"  {text}" for text in self._remarks()] + [f"    {text}" for text in self._shown_problems()]

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html_text(resource.resource)}</td><td>{html_text(resource.group)}</td><td>{count:,}</td></tr>"
            for resource, count in self.counts.items()
        )
        table = f"<table><tr><th>resource</th><th>group</th><th>objects</th></tr>{rows}</table>"
        remarks = "".join(f"<li>{html_text(text)}</li>" for text in self._remarks())
        problems = "".join(f"<li><code>{html_text(text)}</code></li>" for text in self._shown_problems())
        return (
            f"<p><b>{html_text(self._headline())}</b></p><ul>{remarks}</ul><ul>{problems}</ul>"
            f"<details><summary>by resource</summary>{table}</details>"
        )

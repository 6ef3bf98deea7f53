"""Finds the next difference from another server by itself: ``python -m tests.conformance.compare URL``.

Random conversations (``random_steps``) are held with the server and with simkit. One in which answers differ is made
as short as it can be while they still do, and written as a case file, with the other server's answers as the expected
ones: ``python -m tests.conformance.replay --cases FOLDER`` repeats it. Of each kind of difference one case is kept.
The server must know the tokens of ``inprocess.TOKENS``; its namespaces with random names are left behind.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import ssl
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import simkit
from simkit.meta.objects import Object
from simkit.schema.catalogue import Catalogue
from tests.conformance import inprocess
from tests.conformance.compare import representatives
from tests.conformance.conversation import (
    Answer,
    Case,
    Server,
    Step,
    asked,
    compared_parts,
    parsed_body,
    recorded,
    saved,
)
from tests.conformance.differences import Normalizer, differences
from tests.conformance.random_access import RandomAccess
from tests.conformance.random_custom import RandomCustom
from tests.conformance.random_edits import RandomEdits
from tests.conformance.random_reads import KINDS, RandomReads
from tests.conformance.random_recorded import RandomRecorded
from tests.conformance.random_steps import NAMESPACE, RandomSteps
from tests.conformance.replay import OverHttp

_NUMBERS: Final = re.compile(r"\d+")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_IGNORED: Final = ("body.metadata.managedFields",)
_MOMENTARY: Final = (
    (re.compile(b"\xc2\xa0"), b" "),
    (re.compile(rb"time\.Date\(20[^)]*\)"), b"time.Date(#)"),
    (re.compile(rb"\b10\.96\.\d+\.\d+"), b"10.96.#"),
    (re.compile(rb'"(nodePort|healthCheckNodePort)":3\d{4}\b'), rb'"\1":30000'),
    (re.compile(rb"\b(\d+):3\d{4}/(TCP|UDP|SCTP)"), rb"\1:30000/\2"),
    (re.compile(rb"in record \(\d+\)"), b"in record (#)"),
    (re.compile(rb"\(0x[0-9a-f]{8,}\)"), b"(0xc000000000)"),
    (re.compile(rb'(\\+"resourceVersion\\+":\\+")\d+'), rb"\1#"),
    (re.compile(rb"(ResourceVersion in object meta: )\d+"), rb"\1#"),
    (re.compile(rb"/abs[bcdfghjklmnpqrstvwxz2456789]{5}\b"), b"/abs#"),
    (re.compile(rb"\bselfType\d+"), b"selfType#"),
    (re.compile(rb"[-:][bcdfghjklmnpqrstvwxz2456789]{5}\b"), b"-#"),
    (re.compile(rb'(in scheme \\")[^"\\]*'), rb"\1#"),
)
"""Revisions, addresses of memory, random suffixes and places in the build in messages: others on each server."""
_AGE: Final = re.compile(r"<invalid>|(\d+[smhdy])+")
_MOST_TRIES: Final = 60


class Found(NamedTuple):
    """A conversation, the step whose answers differ first, how they do, and all answers of the other server."""

    steps: Sequence[Step]
    number: int
    told: Sequence[str]
    answers: Sequence[Mapping[str, Any]]


class Explorer:
    """Two servers that are asked the same.

    Parameters
    ----------
    wording
        Whether answers must agree in the words of their messages too.
    """

    def __init__(self, theirs: Server, ours: Server, *, wording: bool = True) -> None:
        self._theirs, self._ours, self._wording = theirs, ours, wording
        self._held = 0
        self.requests = 0

    def difference(self, steps: Sequence[Step]) -> Found | None:
        """The first difference in a conversation, or None."""
        return next(self.all_differences(steps), None)

    def all_differences(self, steps: Sequence[Step]) -> Iterator[Found]:
        """The differences in a conversation, held under a name that nobody had before.

        It ends where one server does what the other one refuses: what follows differs for that reason.
        """
        self._held += 1
        digest = hashlib.sha256(f"{id(self)}{self._held}{json.dumps(steps)}".encode()).hexdigest()
        stamp = f"a{digest[:9]}"
        sides = [(server, Normalizer({stamp: "<unique>"}), {"unique": stamp}) for server in (self._theirs, self._ours)]
        answers: list[Mapping[str, Any]] = []
        for number, step in enumerate(steps):
            if "sleep" in step:
                for server, *_ in sides:
                    server.wait(step["sleep"])
                answers.append({})
                continue
            self.requests += 1
            try:
                theirs, ours = (_answered(*side, step) for side in sides)
            except (ConnectionError, ssl.SSLEOFError):  # what kube-apiserver does where a request makes it fail
                return
            answers.append(theirs)
            told = list(differences(theirs, ours, soft=not self._wording))
            if told:
                yield Found(steps, number, told, list(answers))
            if theirs.get("status") != ours.get("status"):
                return

    def shrunk(self, found: Found) -> Found:
        """The shortest conversation that shows the same kind of difference."""
        wanted, tries = signature(found), 0
        smaller = True
        while smaller and tries < _MOST_TRIES:
            smaller = False
            for steps in _smaller(found.steps[: found.number + 1]):
                tries += 1
                again = next((each for each in self.all_differences(steps) if signature(each) == wanted), None)
                if again is not None:
                    found, smaller = again, True
                    break
                if tries >= _MOST_TRIES:
                    break
        return found


def without_moments(text: bytes) -> bytes:
    """A text with markers in place of revisions, generated names, assigned addresses and the like."""
    for pattern, marker in _MOMENTARY:
        text = pattern.sub(marker, text)
    return text


def _answered(server: Server, normalize: Normalizer, variables: dict[str, str], step: Step) -> Mapping[str, Any]:
    body = step.get("body")
    if body is not None and not isinstance(body, str):  # without spaces, which objects of any kind would keep
        step = {**step, "body": json.dumps(body, separators=(",", ":"))}
    answer: Answer = asked(server, step, variables)
    variables.update(saved(step, parsed_body(answer.body)))
    body = _without_ages(parsed_body(without_moments(answer.body)))
    return compared_parts({**step, "ignore": step.get("ignore", ())}, answer, _sorted(body), normalize)


def _sorted(value: Any) -> Any:
    """A value whose lists of owners, of rules and of conflicts are sorted: they are in the order of seconds and of Go's maps."""
    if isinstance(value, list):
        return list(map(_sorted, value))
    if not isinstance(value, dict):
        return value
    made = {name: _sorted(item) for name, item in value.items()}
    for name, key in _ORDERS.items():
        if isinstance(made.get(name), list):
            made[name] = sorted(made[name], key=key)
    return made


def _owner(entry: Any) -> list[str]:
    shown = entry if isinstance(entry, dict) else {}
    return [str(shown.get(name, "")) for name in ("manager", "operation", "apiVersion", "subresource")]


def _conflict(cause: Any) -> list[str]:
    """The key of a cause: conflicts of an apply stand in the order of a map of managers, other causes as they stood."""
    conflict = isinstance(cause, dict) and cause.get("reason") == "FieldManagerConflict"
    return [str(cause.get("field")), str(cause.get("message"))] if conflict else []


def _without_ages(body: Any) -> Any:
    """A body, or the events of a watch, with markers in the place of ages in tables."""
    if not isinstance(body, dict):
        return body
    if isinstance(body.get("stream"), list):
        return {**body, "stream": list(map(_without_ages, body["stream"]))}
    if isinstance(body.get("object"), dict):
        shown = _without_ages(body["object"])
        if body.get("type") == "BOOKMARK":  # of the moment, in which others may have written
            shown = {**shown, "metadata": {**shown["metadata"], "resourceVersion": "<now>"}}
        return {**body, "object": shown}
    if body.get("kind") == "Table":
        rows = [{**row, "cells": list(map(_without_age, row["cells"]))} for row in body.get("rows") or ()]
        return {**body, "rows": rows}
    return body


def _without_age(cell: Any) -> Any:
    """A cell of a table, with a marker in the place of an age."""
    return "<age>" if isinstance(cell, str) and _AGE.fullmatch(cell) else cell


_ORDERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "causes": _conflict,
    "managedFields": _owner,
    "resourceRules": json.dumps,
    "nonResourceRules": json.dumps,
}


def _smaller(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """The conversation without one of its steps, and with less in its last body."""
    for number in range(len(steps) - 1):
        yield [*steps[:number], *steps[number + 1 :]]
    *before, last = steps
    path, _, options = str(last["path"]).partition("?")
    if options and last["method"] != "DELETE":  # without its selector it would delete what others need
        yield [*before, {**last, "path": path}]
    if isinstance(last.get("body"), Mapping):
        for body in _less(last["body"]):
            yield [*before, {**last, "body": body}]


def _less(value: Any) -> Iterator[Any]:
    """A value without one of its parts, the larger parts first."""
    if isinstance(value, Mapping):
        for key in value:
            if key not in ("apiVersion", "kind", "metadata", "name", "namespace"):
                yield {name: item for name, item in value.items() if name != key}
        for key, item in value.items():
            for less in _less(item):
                yield {**value, key: less}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if len(value) > 1:
                yield [*value[:index], *value[index + 1 :]]
            for less in _less(item):
                yield [*value[:index], less, *value[index + 1 :]]


def signature(found: Found) -> str:
    """The sort of a difference: its method, its place and its text, without names and numbers."""
    method = found.steps[found.number]["method"]
    return f"{method} {_NUMBERS.sub('#', _QUOTED.sub('…', found.told[0]))}"[:200]


def case_of(found: Found) -> Mapping[str, Any]:
    """The conversation as a case file has it."""
    pairs = zip(found.steps, found.answers, strict=False)
    return {"steps": [{**step, "ignore": list(_IGNORED), "expect": answer} for step, answer in pairs]}


def explore(
    explorer: Explorer, release: str, *, seed: int, rounds: int, only: Collection[str] = (), edits: bool = False
) -> Iterator[tuple[str, Found]]:
    """New kinds of differences with the kind of object they were found with, over some rounds of all or some kinds.

    ``edits``: several managers write each object in many ways, with random parts of it changed.
    """
    catalogue, seen = Catalogue.for_release(release), set[str]()
    kinds = {key: each for key, each in objects_by_kind(catalogue).items() if not only or key[1] in only}
    for number in range(rounds):
        for (version, kind), objects in kinds.items():
            mark = f"{seed} {number} {version} {kind}"
            obj = Random(mark).choice(objects)
            made = RandomEdits(catalogue, obj, objects, mark) if edits else RandomSteps(catalogue, obj, mark)
            yield from _new(explorer, kind, list(made.steps()), seen)


def explore_reads(
    explorer: Explorer, *, seed: int, rounds: int, only: Collection[str] = ()
) -> Iterator[tuple[str, Found]]:
    """The same as ``explore`` with lists and watches as of any moment of some writes."""
    seen = set[str]()
    for number in range(rounds):
        for resource in KINDS:
            if not only or resource in only:
                steps = list(RandomReads(resource, f"{seed} {number} {resource}").steps())
                yield from _new(explorer, resource, steps, seen)


def explore_custom(explorer: Explorer, *, seed: int, rounds: int) -> Iterator[tuple[str, Found]]:
    """The same as ``explore`` with custom kinds of random schemas."""
    seen = set[str]()
    for number in range(rounds):
        yield from _new(explorer, "custom", list(RandomCustom(f"{seed} {number}").steps()), seen)


def explore_access(explorer: Explorer, *, seed: int, rounds: int) -> Iterator[tuple[str, Found]]:
    """The same as ``explore`` with what users with random roles may do."""
    seen = set[str]()
    for number in range(rounds):
        yield from _new(explorer, "access", list(RandomAccess(f"{seed} {number}").steps()), seen)


def explore_recorded(
    explorer: Explorer, release: str, *, seed: int, rounds: int, only: Collection[str] = ()
) -> Iterator[tuple[str, Found]]:
    """The same as ``explore`` with recorded conversations of some areas in which a little was changed."""
    seen = set[str]()
    for number in range(rounds):
        for area, cases in recorded(release).items():
            for case in cases if not only or area in only else ():
                steps = list(RandomRecorded(case, f"{seed} {number} {case.name}").steps())
                yield from _new(explorer, area, steps, seen)


def _new(explorer: Explorer, kind: str, steps: Sequence[Step], seen: set[str]) -> Iterator[tuple[str, Found]]:
    """The differences in a conversation of a sort that was not seen before, as short as they can be."""
    for found in list(explorer.all_differences(steps)):
        mark = f"{kind} {signature(found)}"
        if mark not in seen:
            seen.add(mark)
            yield kind, explorer.shrunk(found)


def objects_by_kind(catalogue: Catalogue) -> Mapping[tuple[str, str], Sequence[Object]]:
    """Valid objects by apiVersion and kind: those of the demo, and those whose creation succeeded in a recording."""
    dump = simkit.demo().dump
    assert dump is not None
    found: dict[tuple[str, str], list[Object]] = {}
    for obj in (*representatives(list(dump.objects)), *_written_objects(), *_recorded_objects()):
        if _served(catalogue, obj):
            found.setdefault((str(obj["apiVersion"]), str(obj["kind"])), []).append(obj)
    return found


def _written_objects() -> Sequence[Object]:
    """The objects of kinds that the demo and the recordings lack, and some that use rare fields."""
    found: Sequence[Object] = json.loads(Path(__file__).with_name("objects.json").read_text())
    return found


def _recorded_objects() -> Iterator[Object]:
    for bundle in ("1.30", "1.30-more", "1.33", "1.36"):
        for case in (case for cases in recorded(bundle).values() for case in cases):
            for step in case.steps:
                obj: Any = step.get("body")
                made = step.get("expect", {}).get("status") == HTTPStatus.CREATED
                if made and step.get("method") == "POST" and _is_plain(obj):
                    yield {**obj, "metadata": {"name": "x", **obj["metadata"]}}


def _is_plain(obj: Any) -> bool:
    """True if it is an object that uses nothing of earlier answers."""
    whole = isinstance(obj, Mapping) and {"apiVersion", "kind", "metadata"} <= {*obj}
    return whole and "{{" not in json.dumps(obj).replace(NAMESPACE, "")


def _served(catalogue: Catalogue, obj: Mapping[str, Any]) -> bool:
    from simkit.meta.names import GroupVersionKind
    from simkit.meta.objects import group_version_of

    return catalogue.kind(GroupVersionKind(*group_version_of(obj), str(obj["kind"]))) is not None


def main(arguments: Sequence[str]) -> int:
    """Explore, write the cases, and tell each difference in a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "url", help="where the server is, such as https://127.0.0.1:6443; its certificate is not checked"
    )
    parser.add_argument("--release", default="1.30", help="the release of the server (1.30)")
    parser.add_argument("--seed", type=int, default=0, help="other conversations for another seed (0)")
    parser.add_argument("--rounds", type=int, default=10, help="conversations about each kind (10)")
    parser.add_argument(
        "--disable-admission-plugins", default="", help="admission plugins that the server does not have, with commas"
    )
    parser.add_argument("--kinds", default="", help="the kinds to ask about, with commas (all)")
    parser.add_argument("--reads", action="store_true", help="list and watch what was written; --kinds are resources")
    parser.add_argument("--access", action="store_true", help="ask what users may do who have random roles")
    parser.add_argument(
        "--recorded", action="store_true", help="change recorded conversations a little; --kinds are areas"
    )
    parser.add_argument("--custom", action="store_true", help="define custom kinds of random schemas")
    parser.add_argument("--edits", action="store_true", help="write objects by several managers, with parts changed")
    parser.add_argument("--soft", action="store_true", help="do not compare the wording of messages")
    parser.add_argument("--cases", type=Path, help="the folder to write case files to")
    chosen = parser.parse_args(arguments)
    count = 0
    without = [name for name in chosen.disable_admission_plugins.split(",") if name]
    bundle = chosen.release if chosen.recorded else f"{chosen.release}-explored"
    with (
        tempfile.TemporaryDirectory() as folder,
        inprocess.serving(Path(folder), bundle, "explore", without) as ours,
    ):
        explorer = Explorer(OverHttp(chosen.url), ours, wording=not chosen.soft)
        only = [name for name in chosen.kinds.split(",") if name]
        settings = {"seed": chosen.seed, "rounds": chosen.rounds, "only": only}
        if chosen.access:
            looked = explore_access(explorer, seed=chosen.seed, rounds=chosen.rounds)
        elif chosen.custom:
            looked = explore_custom(explorer, seed=chosen.seed, rounds=chosen.rounds)
        elif chosen.recorded:
            looked = explore_recorded(explorer, chosen.release, **settings)
        elif chosen.reads:
            looked = explore_reads(explorer, **settings)
        else:
            looked = explore(explorer, chosen.release, edits=chosen.edits, **settings)
        for kind, found in looked:
            count += 1
            step = found.steps[found.number]
            print(f"{kind}: {step['method']} {step['path']}: {'; '.join(found.told[:3])}", flush=True)
            if chosen.cases:
                place = chosen.cases / "explored" / f"{kind.lower()}-{count}.json"
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(json.dumps(case_of(found), indent=1) + "\n")
        print(f"{count} kinds of differences in {explorer.requests} requests", file=sys.stderr)
    return 1 if count else 0


__all__ = ["Case", "Explorer", "Found", "case_of", "explore", "main", "signature"]

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

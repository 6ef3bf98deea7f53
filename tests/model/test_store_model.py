"""Stores against a model that keeps a full copy of every state, over whatever Hypothesis makes up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from simkit.engine.storage import revision_log, state
from simkit.engine.storage.memory import MemoryStore
from simkit.meta.clock import SimulatedClock
from simkit.meta.names import GroupResource, Key, Revision
from simkit.seams import ABSENT, Change, Compacted, Future, Stale, Store
from tests.protocols.sparse_store import SparseStore

pytestmark = pytest.mark.slow

RESOURCES = (GroupResource("", "pods"), GroupResource("apps", "deployments"))
KEYS = st.builds(
    Key,
    st.sampled_from(RESOURCES),
    st.sampled_from(["", "a", "a-b", "a0", "b"]),
    st.sampled_from(["x", "x-y", "x.y", "x0", "é", "z"]),
)
CLOCK_STEPS = st.sampled_from([0.0, 60.0, 200.0, 400.0])
State = dict[Key, tuple[Revision, int]]
"""What a key holds: its revision and the number written into it."""


@dataclass
class Model:
    """All states and changes, copied whole each time."""

    clock: SimulatedClock
    states: dict[Revision, State]
    floor: Revision
    superseded: dict[Revision, float] = field(default_factory=dict)
    steps: list[tuple[str, Key, Revision]] = field(default_factory=list)

    @property
    def revision(self) -> Revision:
        return max(self.states)

    @property
    def state(self) -> State:
        return self.states[self.revision]

    @property
    def oldest(self) -> Revision:
        cutoff = self.clock.now() - 300
        kept = [revision for revision in self.states if self.superseded.get(revision, cutoff + 1) > cutoff]
        return max(self.floor, min(kept))

    def advance(self, kind: str, key: Key, state: State, new: Revision) -> bool:
        """Take in a write that the store has given a revision; whether that is a later one."""
        old = self.revision
        self.superseded[old] = self.clock.now()
        self.states[new] = {at: (new if content[0] == 0 else content[0], content[1]) for at, content in state.items()}
        self.steps.append((kind, key, new))
        return new > old

    def at(self, revision: Revision) -> State:
        """The state at a revision: that of the latest write up to it, since revisions may have gaps."""
        return self.states[max(each for each in self.states if each <= revision)]

    def listed(
        self, at: Revision, resource: GroupResource, namespace: str | None, after: Key | None
    ) -> list[tuple[Key, Revision, int]]:
        found = [
            (key, *content)
            for key, content in self.at(at).items()
            if key.resource == resource and namespace in (None, key.namespace)
        ]
        found.sort(key=lambda row: f"{row[0].namespace}/{row[0].name}")
        start = "" if after is None else f"{after.namespace}/{after.name}"
        return [row for row in found if after is None or f"{row[0].namespace}/{row[0].name}" > start]


@dataclass
class Pair:
    """A store and the model that it must equal."""

    store: Store
    model: Model
    heard: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store.listen(self.heard.extend)

    def expected(self, kind: str, key: Key) -> Revision | None:
        stored = self.model.state.get(key)
        right = ABSENT if stored is None else stored[0]
        return {"any": None, "right": right, "absent": ABSENT, "wrong": Revision(self.model.revision + 7)}[kind]


def as_rows(entries: Any) -> list[tuple[Key, Revision, int]]:
    """Entries as the model lists them."""
    for entry in entries:
        assert entry.object["metadata"]["resourceVersion"] == str(entry.revision)
    return [(entry.key, entry.revision, entry.object["n"]) for entry in entries]


class Stores(RuleBasedStateMachine):
    """Writes, reads, forks, compaction and time, on any of several related stores."""

    pairs = Bundle("pairs")
    make: Callable[[SimulatedClock], Store] = staticmethod(MemoryStore)

    def __init__(self) -> None:
        super().__init__()
        self.clock = SimulatedClock()
        self.all: list[Pair] = []
        self.number = 0

    def _track(self, store: Store, state: State, revision: Revision) -> Pair:
        pair = Pair(store, Model(self.clock, {revision: dict(state)}, revision))
        self.all.append(pair)
        return pair

    @initialize(target=pairs, seeds=st.dictionaries(KEYS, st.sampled_from([None, "3", "17", "x"]), max_size=6))
    def begin(self, seeds: dict[Key, str | None]) -> Pair:
        store = self.make(self.clock)
        given = [
            (key, {"n": 0, "metadata": {} if version is None else {"resourceVersion": version}})
            for key, version in seeds.items()
        ]
        store.seed(given)
        highest = max(
            [self.make(self.clock).revision, *(Revision(int(v)) for v in seeds.values() if v and v.isdigit())]
        )
        state = {
            key: (Revision(int(version)) if version and version.isdigit() else highest, 0)
            for key, version in seeds.items()
        }
        return self._track(store, state, highest)

    @rule(pair=pairs, key=KEYS, expect=st.sampled_from(["any", "right", "absent", "wrong"]))
    def put(self, pair: Pair, key: Key, expect: str) -> None:
        stored, revision = pair.model.state.get(key), pair.expected(expect, key)
        self.number += 1
        if revision is not None and revision != (ABSENT if stored is None else stored[0]):
            with pytest.raises(Stale) as raised:
                pair.store.put(key, {"n": self.number}, expect=revision)
            assert (raised.value.current and raised.value.current.revision) == (stored and stored[0])
            return
        entry = pair.store.put(key, {"n": self.number}, expect=revision)
        kind = "ADDED" if stored is None else "MODIFIED"
        state = {**pair.model.state, key: (Revision(0), self.number)}
        assert pair.model.advance(kind, key, state, entry.revision)

    @rule(pair=pairs, key=KEYS, expect=st.sampled_from(["any", "right", "wrong"]))
    def delete(self, pair: Pair, key: Key, expect: str) -> None:
        stored, revision = pair.model.state.get(key), pair.expected(expect, key)
        if stored is None or revision not in (None, stored[0]):
            with pytest.raises(Stale):
                pair.store.delete(key, expect=revision)
            return
        change = pair.store.delete(key, expect=revision)
        state = {at: content for at, content in pair.model.state.items() if at != key}
        assert pair.model.advance("DELETED", key, state, change.revision)

    @rule(pair=pairs, keys=st.lists(KEYS, max_size=12))
    def write_many(self, pair: Pair, keys: list[Key]) -> None:
        for number, key in enumerate(keys):
            if number % 3 == 2:
                self.delete(pair, key, "right")
            else:
                self.put(pair, key, "right")

    @rule(target=pairs, pair=pairs)
    def fork(self, pair: Pair) -> Pair:
        return self._track(pair.store.fork(), pair.model.state, pair.model.revision)

    @rule(pair=pairs, back=st.integers(-1, 12))
    def compact(self, pair: Pair, back: int) -> None:
        through = Revision(pair.model.revision - back)
        if back < 0:
            with pytest.raises(Future):
                pair.store.compact(through=through)
            return
        pair.store.compact(through=through)
        pair.model.floor = max(pair.model.floor, through)

    @rule(seconds=CLOCK_STEPS)
    def turn_the_clock(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(
        pair=pairs,
        back=st.none() | st.integers(-1, 40),
        resource=st.sampled_from(RESOURCES),
        namespace=st.sampled_from([None, "", "a", "a-b", "none"]),
        after=st.none() | KEYS,
        limit=st.none() | st.integers(0, 5),
    )
    def read(
        self,
        pair: Pair,
        back: int | None,
        resource: GroupResource,
        namespace: str | None,
        after: Key | None,
        limit: int | None,
    ) -> None:
        at = None if back is None else Revision(pair.model.revision - back)
        effective = pair.model.revision if at is None else at
        error = Future if effective > pair.model.revision else Compacted if effective < pair.model.oldest else None
        if error:
            with pytest.raises(error):
                pair.store.scan(resource, namespace, at=at, after=after, limit=limit)
            with pytest.raises(error):
                pair.store.get(Key(resource, "a", "x"), at=at)
            with pytest.raises(error):
                pair.store.changes(after=effective)
            return
        expected = pair.model.listed(effective, resource, namespace, after)[:limit]
        assert as_rows(pair.store.scan(resource, namespace, at=at, after=after, limit=limit)) == expected
        found = [(step.type, step.entry.key, step.revision) for step in pair.store.changes(after=effective)]
        assert found == [step for step in pair.model.steps if step[2] > effective]
        if after is not None:
            entry = pair.store.get(after, at=at)
            stored = pair.model.at(effective).get(after)
            assert (entry and (entry.revision, entry.object["n"])) == stored

    @rule(pair=pairs, resource=st.sampled_from(RESOURCES), backwards=st.booleans())
    def read_all_the_past(self, pair: Pair, resource: GroupResource, backwards: bool) -> None:
        known = sorted((at for at in pair.model.states if at >= pair.model.oldest), reverse=backwards)
        for at in known:
            assert as_rows(pair.store.scan(resource, at=at)) == pair.model.listed(at, resource, None, None)

    @invariant()
    def all_agree(self) -> None:
        for pair in self.all:
            assert (pair.store.revision, pair.store.oldest) == (pair.model.revision, pair.model.oldest)
            assert [(step.type, step.entry.key, step.revision) for step in pair.heard] == pair.model.steps
            for resource in RESOURCES:
                expected = pair.model.listed(pair.model.revision, resource, None, None)
                assert as_rows(pair.store.scan(resource)) == expected
                assert pair.store.count(resource) == len(expected)


class SmallParts(Stores):
    """The same with blocks and chapters so small that they split, join and end all the time."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        for module, name, number in (
            (state, "LARGEST", 4),
            (state, "SMALLEST", 2),
            (state, "FILL", 3),
            (revision_log, "LENGTH", 3),
        ):
            self.patch.setattr(module, name, number)

    def teardown(self) -> None:
        self.patch.undo()


class SparseStores(Stores):
    """The same over revisions with gaps."""

    make = staticmethod(lambda clock: SparseStore(MemoryStore(clock)))


MODERATE = settings(max_examples=60, stateful_step_count=50)
TestStores, TestSmallParts, TestSparse = Stores.TestCase, SmallParts.TestCase, SparseStores.TestCase
TestStores.settings = TestSmallParts.settings = TestSparse.settings = MODERATE

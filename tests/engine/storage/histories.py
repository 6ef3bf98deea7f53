"""Histories of clients that read and write one key at once, and the check that one order of all changes explains them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

from simkit.meta.errors import StatusError
from simkit.meta.names import Revision
from simkit.seams import ABSENT, Stale, Store
from tests.protocols.store_suite import key, value

KEY: Final = key("a")


@dataclass(frozen=True)
class Operation:
    """An operation of one client: a read or write with its answer, or a write whose outcome is unknown.

    ``number`` was written or read; ``expected`` is the revision that a write replaced; ``before`` and ``after`` are
    the revisions that the client's server had seen when it began and when it ended.
    """

    kind: Literal["read", "write", "unknown"]
    number: int
    revision: int
    expected: int
    before: int
    after: int


def record(
    stores: Sequence[Store], *, steps: int = 60, clients: int = 4, faults: Callable[[], None] | None = None
) -> list[Operation]:
    """The operations of concurrent clients of servers with one state, during faults; the key exists afterwards."""
    stores[0].put(KEY, value("a", n="0"), expect=ABSENT)
    for store in stores:
        store.refresh()
    histories: list[list[Operation]] = [[] for _ in range(clients)]
    failed: list[BaseException] = []

    def client(index: int) -> None:
        try:
            _client(
                stores[index % len(stores)], histories[index], Random(index), range(index + 1, 10**9, clients), steps
            )
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=client, args=(index,)) for index in range(clients)]
    for thread in threads:
        thread.start()
    if faults is not None:
        faults()
    for thread in threads:
        thread.join()
    assert not failed, failed
    return [each for history in histories for each in history]


def _client(store: Store, history: list[Operation], random: Random, numbers: range, steps: int) -> None:
    for step in range(steps):
        before = store.revision
        if random.random() < 0.5:
            try:
                store.refresh()
            except StatusError:
                continue
            entry = store.get(KEY)
            assert entry is not None
            number = int(entry.object["data"]["n"])
            history.append(Operation("read", number, entry.revision, 0, before, store.revision))
            continue
        entry = store.get(KEY)
        assert entry is not None
        try:
            new = store.put(KEY, value("a", n=str(numbers[step])), expect=entry.revision)
        except Stale:
            continue
        except StatusError:
            history.append(Operation("unknown", numbers[step], 0, entry.revision, before, before))
            continue
        history.append(Operation("write", numbers[step], new.revision, entry.revision, before, store.revision))


def check(store: Store, start: Revision, done: Sequence[Operation]) -> None:
    """Assert that the changes after a revision explain a history.

    Each change was made by one write, acknowledged or unknown, and replaced what that write expected; each acknowledged
    write is there; a read gave the state of a moment between its call and its answer.
    """
    store.refresh()
    made = {change.revision: int(change.entry.object["data"]["n"]) for change in store.changes(after=start)}
    order = list(made)
    replaced = dict(zip(order[1:], order[:-1], strict=True))
    writes = {each.number: each for each in done if each.kind != "read"}
    for revision, number in list(made.items())[1:]:
        assert writes[number].expected == replaced[revision], f"{number} replaced something else"
    lost = [each for each in done if each.kind == "write" and made.get(Revision(each.revision)) != each.number]
    assert not lost
    for each in done:
        if each.kind == "read":
            assert made[Revision(each.revision)] == each.number
            following = [revision for revision in order if revision > each.revision]
            assert not following or following[0] > each.before, "a read gave a state that was over before its call"
            assert each.revision <= each.after

"""The work of reading input from outside, counted: the same on a busy machine as on a quiet one."""

from __future__ import annotations

import dis
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Final

from simkit.meta.python_gc import collection_paused

LINEAR: Final = 2.6
"""More than the steps in which lists and dicts grow, less than a square."""
_NOISE: Final = 2000
"""Lines, elements or bytes that are there whatever the input is."""
_SEARCHES: Final = frozenset({"index", "count", "remove", "replace", "split"})
_SEARCHED: Final = (list, tuple, str, bytes, bytearray)


class Work:
    """What Python does in a thread: lines, elements that are searched one after the other, bytes that are allocated.

    The C code of one line is seen by what it allocates and by the lengths of the lists and texts that it searches, since
    ``in``, ``index`` and their like are one call however long these are.
    """

    def __init__(self) -> None:
        self.lines = self.searched = self.allocated = self.calls = 0
        self._held = 0
        self._memberships: dict[int, tuple[CodeType, dict[int | None, list[tuple[dis.Instruction, ...]]]]] = {}

    def counts(self) -> tuple[int, int, int]:
        """The three of them."""
        return self.lines, self.searched, self.allocated

    def executed(self, frame: FrameType, event: str, _: Any) -> Any:
        """Notice a line of a function, before it runs."""
        if event == "line":
            self.lines += 1
            self.allocated += tracemalloc.get_traced_memory()[1] - self._held
            self._look(frame)
            tracemalloc.reset_peak()
            self._held = tracemalloc.get_traced_memory()[0]
        return self.executed

    def called(self, _: FrameType, event: str, function: Any) -> None:
        """Notice a call, also of what is written in C."""
        self.calls += event in ("call", "c_call")
        if event == "c_call" and function.__name__ in _SEARCHES:
            self._search(function.__self__)

    def _look(self, frame: FrameType) -> None:
        code = frame.f_code
        if id(code) not in self._memberships:  # a code object takes long to hash
            self._memberships[id(code)] = code, _memberships(code)
        for loads in self._memberships[id(code)][1].get(frame.f_lineno, ()):
            self._search(_loaded(frame, loads))

    def _search(self, container: object) -> None:
        if isinstance(container, _SEARCHED):
            self.searched += len(container)


def _memberships(code: CodeType) -> dict[int | None, list[tuple[dis.Instruction, ...]]]:
    """For each line of a function with ``in`` the one or two instructions that load what is searched."""
    found: dict[int | None, list[tuple[dis.Instruction, ...]]] = {}
    loads: tuple[dis.Instruction, ...] = ()
    for instruction in dis.get_instructions(code):
        if instruction.opname == "CONTAINS_OP":
            line = instruction.positions.lineno if instruction.positions else None
            found.setdefault(line, []).append(loads)
        loads = (*loads, instruction)[-2:]
    return found


def _loaded(frame: FrameType, loads: tuple[dis.Instruction, ...]) -> object:
    """What the last of some instructions loads: a variable, or the field of one."""
    *owner, last = loads
    if last.opname.startswith("LOAD_ATTR") and owner:
        held = _loaded(frame, tuple(owner))
        return (
            None if isinstance(getattr(type(held), last.argval, None), property) else getattr(held, last.argval, None)
        )
    name = last.argval[-1] if last.opname.startswith("LOAD_FAST_") else last.argval
    return frame.f_locals.get(name) if "LOAD_" in last.opname and isinstance(name, str) else None


@contextmanager
def counted(*, lines: bool = True) -> Iterator[Work]:
    """The work of this thread while the context lasts; without ``lines`` its calls, which takes less time."""
    work, traced, profiled = Work(), sys.gettrace(), sys.getprofile()
    with collection_paused():
        sys.setprofile(work.called)
        if lines:
            tracemalloc.start()
            sys.settrace(work.executed)
        try:
            yield work
        finally:
            sys.settrace(traced)
            sys.setprofile(profiled)
            tracemalloc.stop()


def growth(act: Callable[[Any], Any], make: Callable[[int], Any], size: int) -> float:
    """The factor by which twice the input costs more work: about 2 for a linear price, 4 for a quadratic one.

    Another input goes first, whose turn loads modules. Each input has one turn, so that no cache knows it.
    """
    act(make(size // 2 + 1))
    small, large = (_work(act, make(count)) for count in (size, 2 * size))
    return max(more / max(less, _NOISE) for less, more in zip(small, large, strict=True))


def _work(act: Callable[[Any], Any], given: Any) -> tuple[int, int, int]:
    with counted() as work:
        act(given)
    return work.counts()

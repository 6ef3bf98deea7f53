"""The state machine of a request, driven by hand: no socket, no loop, no thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from simkit.engine.http.message import error_response
from simkit.engine.http.request_state import (
    READ_ON,
    AuthorizedRequest,
    ExecutionMode,
    RequestState,
    Work,
    release,
)
from simkit.meta.deadline import check_deadline, checked, within
from simkit.meta.errors import StatusError
from simkit.meta.message import BODY_LIMIT, Request, Response

POST = Request.of("POST", "/a")


@dataclass
class Scripted:
    """A handler that notes what it is asked, and takes its part as an authorized request too."""

    where: ExecutionMode = ExecutionMode.INLINE
    refuses: bool = False
    said: list[str] = field(default_factory=list)

    def at_once(self, request: Request) -> Response | None:
        """No answer is known beforehand."""
        return None

    def refresh(self) -> None:
        """There are no other servers."""

    def execution_mode(self, request: Request) -> ExecutionMode:
        return self.where

    def enter(self, request: Request) -> Response | AuthorizedRequest:
        self.said.append("entered")
        return Response(403) if self.refuses else self

    def answer(self, request: Request) -> Response:
        self.said.append(f"answered {len(request.body)}")
        return Response(200)

    def receive(self, body: bytes) -> Response:
        self.said.append(f"received {len(body)}")
        return Response(200)

    def fail(self, error: StatusError) -> Response:
        self.said.append(f"failed {error.code}")
        return error_response(error)

    def give_up(self) -> None:
        self.said.append("gone")


def test_a_request_that_came_whole() -> None:
    """It is answered in one step, with its body."""
    handler = Scripted()
    state = RequestState(handler)
    assert state.take(b"abc")
    assert state.end(POST) == Response(200)
    assert handler.said == ["answered 3"]


def test_a_body_that_is_still_to_come() -> None:
    """A request is authorized first; its body is read only then."""
    handler = Scripted()
    state = RequestState(handler)
    assert state.begin(POST) is None
    assert state.begun
    state.take(b"ab")
    state.take(b"c")
    assert state.end(POST) == Response(200)
    assert handler.said == ["entered", "received 3"]
    refused = RequestState(Scripted(refuses=True)).begin(POST)
    assert isinstance(refused, Response)
    assert refused.status == 403


@pytest.mark.parametrize(
    "execution_mode", [ExecutionMode.COMPUTING, ExecutionMode.WAITING, ExecutionMode.WAITING_AND_COMPUTING]
)
def test_work_for_other_threads(execution_mode: ExecutionMode) -> None:
    """Each step is handed out as work, whose outcome leads to the next one."""
    handler = Scripted(execution_mode)
    state = RequestState(handler)
    work = state.begin(POST)
    assert isinstance(work, Work)
    assert (work.execution_mode, handler.said) == (execution_mode, [])
    assert state.done(work.step()) is None
    work = state.end(POST)
    assert isinstance(work, Work)
    then = state.done(work.step())
    assert then == Response(200)
    assert handler.said == ["entered", "received 0"]


@pytest.mark.parametrize(
    ("asked", "seconds"), [("", 60), ("?timeout=5s", 5), ("?timeout=5h", 60), ("?timeout=-1s", 60), ("?timeout=x", 60)]
)
def test_patience(asked: str, seconds: float) -> None:
    """A request gets the time that it asks for, up to what is usual."""
    work = RequestState(Scripted(ExecutionMode.COMPUTING)).end(Request.of("GET", f"/a{asked}"))
    assert isinstance(work, Work)
    assert work.seconds == seconds


@pytest.mark.parametrize(
    ("end", "status"), [(RequestState.expired, 504), (RequestState.crowded, 429), (RequestState.refuse_length, 413)]
)
@pytest.mark.parametrize("begun", [False, True])
def test_requests_that_come_to_no_end(end: Callable[[RequestState], Response], status: int, begun: bool) -> None:
    """They are answered once, through what was begun where something was, so that the audit log hears of it."""
    handler = Scripted()
    state = RequestState(handler)
    if begun:
        state.begin(POST)
    assert end(state).status == status
    assert handler.said == (["entered", f"failed {status}"] if begun else [])
    state.gone()
    assert "gone" not in handler.said


def test_long_bodies_are_not_kept() -> None:
    """Of a body above its limit no more than a part is kept, and it is read on only so far."""
    state = RequestState(Scripted())
    part = b"x" * (1024 * 1024)
    taken = 0
    while state.take(part):
        taken += len(part)
    assert taken == READ_ON
    handler = state._handler
    assert isinstance(handler, Scripted)
    state.end(POST)
    assert int(handler.said[0].split()[1]) <= BODY_LIMIT + len(part)


def test_answers_that_come_too_late_are_dropped() -> None:
    """So is an authorization whose body nobody sends any more."""
    authorized = Scripted()
    release(authorized)
    release(Response(200))
    assert authorized.said == ["gone"]


def test_work_ends_with_its_deadline() -> None:
    """Long work looks at the deadline of its request, in whatever thread; work without one goes on."""
    work = RequestState(Scripted(ExecutionMode.COMPUTING)).end(POST)
    assert isinstance(work, Work)
    assert within(work.deadline, lambda: len(list(checked(range(1000))))) == 1000

    def long() -> None:
        for number in checked(range(10**9)):
            if number == 1000:
                work.deadline.end()

    with pytest.raises(StatusError) as refused:
        within(work.deadline, long)
    assert refused.value.code == 504
    check_deadline()

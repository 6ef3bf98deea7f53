"""Many requests in one packet: few writes for one connection, and one slice of a turn of the loop for all together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from simkit.cluster.cluster import Cluster
from simkit.cluster.options import Options
from simkit.engine.http import connection_reader
from simkit.engine.http.apiserver import APIServerHandler
from simkit.engine.http.asgi import Application
from simkit.engine.http.loop_turns import SLICE, ReadingTurns, reading_turns
from simkit.engine.http.protocol import HTTPConnection
from simkit.engine.http.serving import new_loop

pytestmark = pytest.mark.slow

REQUEST = b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n"
LAST = b"GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


class Wire:
    """A transport that keeps what was written, and tells how often."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    @property
    def answers(self) -> int:
        """The answers that were written."""
        return b"".join(self.written).count(b"HTTP/1.1 200")

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.written.append(data)

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else None

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        """Nothing comes by itself."""

    resume_reading = pause_reading

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The loop of a server."""
    made = new_loop()
    yield made
    made.close()


@pytest.fixture
def slow_clock(loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by which each look takes a quarter of a slice."""
    _every_look_takes(SLICE / 4, loop, monkeypatch)


@pytest.fixture
def slower_clock(loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by which each request takes more than a slice."""
    _every_look_takes(SLICE * 1.5, loop, monkeypatch)


def _every_look_takes(seconds: float, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = count()

    def now() -> float:
        return next(looks) * seconds

    monkeypatch.setattr(connection_reader, "perf_counter", now)
    monkeypatch.setattr(reading_turns(loop), "_clock", now)


def connected(loop: asyncio.AbstractEventLoop, application: Application) -> tuple[HTTPConnection, Wire]:
    """A connection to an application, and its transport."""
    config = uvicorn.Config(
        application,
        http=HTTPConnection,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        proxy_headers=False,
    )
    config.load()
    connection, wire = HTTPConnection(config, ServerState(), {}, loop), Wire()
    connection.connection_made(wire)  # type: ignore[arg-type]
    return connection, wire


def test_answers_to_requests_that_came_together_are_written_together(loop: asyncio.AbstractEventLoop) -> None:
    """Each write encrypts, and lets other threads have the interpreter: one for a slice, not one for each answer."""

    async def sent() -> Wire:
        connection, wire = connected(loop, Application(APIServerHandler(Cluster(options=Options(seed=1)).engine)))
        connection.data_received(REQUEST * 100)  # less than is read in one go
        assert len(wire.written) <= 1
        while wire.answers < 100:
            await asyncio.sleep(0)
        connection.data_received(REQUEST * 2000 + LAST)
        while not wire.closed:
            await asyncio.sleep(0)
        return wire

    wire = loop.run_until_complete(sent())
    assert wire.answers == 2101
    assert len(wire.written) < 2101 / 4
    assert wire.written[-1].count(b"connection: close") == 1


@pytest.mark.usefixtures("slow_clock")
def test_connections_that_sent_much_share_a_slice(loop: asyncio.AbstractEventLoop) -> None:
    """Twenty clients with a thousand requests each: each turn of the loop answers some of one of them."""

    async def most_in_a_turn() -> int:
        application = Application(APIServerHandler(Cluster(options=Options(seed=1)).engine))
        lines = [connected(loop, application) for _ in range(20)]
        for connection, _ in lines:
            connection.data_received(REQUEST * 1000)
        first = sum(wire.answers for _, wire in lines)
        assert first == lines[0][1].answers  # the others wait behind the first
        most, before = 0, first
        while before < 20_000:
            await asyncio.sleep(0)
            now = sum(wire.answers for _, wire in lines)
            most, before = max(most, now - before), now
        return most

    assert 0 < loop.run_until_complete(most_in_a_turn()) < 200


@pytest.mark.usefixtures("slower_clock")
def test_what_follows_a_long_request_waits_for_its_turn(loop: asyncio.AbstractEventLoop) -> None:
    """Twenty clients whose requests take long: others wait for one of these, not for twenty."""

    async def answered_by_turn() -> list[int]:
        application = Application(APIServerHandler(Cluster(options=Options(seed=1)).engine))
        lines = [connected(loop, application) for _ in range(20)]
        found = list[int]()
        for times in (1, 2):
            for connection, _ in lines:
                connection.data_received(REQUEST)
            found.append(sum(wire.answers for _, wire in lines))
            while found[-1] < times * len(lines):
                await asyncio.sleep(0)
                found.append(sum(wire.answers for _, wire in lines))
        return found

    assert loop.run_until_complete(answered_by_turn()) == [20, *range(20, 41)]


def test_whoever_waits_goes_on(loop: asyncio.AbstractEventLoop) -> None:
    """Those that wait take turns, however much each of them has, and an error of one concerns this one alone."""
    now, went = [0.0], list[str]()
    turns, wants = ReadingTurns(lambda: now[0]), {"a": 3, "b": 2, "c": 1}

    def go_on(name: str) -> None:
        now[0] += 2 * SLICE
        went.append(name)
        wants[name] -= 1
        if wants[name]:
            turns.later(loop, lambda: go_on(name))
        if name == "b" and wants[name]:
            raise ZeroDivisionError

    async def run() -> list[int]:
        loop.set_exception_handler(lambda _, told: went.append(type(told["exception"]).__name__))
        for name in wants:
            turns.later(loop, lambda name=name: go_on(name))  # type: ignore[misc]
        done = []
        while turns.crowded:
            await asyncio.sleep(0)
            done.append(len(went))
        return done

    loop.run_until_complete(run())
    assert went == ["a", "b", "ZeroDivisionError", "c", "a", "b", "a"]

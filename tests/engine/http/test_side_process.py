"""Some functions are computed by processes beside a server."""

from __future__ import annotations

import os
import threading
import time

import pytest

from simkit.language.yaml.block_style import encode, encode_json
from simkit.language.yaml.decode import decode_body_apart
from simkit.meta import go_json
from simkit.meta.deadline import Deadline, check_deadline, within
from simkit.meta.errors import StatusError
from simkit.meta.side_process import SideProcessError, SideProcesses

apart = pytest.mark.skipif(os.name != "posix", reason="processes beside are had on POSIX")


def leave() -> None:
    """End the process, as a fault in a library of C would."""
    os._exit(3)


def sleep_long() -> None:
    """Take longer than anybody waits."""
    time.sleep(60)


def process_id() -> int:
    """The process that computes this."""
    return os.getpid()


def test_looking_at_a_deadline() -> None:
    """A deadline without an end is none, and one that has passed ends the work."""
    within(Deadline(), check_deadline)
    with pytest.raises(StatusError):
        within(Deadline(-1), check_deadline)


@apart
def test_a_function_is_computed_elsewhere() -> None:
    """While it is entered, and for a request alone; a process is used again."""
    processes = SideProcesses()
    own = os.getpid()
    assert within(Deadline(60), lambda: processes.call(process_id)) == own
    with processes:
        assert processes.call(process_id) == own
        found = [within(Deadline(60), lambda: processes.call(process_id)) for _ in range(2)]
        assert found[0] == found[1] != own
        text = "a: &a {b: [1, 2.5, ~, yes]}\nc: *a\nc: ü\n"
        assert within(Deadline(60), lambda: processes.call(decode_body_apart, text)) == decode_body_apart(text)
        body = go_json.encode({"b": ["x: y", "on", "1", "a\nb"], "a": {"c": None}})
        assert within(Deadline(60), lambda: processes.call(encode_json, body)) == encode(go_json.read(body))
    assert not processes._idle


@apart
def test_a_call_that_takes_too_long_is_ended() -> None:
    """The process ends when nobody waits any more, and the next request gets another one."""
    processes = SideProcesses(most=1)
    with processes:
        deadline = Deadline(60)
        threading.Timer(0.3, deadline.end).start()
        with pytest.raises(StatusError) as caught:
            within(deadline, lambda: processes.call(sleep_long))
        assert caught.value.code == 504
        assert within(Deadline(60), lambda: processes.call(process_id)) != os.getpid()


@apart
def test_a_process_that_dies_takes_nobody_along() -> None:
    """Its request fails, and the next one gets another process."""
    processes = SideProcesses(most=1)
    with processes:
        with pytest.raises(SideProcessError):
            within(Deadline(60), lambda: processes.call(leave))
        assert within(Deadline(60), lambda: processes.call(process_id)) != os.getpid()

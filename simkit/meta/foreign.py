"""The contract of functions that others provide: programs, commands, port handlers, usages, metrics, webhooks.

One place calls them and judges what they give. Whatever they raise (an exit included), a coroutine, and a value of a
wrong type are a ``ForeignFault``, which whoever asked tells of and never takes for a success.

| function | gives |
|---|---|
| program, command | a generator, or at once its exit code: None for 0, or an integer from 0 to 255, which is no bool |
| a step of a generator | a line (str), seconds (a finite number), ``Output``, ``Input`` or ``Now`` |
| port handler | bytes |
| usage | a mapping of ``cpu`` and ``memory`` to quantities |
| metric | a number or a quantity |
| webhook | None or True, False or a text that refuses, a changed object, or a response whose ``allowed`` is a bool |
| conversion | the object, or a text that says why it cannot be converted |
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple

import orjson

from simkit.meta.interrupts import interruptible
from simkit.meta.threads import HAS_THREADS

MOST_SHOWN: Final = 80


class ForeignFault(Exception):
    """A function that others provide has failed, or has given what it must not give; the text says which and how."""


class Running(NamedTuple):
    """A function that others provide, at work."""

    what: str
    since: float
    """By ``time.monotonic``."""


_RUNNING: Final[dict[int, Running]] = {}
"""By thread."""
_WITHIN: Final = ContextVar("within", default=0)
"""The number of functions with a time limit that wait for what happens here."""
_MOST_WITHIN: Final = 20


def passes(error: BaseException) -> bool:
    """True if an error is not the function's: the interrupt of the person at the keyboard, or the end of a thread."""
    interrupted = isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()
    return interrupted or bool(getattr(error, "ends_the_thread", False))


def described(error: BaseException) -> str:
    """The error that a function raised, as a text.

    Examples
    --------
    >>> described(ValueError("no")), described(SystemExit(3)), described(KeyError())
    ('raised ValueError: no', 'raised SystemExit: 3', 'raised KeyError')
    """
    text = str(error)
    return f"raised {type(error).__name__}" + (f": {text}" if text else "")


def shown(value: object) -> str:
    """A value as a text for a message, with its type; a coroutine is closed, since nobody awaits it."""
    if type(value).__name__ in ("coroutine", "async_generator"):
        with suppress(BaseException):
            getattr(value, "close", getattr(value, "aclose", str))()
        return "a coroutine; the function must not be async"
    text = repr(value)
    return f"{text[:MOST_SHOWN]}{'...' if len(text) > MOST_SHOWN else ''} ({type(value).__name__})"


@contextmanager
def running(what: str) -> Iterator[None]:
    """Note that a function is at work in this thread, so that one which does not come back is named and interrupted."""
    thread = threading.get_ident()
    outer = _RUNNING.get(thread)
    _RUNNING[thread] = Running(what, time.monotonic())
    try:
        with interruptible():
            yield
    finally:
        if outer is None:
            _RUNNING.pop(thread, None)
        else:
            _RUNNING[thread] = outer


def running_in(thread: int | None) -> Running | None:
    """The function that is at work in a thread, if one is."""
    return None if thread is None else _RUNNING.get(thread)


def call(
    what: str,
    function: Callable[..., Any],
    *arguments: Any,
    judge: Callable[[Any], Any],
    through: tuple[type[BaseException], ...] = (),
) -> Any:
    """The result of a function, as ``judge`` takes it.

    Parameters
    ----------
    what
        Its name in messages: ``port 80 of pod dev/web``.
    judge
        One of the functions below. It raises ValueError for what must not be given.
    through
        Errors that the function may raise.

    Raises
    ------
    ForeignFault
        For whatever else it raises, and for what must not be given.

    Examples
    --------
    >>> call("the port", lambda data: data.upper(), b"hi", judge=judged_bytes)
    b'HI'
    """
    try:
        with running(what):
            given = function(*arguments)
    except through:
        raise
    except BaseException as error:
        if passes(error):
            raise
        raise ForeignFault(f"{what} {described(error)}") from error
    try:
        return judge(given)
    except ValueError as error:
        raise ForeignFault(f"{what} gave {shown(given)}: {error}") from None


def call_within(
    seconds: float, what: str, function: Callable[..., Any], *arguments: Any, judge: Callable[[Any], Any], **more: Any
) -> Any:
    """The same as ``call`` for a function that has some seconds of real time; it goes on aside if it takes longer.

    Raises TimeoutError where it does. Without threads, the function has all the time that it takes.
    """
    if _WITHIN.get() >= _MOST_WITHIN:
        raise ForeignFault(f"{what} leads to a call of itself, {_MOST_WITHIN} times")
    if not HAS_THREADS:
        return call(what, function, *arguments, judge=judge, **more)
    answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    context = copy_context()
    context.run(_WITHIN.set, _WITHIN.get() + 1)

    def work() -> None:
        try:
            answers.put((context.run(call, what, function, *arguments, judge=judge, **more), None))
        except BaseException as error:  # raised again where it is waited for
            answers.put((None, error))

    threading.Thread(target=work, name="simkit-function", daemon=True).start()
    try:
        with interruptible():
            given, error = answers.get(timeout=seconds)
    except Empty:
        raise TimeoutError(f"{what} gave no answer within {seconds:g}s") from None
    if error is not None:
        raise error
    return given


def judged_exit_code(given: Any) -> int:
    """An exit code. Raises ValueError for anything but None and an integer from 0 to 255.

    Examples
    --------
    >>> judged_exit_code(None), judged_exit_code(3)
    (0, 3)
    """
    if given is None:
        return 0
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= 255:
        raise ValueError("an exit code is None or an integer from 0 to 255")
    return given


def judged_seconds(given: Any) -> float:
    """A pause. Raises ValueError for anything but a finite number; one below zero takes no time."""
    if not isinstance(given, int | float) or isinstance(given, bool) or not math.isfinite(given):
        raise ValueError("a program yields lines, seconds, Output, Input or Now")
    return max(0.0, float(given))


def judged_bytes(given: Any) -> bytes:
    """The answer of a port. Raises ValueError for anything but bytes."""
    if not isinstance(given, bytes):
        raise ValueError("a port handler gives bytes")
    return given


def _as_json(given: Any) -> Any:
    """A copy in the types of JSON. Raises ValueError for what has others, or holds itself."""
    try:
        return orjson.loads(orjson.dumps(given))
    except TypeError as error:
        raise ValueError(f"it cannot be written as JSON: {error}") from None


def judged_review(given: Any) -> Any:
    """The answer of a function in place of a webhook. Raises ValueError for what is neither yes, no nor an object."""
    if given is None or isinstance(given, bool | str):
        return given
    if isinstance(given, Mapping) and "allowed" not in given and isinstance(given.get("kind"), str):
        return _as_json(given)
    if not isinstance(given, Mapping) or not isinstance(given.get("allowed"), bool):
        raise ValueError("a webhook gives None, a bool, a text, an object, or a response whose allowed is a bool")
    _check_response(given)
    return _as_json(given)


def _check_response(response: Mapping[str, Any]) -> None:
    """Raise ValueError for a part of a response that has a wrong type."""
    lists = all(isinstance(response.get(name) or [], list | tuple) for name in ("patch", "warnings"))
    mappings = all(isinstance(response.get(name) or {}, Mapping) for name in ("status", "auditAnnotations"))
    if not lists or not mappings:
        raise ValueError("patch and warnings are lists, status and auditAnnotations mappings")


def judged_conversion(given: Any) -> Any:
    """A converted object, or the reason why there is none. Raises ValueError for anything else."""
    if not isinstance(given, str | Mapping):
        raise ValueError("a conversion gives an object, or a text that says why it cannot")
    return given if isinstance(given, str) else _as_json(given)

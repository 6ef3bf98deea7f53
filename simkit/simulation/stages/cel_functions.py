"""The functions that KWOK adds to CEL, and pods and nodes as its expressions see them.

References
----------
sigs.k8s.io/kwok, pkg/utils/cel, release 0.7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import total_ordering
from random import Random
from typing import Any, ClassVar, Final

from simkit.language.cel import operations as run
from simkit.language.cel.declarations import Library, Overload, declared, operator
from simkit.language.cel.errors import EvaluationError
from simkit.language.cel.lib_quantity import QuantityValue, quantity
from simkit.language.cel.values import Timestamp
from simkit.meta.clock import moment
from simkit.meta.objects import Object, at, metadata
from simkit.meta.quantity import NANO

_BILLION: Final = 10**9
_MILLI: Final = NANO // 1000
_NOW: Final[ContextVar[tuple[float, Random]]] = ContextVar("the time and the chance of an expression")
_TIMES: Final = ("creationTimestamp", "deletionTimestamp")
_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")


@contextmanager
def evaluating(now: float, random: Random) -> Iterator[None]:
    """Have expressions ask for this time, and for numbers of this chance."""
    token = _NOW.set((now, random))
    try:
        yield
    finally:
        _NOW.reset(token)


def _now() -> Timestamp:
    return Timestamp(round(_NOW.get()[0] * _BILLION))


def _since(obj: Any) -> float:
    created = at(obj, "metadata", "creationTimestamp") if isinstance(obj, Mapping) else None
    if not created:
        raise EvaluationError("SinceSecond needs a resource with a creation timestamp")
    return _NOW.get()[0] - _unix(created)


def _unix(time: Any) -> float:
    if isinstance(time, Timestamp):
        return time.nanos / _BILLION
    try:
        return moment(str(time))
    except ValueError:
        raise EvaluationError(f"UnixSecond needs a time, not {time!r}") from None


@total_ordering
class Amount(QuantityValue):
    """A quantity that can be added, compared, and multiplied with numbers, in thousandths as KWOK does it."""

    __slots__ = ()
    cel_operators: ClassVar[bool] = True

    @classmethod
    def of(cls, text: str) -> Amount:
        """The amount in a text. Raises EvaluationError."""
        found = quantity(text)
        return cls(found.nano, found.unit)

    @property
    def _milli(self) -> int:
        return -(-self.nano // _MILLI)

    def __lt__(self, other: object) -> bool:
        return self.nano < other.nano if isinstance(other, Amount) else NotImplemented

    def __add__(self, other: object) -> Amount:
        return Amount(self.nano + other.nano, self.unit) if isinstance(other, Amount) else NotImplemented

    def __sub__(self, other: object) -> Amount:
        return Amount(self.nano - other.nano, self.unit) if isinstance(other, Amount) else NotImplemented

    def __neg__(self) -> Amount:
        return Amount(-self.nano, self.unit)

    def __mul__(self, other: object) -> Amount:
        if isinstance(other, int):
            return _from_milli(self._milli * other)
        return _from_milli(int(self.nano / NANO * other * 1000)) if isinstance(other, float) else NotImplemented

    def __truediv__(self, other: object) -> Amount:
        if isinstance(other, int | float) and other == 0:
            raise EvaluationError("division by zero")
        if isinstance(other, int):
            whole = abs(self._milli) // abs(other)
            return _from_milli(whole if (self.nano < 0) == (other < 0) else -whole)
        return _from_milli(int(self.nano / NANO / other * 1000)) if isinstance(other, float) else NotImplemented


def _from_milli(milli: int) -> Amount:
    return Amount(milli * _MILLI, -3)


def _operators() -> list[Overload]:
    """The overloads for the checker; the values bring the operators themselves."""
    kind = "kubernetes.Quantity"
    both = f"{kind}, {kind}"
    found = [
        operator("add_quantity", "_+_", both, kind, run.add),
        operator("subtract_quantity", "_-_", both, kind, run.subtract),
        operator("negate_quantity", "-_", kind, kind, run.negate),
        operator("less_quantity", "_<_", both, "bool", run.less),
        operator("less_equals_quantity", "_<=_", both, "bool", run.less_equal),
        operator("greater_quantity", "_>_", both, "bool", run.greater),
        operator("greater_equals_quantity", "_>=_", both, "bool", run.greater_equal),
    ]
    for number in ("int", "uint", "double"):
        found.append(operator(f"multiply_quantity_{number}", "_*_", f"{kind}, {number}", kind, run.multiply))
        found.append(operator(f"divide_quantity_{number}", "_/_", f"{kind}, {number}", kind, run.divide))
    return found


STAGE_LIBRARY: Final = Library(
    "kwok",
    (1, 0),
    (
        declared("now", "Now() timestamp", _now),
        declared("rand", "Rand() double", lambda: _NOW.get()[1].random()),
        declared("since_second", "SinceSecond(dyn) double", _since),
        declared("dyn_since_second", "dyn.SinceSecond() double", _since),
        declared("unix_second", "UnixSecond(dyn) double", _unix),
        declared("dyn_unix_second", "dyn.UnixSecond() double", _unix),
        declared("quantity_of_string", "Quantity(string) kubernetes.Quantity", Amount.of),
        declared("string_quantity", "string.Quantity() kubernetes.Quantity", Amount.of),
        *_operators(),
    ),
)
"""``Now``, ``Rand``, ``SinceSecond``, ``UnixSecond`` and ``Quantity``; those with an argument are methods too."""


def as_seen(obj: Object) -> Mapping[str, Any]:
    """A pod or node with times and amounts in the place of their texts; other objects as they are."""
    if obj.get("apiVersion") != "v1" or obj.get("kind") not in ("Pod", "Node"):
        return obj
    found: dict[str, Any] = dict(obj)
    meta = metadata(obj)
    times = {name: Timestamp(round(moment(str(meta[name])) * _BILLION)) for name in _TIMES if meta.get(name)}
    found["metadata"] = {**meta, **times}
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    for name in _LISTS:
        if spec.get(name):
            spec[name] = [_with_amounts(each) for each in spec[name]]
    if status.get("startTime"):
        status["startTime"] = Timestamp(round(moment(str(status["startTime"])) * _BILLION))
    for name in ("allocatable", "capacity"):
        if status.get(name):
            status[name] = _amounts(status[name])
    return found | {name: part for name, part in (("spec", spec), ("status", status)) if name in obj}


def _with_amounts(container: Mapping[str, Any]) -> Mapping[str, Any]:
    resources = container.get("resources") or {}
    known = {name: _amounts(resources[name]) for name in ("limits", "requests") if resources.get(name)}
    return {**container, "resources": {**resources, **known}} if known else container


def _amounts(listed: Mapping[str, Any]) -> dict[str, Amount]:
    return {name: Amount.of(str(text)) for name, text in listed.items()}

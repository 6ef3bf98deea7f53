"""Traces: a timed stream of changes, replayed on two servers side by side, and what ends differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simkit.analysis.rbac.tables import table
from simkit.analysis.result import Result
from simkit.kinds.conversions.explain import differences
from simkit.meta.identity import administrator
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.meta.objects import Object, at, name_of, namespace_of, with_metadata
from simkit.schema.lifecycle import every_resource
from simkit.seams.snapshot import Sandbox
from simkit.snapshot.resources import guess_plural, index_of

if TYPE_CHECKING:
    import pandas as pd

TRACE_COLUMNS: Final = ("time", "what", "difference", "before", "after")
_APPLY: Final = "application/apply-patch+yaml"
OF_SERVERS: Final = dict.fromkeys(
    ("uid", "resourceVersion", "generation", "managedFields", "creationTimestamp", "selfLink", "ownerReferences")
)
_ADDRESSES: Final = ("clusterIP", "clusterIPs")
"""Fields of services for which each server takes a free address."""
_VOLATILE: Final = (*OF_SERVERS, "deletionTimestamp")


class TraceEvent(NamedTuple):
    """One change at one moment (seconds since the epoch)."""

    time: float
    applied: tuple[Object, ...] = ()
    deleted: tuple[Object, ...] = ()


class TraceDifference(NamedTuple):
    """An answer that differs, at its moment, or something that ends differently (without a moment)."""

    time: float | None
    what: str
    difference: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class TraceOutcome(Result):
    """The differences on the later server. It is true if there are none."""

    events: int
    rows: tuple[TraceDifference, ...]

    def __bool__(self) -> bool:
        return not self.rows

    def to_frame(self) -> pd.DataFrame:
        """One row per difference: time (empty at the end), what, difference (``answer``, ``missing``, ``more`` or a
        path), before, after."""
        return table(self.rows, TRACE_COLUMNS)

    def __repr__(self) -> str:
        return f"<TraceOutcome: {self.events} events, {len(self.rows)} differences>"


def replay_trace(
    trace: Sequence[TraceEvent],
    before: Sandbox,
    after: Sandbox,
    *,
    advance: Callable[[float], None],
    settle: Callable[[Sandbox], Any],
) -> TraceOutcome:
    """Replay a trace on two forks side by side.

    Parameters
    ----------
    before, after
        Forks that nobody else uses, on one simulated clock.
    advance
        Moves that clock by some seconds.
    settle
        Lets the controllers of a fork do what is left to do.

    Notes
    -----
    Objects are applied as by ``kubectl apply --server-side``, by an administrator, in the versions that they are in.
    """
    rows: list[TraceDifference] = []
    last = trace[0].time if trace else 0.0
    for event in trace:
        advance(max(0.0, event.time - last))
        last = max(last, event.time)
        for obj, method in [
            *((each, "PATCH") for each in event.applied),
            *((each, "DELETE") for each in event.deleted),
        ]:
            answers = [_send(server, method, obj) for server in (before, after)]
            if answers[0].succeeded != answers[1].succeeded:
                told = [f"{each.status} {each.message}".rstrip() for each in answers]
                rows.append(TraceDifference(event.time, _title(obj), "answer", *told))
        settle(before)
        settle(after)
    return TraceOutcome(len(trace), (*rows, *_ends(before, after)))


def _send(server: Sandbox, method: str, obj: Object) -> Response:
    group, version = GroupVersion.parse(str(obj.get("apiVersion")))
    kind = str(obj.get("kind"))
    known = next((each for name, each in every_resource() if (name, each.kind) == (obj.get("apiVersion"), kind)), None)
    custom = (
        index_of(server.snapshot()).catalogue.kind(GroupVersionKind(group, version, kind)) if known is None else known
    )
    plural = custom.resource if custom is not None else guess_plural(kind)
    prefix = f"/apis/{group}/{version}" if group else f"/api/{version}"
    place = f"/namespaces/{namespace_of(obj)}" if namespace_of(obj) else ""
    path = f"{prefix}{place}/{plural}/{name_of(obj)}"
    if method == "DELETE":
        return server.perform(Request.of("DELETE", path), identity=administrator())
    body = with_metadata({key: value for key, value in obj.items() if key != "status"}, **OF_SERVERS)
    request = Request.of("PATCH", f"{path}?fieldManager=trace&force=true", body, content_type=_APPLY)
    return server.perform(request, identity=administrator())


def _title(obj: Object) -> str:
    return f"{obj.get('kind')} {f'{namespace_of(obj)}/{name_of(obj)}'.strip('/')}"


def _ends(before: Sandbox, after: Sandbox) -> Iterator[TraceDifference]:
    """Objects that are on one side alone, and fields that differ."""
    first, second = (dict(_objects(each)) for each in (before, after))
    for key in sorted(first.keys() | second.keys()):
        title = " ".join(filter(None, (key[0], f"{key[1]}/{key[2]}".strip("/"))))
        if key not in second:
            yield TraceDifference(None, title, "missing", "there", "not there")
        elif key not in first:
            yield TraceDifference(None, title, "more", "not there", "there")
        else:
            for each in differences(first[key], second[key]):
                yield TraceDifference(None, title, each.path, each.before, each.after)


def _objects(server: Sandbox) -> Iterable[tuple[tuple[str, str, str], Object]]:
    """The objects that people and programs make, without what differs from server to server.

    Objects with generated names are counted: their names never agree.
    """
    snapshot = server.snapshot()
    generated: Counter[tuple[str, str, str]] = Counter()
    for resource in sorted(snapshot.captured()):
        if resource.resource in _SERVERS_OWN:
            continue
        for obj in snapshot.scan(resource):
            prefix = at(obj, "metadata", "generateName")
            if prefix:
                generated[str(resource), namespace_of(obj), f"{prefix}*"] += 1
                continue
            bare = {key: value for key, value in obj.items() if key != "apiVersion"}
            if resource.resource == "services" and at(obj, "spec", "clusterIP") != "None":
                bare["spec"] = {key: value for key, value in bare["spec"].items() if key not in _ADDRESSES}
            kept = with_metadata(bare, **dict.fromkeys(_VOLATILE))
            yield (str(resource), namespace_of(obj), name_of(obj)), kept
    for key, count in generated.items():
        yield key, {"count": count}


_SERVERS_OWN: Final = frozenset(
    ("events", "leases", "apiservices", "clusterroles", "clusterrolebindings", "flowschemas")
) | {"prioritylevelconfigurations", "servicecidrs", "ipaddresses", "roles", "rolebindings", "configmaps"}
"""Resources whose objects the servers of two releases make in different forms by themselves."""

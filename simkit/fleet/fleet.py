"""Fleet: the same question to many clusters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pandas as pd

from simkit.analysis import audit, check, compare, read_suite
from simkit.analysis.access.expectations import Suite
from simkit.analysis.caveats import with_caveats
from simkit.analysis.escalation.table.severity import Severity
from simkit.analysis.readable_frame import ReadableFrame
from simkit.analysis.result import Result
from simkit.fleet.members import Member, members_of
from simkit.fleet.workers import run
from simkit.meta.distribution import install_hint
from simkit.meta.errors import SimkitError
from simkit.meta.visible_text import html_text
from simkit.meta.whole_file import write_whole
from simkit.present.progress import tracked
from simkit.seams.caveats import Caveat
from simkit.seams.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd

_PLAIN: Final = (str, int, float, bool, type(None))


class Fleet:
    """Many clusters that are asked together.

    Parameters
    ----------
    sources
        Dumps, folders, archives, etcd backups or ``context:NAME``: names with places, places, or a pattern.
    release
        The release by which the objects are read; by default 1.30, and that of a running cluster.
    scheduler
        Where the work is done: ``processes``, ``threads``, ``synchronous``, or the address of a Dask scheduler, whose
        workers must see the same paths.
    workers
        The number of processes or threads; by default one for each core.
    cloud
        The places of the exports of EKS, GKE or AKS, by the names of clusters.

    Raises
    ------
    SimkitError
        Where no cluster is meant, two have one name, or an export is that of none of them.

    Notes
    -----
    A cluster is read where it is asked, and only the table of its answer travels: memory grows with the answers, not
    with the clusters. With ``to=`` each table is written as soon as it is there, and is not kept.

    Examples
    --------
    >>> from simkit.meta import datasets
    >>> fleet = Fleet({"demo": datasets.path(datasets.DEMO)}, scheduler="synchronous")
    >>> sorted(set(fleet.audit().to_frame()["cluster"]))
    ['demo']
    """

    def __init__(
        self,
        sources: str | Path | Iterable[str | Path] | Mapping[str, str | Path],
        *,
        release: str | None = None,
        scheduler: str = "processes",
        workers: int | None = None,
        cloud: Mapping[str, str | Path] | None = None,
    ) -> None:
        exports = {name: str(place) for name, place in (cloud or {}).items()}
        self.members = tuple(replace(one, cloud=exports.pop(one.name, "")) for one in members_of(sources))
        if exports:
            raise SimkitError(f"no cluster of the fleet is called {next(iter(exports))!r}, of which there is an export")
        self._release, self._scheduler, self._workers = release, scheduler, workers

    def __len__(self) -> int:
        return len(self.members)

    def __repr__(self) -> str:
        return f"<Fleet of {len(self)} clusters, on {self._scheduler}>"

    def audit(
        self,
        *,
        include_defaults: bool = False,
        checks: Iterable[str] | None = None,
        managed: Iterable[str] = (),
        severity: Severity | str | None = None,
        namespace: str | None = None,
        to: str | Path | None = None,
    ) -> FleetAnswer:
        """The findings of every cluster.

        Parameters
        ----------
        include_defaults, checks, managed, severity, namespace
            As for ``simkit.analysis.audit``.
        to
            A folder: each cluster's table is written there as NAME.parquet, and the answer holds no rows.

        Returns
        -------
        FleetAnswer
            One row per finding: cluster, and the columns of ``audit``.
        """
        question = partial(
            audited,
            include_defaults=include_defaults,
            checks=None if checks is None else tuple(checks),
            managed=tuple(managed),
            severity=Severity.named(severity) if isinstance(severity, str) else severity,
            namespace=namespace,
        )
        return self.ask(question, to=to)

    def check(self, suite: Suite | str | Path, *, to: str | Path | None = None) -> FleetAnswer:
        """The outcomes of the same expectations on every cluster.

        Returns
        -------
        FleetAnswer
            One row per expectation: cluster, met, severity, expectation, failures.

        Raises
        ------
        SimkitError
            For a suite that cannot be read.
        """
        return self.ask(partial(checked, suite=suite if isinstance(suite, Suite) else read_suite(suite)), to=to)

    def diff(self, *, golden: str, to: str | Path | None = None) -> FleetAnswer:
        """The access by which clusters differ from one of them.

        Parameters
        ----------
        golden
            The name of the cluster that all others should be like, or the path of a dump.

        Returns
        -------
        FleetAnswer
            One row per permission that a subject has more (``gained``) or less (``lost``) than in the golden cluster:
            cluster, and the columns of ``compare``. A cluster without rows does not differ.
        """
        known = {member.name: member for member in self.members}
        wanted = known.get(golden) or (Member(golden, golden) if Path(golden).exists() else None)
        if wanted is None:
            raise SimkitError(f"no cluster of the fleet is called {golden!r}, and there is no such file")
        others = tuple(member for member in self.members if member != wanted)
        return self._asked(others, partial(compared, golden=wanted, release=self._release), to)

    def ask(self, question: Question, *, to: str | Path | None = None) -> FleetAnswer:
        """The answers of every cluster to a question of one's own.

        Parameters
        ----------
        question
            A function of a snapshot that gives a DataFrame, such as those of ``simkit.analysis``. For processes and
            remote workers it must be one that can be pickled: a function of a module, or a ``functools.partial``.

        Returns
        -------
        FleetAnswer
            One row per row of each cluster: cluster, and the question's own columns.
        """
        return self._asked(self.members, question, to)

    def _asked(self, members: tuple[Member, ...], question: Question, to: str | Path | None) -> FleetAnswer:
        tables: dict[str, pd.DataFrame] = {}
        failures: dict[str, Failure] = {}
        limits: dict[str, list[str]] = {}
        folder = _folder(to)
        tasks = [(member.name, partial(answered, member, self._release, question)) for member in members]
        answers = run(tasks, self._scheduler, self._workers)
        for name, found in tracked(answers, "asking clusters", total=len(tasks)):
            if isinstance(found, BaseException):
                failures[name] = Failure(name, str(found) or type(found).__name__)
                continue
            for text in found.attrs.get("caveats", ()):
                limits.setdefault(text, []).append(name)
            if folder is None:
                tables[name] = found.assign(cluster=name)
            else:
                tables[name] = found.iloc[:0].assign(cluster="")
                _write(_table_file(folder, name), found.assign(cluster=name))
        names = [member.name for member in members]
        told = [name for name in names if name in tables]
        answer = FleetAnswer(
            _joined([tables[name] for name in told]),
            told,
            [failures[name] for name in names if name in failures],
        )
        return with_caveats(answer, (Caveat("cluster", f"{_named(limits[text], names)}: {text}") for text in limits))


def _named(limited: Sequence[str], names: Sequence[str]) -> str:
    """The clusters of a limit, in the order of the fleet."""
    return "all clusters" if len(limited) == len(names) > 1 else ", ".join(sorted(limited, key=names.index))


def _joined(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """All rows, the column of the cluster first."""
    filled = [table for table in tables if len(table)] or tables[:1]
    whole = pd.concat(filled, ignore_index=True) if filled else pd.DataFrame({"cluster": []})
    return ReadableFrame(whole[["cluster", *(name for name in whole.columns if name != "cluster")]])


def written_tables(folder: Path, clusters: Iterable[str]) -> Iterator[pd.DataFrame]:
    """The tables of clusters in a folder of answers, one at a time."""
    return (pd.read_parquet(_table_file(folder, name)) for name in clusters)


def _table_file(folder: Path, cluster: str) -> Path:
    return folder / f"{quote(cluster, safe='')}.parquet"


def _folder(to: str | Path | None) -> Path | None:
    if to is None:
        return None
    folder = Path(to)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimkitError(f"cannot write to {folder}: {error.strerror or error}") from error
    return folder


def _write(file: Path, table: pd.DataFrame) -> None:
    """Write a table as Parquet; what is no plain value or list of texts stands as JSON."""
    ready = pd.DataFrame({name: _column(table[name]) for name in table.columns})
    ready.attrs.update(table.attrs)
    try:
        content = ready.to_parquet(index=False)
    except ImportError as error:
        raise SimkitError(f"writing Parquet needs pyarrow: {install_hint('fleet')}") from error
    write_whole(file, content)


def _column(column: pd.Series[Any]) -> Any:
    if str(column.dtype) != "object":
        return column.astype(str) if str(column.dtype) == "category" else column
    return [_cell(value) for value in column]


def _cell(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value) if isinstance(value, _PLAIN) else json.dumps(value, default=str)


Question = Callable[[Snapshot], pd.DataFrame]


def answered(member: Member, release: str | None, question: Question) -> pd.DataFrame:
    """The answer of one cluster, which is read where it is asked: only the table travels."""
    answer = question(member.snapshot(release))
    table = pd.DataFrame(answer)
    table.attrs.update(answer.attrs)
    return table


def audited(snapshot: Snapshot, **options: Any) -> pd.DataFrame:
    """All findings of an audit."""
    return audit(snapshot, **options).to_frame()


def checked(snapshot: Snapshot, suite: Suite) -> pd.DataFrame:
    """The outcomes of expectations."""
    return check(snapshot, suite).to_frame()


def compared(snapshot: Snapshot, golden: Member, release: str | None) -> pd.DataFrame:
    """The access of subjects beyond or below that in the golden cluster."""
    return compare(_golden(golden, release), snapshot)


@lru_cache(maxsize=1)
def _golden(member: Member, release: str | None) -> Snapshot:
    """The golden cluster, read once by each worker."""
    return member.snapshot(release)


@dataclass(frozen=True, slots=True)
class Failure:
    """A cluster that could not be asked, with the reason."""

    cluster: str
    reason: str


class FleetAnswer(Result):
    """The rows of all clusters together.

    Attributes
    ----------
    clusters
        The clusters that answered, in the order of the fleet.
    failures
        The others. One that fails does not keep the rest from answering.
    """

    def __init__(self, frame: pd.DataFrame, clusters: Sequence[str], failures: Sequence[Failure]) -> None:
        self._frame, self.clusters, self.failures = frame, tuple(clusters), tuple(failures)

    def __len__(self) -> int:
        return len(self._frame)

    def to_frame(self) -> pd.DataFrame:
        """One row for each row of each cluster: cluster, and the columns of the question."""
        return self._frame

    def failed(self) -> pd.DataFrame:
        """One row for each cluster that gave no answer: cluster, reason."""
        return ReadableFrame([(each.cluster, each.reason) for each in self.failures], columns=["cluster", "reason"])

    def summary(self) -> pd.DataFrame:
        """One row for each cluster: cluster, rows (none where it failed), reason (empty where it answered)."""
        counts: Mapping[Any, int] = self._frame["cluster"].value_counts().to_dict() if len(self._frame) else {}
        rows: list[tuple[str, int | None, str]] = [(name, int(counts.get(name, 0)), "") for name in self.clusters]
        rows += [(each.cluster, None, each.reason) for each in self.failures]
        return ReadableFrame(rows, columns=["cluster", "rows", "reason"])

    def __repr__(self) -> str:
        failed = f"; {len(self.failures)} failed" if self.failures else ""
        return f"<{len(self)} rows of {len(self.clusters)} clusters{failed}>"

    def _repr_html_(self) -> str:
        return f"<p>{html_text(repr(self))}</p>{ReadableFrame(self.summary())._repr_html_()}"

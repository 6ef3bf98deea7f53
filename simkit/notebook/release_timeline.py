"""A timeline of API versions with a slider over releases: what is served, deprecated and gone at each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import anywidget
import pandas as pd
import traitlets

from simkit.analysis.rbac.tables import table
from simkit.analysis.upgrade.timeline import timeline
from simkit.notebook.background import Background
from simkit.notebook.pages import PAGE, STATIC, Pages
from simkit.notebook.sections import PanelBox
from simkit.present.design import stylesheet
from simkit.present.readable_table import html_table
from simkit.schema.releases import RELEASES

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster

COLUMNS: Final = ("phase", "api_version", "kind", "since", "until", "objects", "news")
_ORDER: Final = ("removed", "deprecated", "alpha", "beta", "stable")
"""The phases as the table has them: what needs attention first."""


class VersionLanes(anywidget.AnyWidget):
    """Lanes of versions over releases, with a slider. The browser moves the line; it needs no kernel for that."""

    _esm = STATIC / "version_lanes.js"
    _css = stylesheet() + (STATIC / "version_lanes.css").read_text(encoding="utf-8")
    releases = traitlets.List(traitlets.Unicode()).tag(sync=True)
    lanes: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    release = traitlets.Unicode().tag(sync=True)

    def static_html(self) -> str:
        """The lanes as a table of phases, for readers without a kernel."""
        rows = [
            (lane["name"], ", ".join(f"{phase} from {self.releases[start]}" for phase, start, _ in lane["phases"]))
            for lane in self.lanes
        ]
        return html_table(("version", "phases"), rows) if rows else ""


class TimelinePanel(PanelBox):
    """The lives of API versions, and a table of those of the chosen release. The arrow keys move the slider.

    Examples
    --------
    >>> shown = TimelinePanel(api_groups=["batch"], release="1.24")
    >>> shown.wait()
    >>> shown.table.rows.query("kind == 'CronJob'")[["phase", "api_version"]].values.tolist()
    [['deprecated', 'batch/v1beta1'], ['stable', 'batch/v1']]
    """

    title = "API versions"

    def __init__(
        self,
        cluster: Cluster | None = None,
        *,
        api_groups: Iterable[str] | None = None,
        release: str | None = None,
        page: int = PAGE,
    ) -> None:
        self._cluster = cluster
        self._groups = None if api_groups is None else tuple(api_groups)
        self._lanes = pd.DataFrame()
        self.work = Background()
        start = release or (cluster.release if cluster is not None else RELEASES[-1])
        self.lanes = VersionLanes(releases=list(RELEASES), release=start)
        self.table = Pages(page=page, empty="No version of these groups is served at this release.", label="versions")
        super().__init__([self.work, self.lanes, self.table])
        self.lanes.observe(lambda _: self._show_release(), "release")
        self.table.clear()
        self.work.run("reading the versions of releases", self._read, self._show)

    def _read(self) -> pd.DataFrame:
        snapshot = self._cluster.snapshot() if self._cluster is not None else None
        return timeline(self._groups, snapshot=snapshot)

    def _show(self, lanes: pd.DataFrame) -> None:
        self._lanes = lanes
        shown = [(str(name), _spans(part)) for name, part in lanes.groupby("lane", sort=False)]
        self.lanes.lanes = [{"name": name, "phases": spans} for name, spans in shown if spans]
        self._show_release()

    def _show_release(self) -> None:
        """Fill the table with the versions of the chosen release, and with those that it gave up."""
        release = self.lanes.release
        now = RELEASES.index(release)
        lanes = [{str(key): value for key, value in each.items()} for each in self._lanes.to_dict("records")]
        goes_on = {each["lane"] for each in lanes if each["first"] == release}
        rows = [row for each in lanes if (row := _row(each, now, ends=each["lane"] not in goes_on))]
        rows.sort(key=lambda row: _ORDER.index(row[0]))
        known = any(row[5] is not None for row in rows)
        made = table(rows, COLUMNS)
        self.table.label = f"versions at {release}"
        self.table.show(made if known else made.drop(columns="objects"))


def _spans(part: pd.DataFrame) -> list[tuple[str, int, int]]:
    """The phases of a lane as positions in the releases: phase, first, and the one after the last."""
    found = []
    for phase, first, until in zip(part["phase"], part["first"], part["until"]):
        start, end = _position(first, 0), _position(until, len(RELEASES))
        if start < end:
            found.append((str(phase), start, end))
    return found


def _position(release: str, default: int) -> int:
    """The place of a release among those that are shown; earlier ones stand before the first."""
    if not release:
        return default
    minor = int(release.split(".")[1])
    return min(max(minor - int(RELEASES[0].split(".")[1]), 0), len(RELEASES))


def _row(lane: Mapping[str, Any], now: int, *, ends: bool) -> tuple[Any, ...] | None:
    """The row of a phase at a release; None if it is another one then. ``ends``: no phase of its lane begins there."""
    start, end = _position(lane["first"], 0), _position(lane["until"], len(RELEASES))
    came, here = RELEASES[now] == lane["first"], start <= now < end
    gone = ends and lane["until"] == RELEASES[now]
    if not here and not gone:
        return None
    news = "no longer served" if gone else f"{'deprecated' if lane['phase'] == 'deprecated' else 'new'}" if came else ""
    phase, since, until = ("removed", lane["until"], "") if gone else (lane["phase"], lane["first"], lane["until"])
    count = lane["objects"]
    objects = None if count is None or count != count else int(count)
    return phase, lane["api_version"], lane["kind"], since, until, objects, news


def timeline_panel(
    cluster: Cluster | None = None,
    *,
    api_groups: Iterable[str] | None = None,
    release: str | None = None,
    page: int = PAGE,
) -> TimelinePanel:
    """A timeline of API versions with a slider over releases; with a cluster also its objects in each version."""
    return TimelinePanel(cluster, api_groups=api_groups, release=release, page=page)

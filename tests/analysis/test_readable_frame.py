"""Tables as notebooks and terminals show them, and that they stay DataFrames."""

from __future__ import annotations

import pickle
from html.parser import HTMLParser

import pandas as pd
import pytest

import simkit
from simkit.analysis import ReadableFrame
from simkit.present.readable_table import MOST

pytestmark = pytest.mark.slow


class Cells(HTMLParser):
    """The texts of the cells of a page, and its heads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells, self.heads, self._into = list[str](), list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._into = {"td": self.cells, "th": self.heads}.get(tag, [])
        self._into.append("")

    def handle_data(self, data: str) -> None:
        if self._into:
            self._into[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._into = []


@pytest.fixture(scope="module")
def cluster() -> simkit.Cluster:
    return simkit.demo(seed=1)


def test_every_table_of_the_demo_is_for_people(cluster: simkit.Cluster) -> None:
    """No tuple, no True and no None; the numbers of rows and columns and the heads are those of the frame."""
    paths = cluster.escalations(goal="cluster-admin")
    tables = (
        *(cluster.who_can("get", "secrets"), cluster.permissions("group:oidc:helpdesk"), cluster.findings()),
        *(
            cluster.subjects(),
            cluster.bindings(),
            cluster.roles(),
            cluster.rules(),
            cluster.exposure(),
            cluster.reach(),
        ),
        *(paths.to_frame(), paths[0].to_frame(), cluster.audit().summary(), paths[0].prove().to_frame()),
        *(cluster.access_matrix(["group:oidc:helpdesk"]), cluster.risky_permissions("group:oidc:helpdesk")),
    )
    for rows in tables:
        assert isinstance(rows, ReadableFrame)
        shown, text = Cells(rows._repr_html_()), repr(rows)
        listed = min(len(rows), pd.get_option("display.max_rows"))
        assert len(shown.cells) == min(len(rows), MOST) * len(shown.heads)
        assert rows._repr_html_().count("<tr hidden>") == min(len(rows), MOST) - listed
        assert text.count("\n") >= listed
        assert shown.heads[-len(rows.columns) :] == list(rows.columns)
        assert not {"True", "False", "None", "nan", "()"} & {*shown.cells}
        assert not any(cell.startswith(("('", "['", "Categor")) for cell in shown.cells)


def test_derived_frames_are_readable_too(cluster: simkit.Cluster) -> None:
    """Filtered, sorted, joined and stored: pandas goes on with the same type, columns and values."""
    rows = cluster.who_can("get", "secrets")
    derived = (
        rows[rows["scope"] == "*"],
        rows.sort_values("subject").head(3),
        rows.merge(cluster.subjects(), on="subject"),
        rows.join(simkit.analysis.subject_parts(rows)),
        pd.concat([rows, rows]),
        pickle.loads(pickle.dumps(rows)),
    )
    assert {type(one) for one in derived} == {ReadableFrame}
    assert list(rows.columns) == [*pd.DataFrame(rows).columns]
    assert "role_kind" in repr(pd.DataFrame(rows.head(1)).T)
    assert all(type(names) is tuple for names in rows["names"])


def test_rows_that_are_not_shown_are_counted() -> None:
    """As many as pandas is told to show, and a sentence about the others."""
    rows = ReadableFrame({"number": range(5_000)})
    assert repr(rows).endswith("5,000 rows; these are the first 60")
    with pd.option_context("display.max_rows", None):
        assert repr(rows).count("\n") == 5_000


def test_an_index_that_says_something_is_shown() -> None:
    """Numbers of rows are not, whatever a filter leaves of them; names are."""
    rows = ReadableFrame({"number": [1, 2, 3]})
    assert repr(rows) == "number\n1\n2\n3"
    assert repr(rows[rows["number"] != 2]).split() == ["number", "1", "3"]
    counted = ReadableFrame({"api_group": ["apps", "", "apps"], "n": [1, 1, 1]}).groupby("api_group").sum()
    assert isinstance(counted, ReadableFrame)
    assert Cells(counted._repr_html_()).heads == ["api_group", "n"]


def test_texts_of_the_cluster_are_texts() -> None:
    """Markup in names is shown, lines do not break a row, and nothing acts on a terminal."""
    rows = ReadableFrame({"name": ["<script>alert(1)</script>", "a\nb\x1b[2J"], "<i>": [1, 2]})
    assert "<script>" not in rows._repr_html_()
    assert "<i>" not in rows._repr_html_()
    assert repr(rows).splitlines()[2].split() == ["a\\nb\\x1b[2J", "2"]
    assert "<b>" not in ReadableFrame({"<b>": []})._repr_html_()


def test_names_are_broken_between_their_words_and_dates_are_days() -> None:
    """A narrow page shows whole words: no kind, version or date is torn apart. What is copied has no breaks in it."""
    row = ("HorizontalPodAutoscaler", "autoscaling/v2beta2", pd.Timestamp("2022-08-23"), "0123456789abcdef" * 4)
    html = ReadableFrame([row], columns=["kind", "api_version", "date", "hash"])._repr_html_()
    assert "Horizontal<wbr>Pod<wbr>Autoscaler" in html
    assert "autoscaling/<wbr>v2beta2" in html
    assert '<td class="whole">2022-08-23</td>' in html
    assert "0123456789ab<wbr>cdef01234567" in html
    assert "overflow-wrap:anywhere" not in html, "which tears words as soon as a page is narrow"


def test_columns_are_found_by_the_names_that_are_shown() -> None:
    """What somebody reads in the head of a table names its column, alone and in a list."""
    rows = simkit.Cluster(seed=1).who_can("get", "secrets")
    assert list(rows["binding kind"]) == list(rows["binding_kind"])
    assert list(rows[["subject", "binding kind"]].columns) == ["subject", "binding_kind"]
    with pytest.raises(KeyError):
        rows["binding of a kind"]

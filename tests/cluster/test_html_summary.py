"""Clusters and trials show themselves in notebooks."""

from __future__ import annotations

import simkit
from tests.analysis.worlds import account, namespace


def test_a_cluster_shows_what_is_in_it() -> None:
    """Release, revision, and counts by resource and namespace; names cannot become markup."""
    cluster = simkit.load([namespace("dev"), account("dev", "<app>"), account("dev", "b")], captured=["*"])
    html = cluster._repr_html_()
    assert "release 1.30, 3 objects at revision" in html
    assert '<td>serviceaccounts</td><td class="number">2</td>' in html
    assert '<td>dev</td><td class="number">2</td>' in html
    assert "could not be read" not in html
    assert "1 things in the dump" in simkit.load([namespace("dev"), {"kind": "Pod"}])._repr_html_()
    assert "<p>2 more</p>" in simkit.Cluster(seed=1)._repr_html_()


def test_a_trial_says_what_it_is_a_fork_of() -> None:
    """The origin, and how far the trial has come."""
    with simkit.Cluster(seed=1).what_if() as trial:
        trial.apply(namespace("new"))
        assert repr(trial).startswith("<Trial on a fork of <Cluster release 1.30")
        assert "Trial on a fork of &lt;Cluster" in trial._repr_html_()

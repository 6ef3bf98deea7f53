"""The readiness for an upgrade as a page: everything of the report, escaped, without anything from outside."""

from __future__ import annotations

from pathlib import Path

import simkit
from simkit.cli import main
from simkit.cluster.report.page import upgrade_page, write_upgrade_page

HOSTILE = "<script>alert(1)</script>"
JOB = {"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": HOSTILE}, "spec": {}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "probe"},
    "spec": {"nodeSelector": {"node-role.kubernetes.io/master": ""}},
}


def test_the_page_has_it_all(tmp_path: Path) -> None:
    """Breaks with what to do, the plan hop by hop, the proof; names are escaped."""
    report = simkit.Cluster(release="1.23", seed=1).upgrade_report("1.25", manifests=[JOB, POD])
    path = write_upgrade_page(report, tmp_path / "pages" / "ready.html", proof=report.prove())
    text = path.read_text()
    for words in ("From 1.23 to 1.25", "batch/v1beta1 CronJob is not served any more", "Use batch/v1 CronJob",
                  "Pod probe spec.nodeSelector[node-role.kubernetes.io/master]", "<h2 id=\"proof\">", "data:image/png"):  # fmt: skip
        assert words in text
    assert HOSTILE not in text
    assert "sk-mark" in text.partition("<nav")[2].partition("</nav>")[0]
    assert "prefers-color-scheme: dark" in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "API clients were not checked" in text


def test_an_upgrade_without_breakages() -> None:
    """A page says so where nothing breaks."""
    assert "Nothing was found that breaks" in upgrade_page(simkit.Cluster(seed=1).upgrade_report("1.31"))


def test_the_command_writes_it(tmp_path: Path) -> None:
    """``--report`` writes the page beside the answer."""
    assert main(["upgrade", "--demo", "--to", "1.33", "--report", str(tmp_path / "ready.html")]) == 0
    assert "the demo cluster" in (tmp_path / "ready.html").read_text()

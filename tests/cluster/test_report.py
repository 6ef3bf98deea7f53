"""The report of an audit: nothing of the tables is missing, names are text, and changes are told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import date
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from simkit.analysis import audit
from simkit.analysis.findings.suppress import SuppressedAudit, Suppression, apply_suppressions
from simkit.cli import main
from simkit.cluster.report.comparison import compared, read_report
from simkit.cluster.report.document import Request, document
from simkit.cluster.report.page import write_page
from simkit.meta import datasets
from simkit.meta.errors import SimkitError
from simkit.snapshot.dump import Dump
from simkit.snapshot.load import load
from tests.analysis.escalation.scenes import pod, scene
from tests.analysis.worlds import account, binding, namespace, role, rule
from tests.security.hostile_cluster import HOSTILE, Elements
from tests.shared import SHARED, needs_shared

ADMIN = role("cluster-admin", rule("*", "*", groups="*"))
OBJECTS = [
    *(ADMIN, binding("ops-admin", "cluster-admin", "sa:ops/admin")),
    *scene(rule("create", "serviceaccounts/token"), place="ops"),
    *(namespace("shop"), account("shop", "web"), pod("shop", "web-0", "web")),
    binding("everyone", "cluster-admin", "group:system:authenticated", namespace="shop"),
    binding("gone", "deleted", "user:ann"),
]


def dump_of(*objects: dict[str, Any]) -> Dump:
    """A dump of objects, which are all there is."""
    text = orjson.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    return load(text, captured=["*"])


def everything(dump: Dump) -> SuppressedAudit:
    return SuppressedAudit(audit(dump.snapshot()), (), (), ())


def content(dump: Dump, sifted: SuppressedAudit | None = None, **more: Any) -> dict[str, Any]:
    return document(dump, sifted or everything(dump), Request("a test", **more))


def page_of(dump: Dump, target: Path, name: str) -> Path:
    """The page of a report about everything."""
    return write_page(document(dump, everything(dump), Request(name)), target)


def unpacked(block: dict[str, Any]) -> Any:
    """The content of a data block, as the script of the page reads it."""

    def read(value: Any) -> Any:
        if isinstance(value, dict) and "=" in value:
            return [dict(zip(value["="], map(read, row))) for row in value["of"]]
        if isinstance(value, dict):
            return {name: read(one) for name, one in value.items()}
        if isinstance(value, list):
            return [read(one) for one in value]
        return block["texts"][-1 - value] if isinstance(value, int) and value < 0 else value

    return read(block["rows"])


class Page(HTMLParser):
    """The elements of a page: ids, findings, references, all text, and the details that its script shows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.findings: list[dict[str, str]] = []
        self.references: list[str] = []
        self.scripts = 0
        self.told: list[str] = []
        self.feed(text)
        block = [text for text in self.told if text.startswith('{"rows":')][-1]
        self.data = unpacked(orjson.loads(block))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids += [found["id"]] if "id" in found else []
        self.findings += [found] if "data-f" in found else []
        self.references += [found[name] for name in ("src", "href") if name in found]
        self.scripts += tag == "script" and "type" not in found

    def handle_data(self, data: str) -> None:
        self.told.append(data)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The report of a small cluster."""
    target = page_of(dump_of(*OBJECTS), tmp_path_factory.mktemp("deep") / "er" / "report.html", "shop & <co>")
    return Page(target.read_text(encoding="utf-8"))


def test_no_finding_of_the_tables_is_missing(page: Page) -> None:
    """Each finding has an entry with its severity, its namespace and its check; ids are unique."""
    found = audit(dump_of(*OBJECTS).snapshot())
    lines = zip(page.findings, page.data["findings"])
    listed = sorted((line["data-f"], one["check"], one["namespace"]) for line, one in lines)
    assert len(page.findings) == len(page.data["findings"])
    assert listed == sorted((one.severity.word, one.check, one.namespace) for one in found.findings)
    text = " ".join(page.told)
    assert all(one.message in text for one in found.findings)
    assert len(page.ids) == len(set(page.ids))


def test_the_first_screen_says_what_matters(tmp_path: Path) -> None:
    """The verdict, how few causes explain the paths, the state of the dump with its hash, and the team of a finding."""
    source = tmp_path / "cluster.json"
    labelled = namespace("shop")  # of an object that is there twice, the later one counts
    labelled["metadata"] |= {"labels": {"x.example/team": "night"}, "creationTimestamp": "2026-05-04T03:02:01Z"}
    source.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": [*OBJECTS, labelled]}))
    made = content(load(source, captured=["*"]), sources=[source])
    assert made["verdict"] == "1 subject can become cluster-admin. Two changes close all 7 escalation paths."
    assert made["explained"]["paths"] >= 0.9 * made["totals"]["paths"]
    assert made["as_of"] == "2026-05-04T03:02:01Z"
    assert made["sha256"] == sha256(source.read_bytes()).hexdigest()
    assert {one["team"] for one in made["findings"] if one["namespace"] == "shop"} == {"night"}


def test_links_are_the_same_in_the_next_report() -> None:
    """Causes and ways keep their ids when others come before them; findings lead to their rules and to a proof."""
    old, new = content(dump_of(*OBJECTS[:-2])), content(dump_of(*OBJECTS))
    for name, words in (("causes", "text"), ("path_groups", "steps")):
        before, after = ({each["id"]: each[words] for each in made[name]} for made in (old, new))
        kept = before.keys() & after.keys()
        assert kept
        assert len(after) == len(new[name])
        assert all(before[each] == after[each] for each in kept)
    assert all("way_back" in each["remedy"] for each in new["causes"] if each["remedy"]["commands"])
    [minted] = [each for each in new["findings"] if each["check"] == "token-create"]
    assert minted["evidence"] == [{"rule": 0, "text": "create serviceaccounts/token"}]


def test_each_finding_is_at_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of its binding or role; without them at its service account or its namespace, in JSON and in SARIF."""
    source, told, sarif = tmp_path / "cluster.yaml", tmp_path / "r.json", tmp_path / "r.sarif"
    unbound = pod("shop", "root-0", "web", {"containers": [{"name": "c", "image": "i"}]})
    source.write_text(yaml.safe_dump_all([*OBJECTS, unbound]))
    main(["audit", str(source), "--complete", "*", "--json", str(told), "--sarif", str(sarif)])
    capsys.readouterr()
    lines = source.read_text().split("\n")
    made = orjson.loads(told.read_bytes())["findings"]
    assert {one["file"] for one in made} == {str(source), ""}  # some are about what is not written
    lacking = next(one for one in made if one["check"] == "network-policy")
    document = "\n".join(lines[lacking["line"] - 1 :]).split("---")[0]
    assert yaml.safe_load(document)["metadata"]["name"] == lacking["namespace"]
    results = orjson.loads(sarif.read_bytes())["runs"][0]["results"]
    places = sorted(one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in results)
    assert places == sorted(one["line"] or 1 for one in made)


def test_the_report_stands_alone(page: Page) -> None:
    """It refers to nothing outside of itself; links within it lead somewhere."""
    assert all(one.startswith("#") for one in page.references)
    assert {one[1:] for one in page.references} <= set(page.ids)
    assert page.scripts == 1
    text = " ".join(page.told)
    assert "shop & <co>" in text
    assert "RoleBinding shop/everyone grants ClusterRole cluster-admin" in text
    assert "What to change first" in text
    assert "proven" in text


def test_paper_has_details_of_what_is_worst_alone(tmp_path: Path) -> None:
    """The page says so; the script opens causes with a whole remedy, steps of the plan, and critical and high ones."""
    made = content(dump_of(*OBJECTS))
    text = write_page(made, tmp_path / "report.html").read_text()
    whole = sum("effect" in cause["remedy"] for cause in made["causes"])
    assert text.count(" data-full>") == whole > 0
    assert f"the details of the first {whole} causes and of critical and high findings" in text
    assert "[data-f=critical], [data-f=high]" in text


def test_places_lead_on(tmp_path: Path) -> None:
    """Each place of a path, each step of the plan and each namespace of the heat map leads to more of it."""
    made = content(dump_of(*OBJECTS))
    text = write_page(made, tmp_path / "report.html").read_text(encoding="utf-8")
    places = {step["target"] for group in made["path_groups"] for step in group["steps"]}
    assert {target for way in Page(text).data["ways"] for _, target, _ in way["steps"]} == places
    assert all(f'<td><a href="#s-{step["number"]}">' in text for step in made["plan"]["steps"])
    held = {row["namespace"] for row in made["exposure"]["rows"]} - {"*"}
    assert set(re.findall(r'data-namespace="([^"]*)"', text)) == held


@pytest.mark.slow
@needs_shared
def test_the_report_of_a_real_cluster(tmp_path: Path) -> None:
    """All findings of a dump of 25 products and a company, in a megabyte; the first cause first."""
    dump = load(SHARED / "datasets" / "operators-and-teams.json.gz")
    made = content(dump, goals=("cluster-admin",), best=1)
    target = write_page(made, tmp_path / "report.html")
    page = Page(target.read_text(encoding="utf-8"))
    assert len(page.findings) == len(audit(dump.snapshot())) == sum(made["counts"].values())
    assert len(page.ids) == len(set(page.ids))
    assert target.stat().st_size < 1_400_000
    assert "everyone-admin" in made["causes"][0]["text"]
    assert sum(cause["paths"] for cause in made["causes"]) == made["totals"]["paths"]


@pytest.mark.slow
def test_hostile_names_are_text(tmp_path: Path) -> None:
    """No name of a cluster whose names were chosen by an attacker becomes markup, script or a link."""
    target = page_of(load(HOSTILE, captured=["*"]), tmp_path / "report.html", "<script>alert(1)</script>")
    text = target.read_text(encoding="utf-8")
    assert not {letter for letter in text if not letter.isprintable() and letter not in "\n\t"}
    page = Page(text)
    assert page.scripts == 1
    elements = Elements(text)
    assert not {"img", "x", "iframe", "object", "svg:script"} & set(elements.names)
    assert not {name for name in elements.attributes if name.startswith("on")}
    assert all(one.startswith("#") for one in page.references)


def test_accepted_findings_are_shown_with_their_reason() -> None:
    """And until when; it counts nowhere else."""
    dump = dump_of(*OBJECTS)
    rule_of_thumb = Suppression(check="missing-role", reason="ticket 7", expires=date(2030, 1, 2))
    ended = Suppression(check="everybody", reason="long ago", expires=date(2020, 1, 1))
    sifted = apply_suppressions(audit(dump.snapshot()), [rule_of_thumb, ended], today=date(2026, 1, 1))
    made = content(dump, sifted)
    [accepted] = made["accepted"]
    assert (accepted["check"], accepted["reason"], accepted["expires"]) == ("missing-role", "ticket 7", "2030-01-02")
    assert "missing-role" not in {one["check"] for one in made["findings"]}
    assert made["suppressions_to_look_at"] == [{"what": "ended", "on": "2020-01-01", "reason": "long ago"}]


def test_changes_since_an_earlier_report(tmp_path: Path) -> None:
    """New, gone and worse findings and paths, and who wrote them."""
    old = content(dump_of(*OBJECTS[:-2]))
    new = content(dump_of(*OBJECTS))
    write = {
        "kind": "Event",
        "stage": "ResponseComplete",
        "verb": "create",
        "requestReceivedTimestamp": "2099-01-01T00:00:00Z",
        "user": {"username": "eve"},
        "objectRef": {"resource": "rolebindings", "namespace": "shop", "name": "everyone", "apiGroup": "rbac"},
        "responseStatus": {"code": 201},
    }
    changes = compared(new, old, [write])
    assert {one["check"] for one in changes["new"]} >= {"everybody", "missing-role"}
    assert changes["gone"] == []
    by = {one["check"]: one["by"] for one in changes["new"]}
    assert by["everybody"] == ["2099-01-01 00:00:00 user:eve create"]
    assert by["missing-role"] == []
    assert changes["paths_by"].keys() <= {" to ".join(pair) for pair in changes["paths_new"]}
    written = "2099-01-01 00:00:00 user:eve create RoleBinding shop/everyone"
    assert list(changes["paths_by"].values()) == [[written]] * len(changes["paths_by"]) != []
    accepts = Suppression(check="everybody", reason="known")
    sifted = apply_suppressions(audit(dump_of(*OBJECTS).snapshot()), [accepts], today=date(2026, 1, 1))
    since = compared(content(dump_of(*OBJECTS), sifted), new)
    assert ([one["check"] for one in since["accepted"]], since["gone"]) == (["everybody"], [])
    assert compared(old, new)["gone"]
    worse = {**new, "findings": [{**one, "severity": "critical"} for one in new["findings"]]}
    assert len(compared(worse, new)["worse"]) == sum(one["severity"] != "critical" for one in new["findings"])
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(SimkitError, match="is no report"):
        read_report(tmp_path / "no.json")


def test_no_table_is_empty(tmp_path: Path) -> None:
    """A plan without steps is a sentence, not a row of heads."""
    quiet = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    source, html = tmp_path / "quiet.json", tmp_path / "r.html"
    source.write_bytes(orjson.dumps(quiet))
    main(["audit", str(source), "--complete", "*", "--html", str(html)])
    text = html.read_text(encoding="utf-8")
    assert all(table.count("<tr") > 1 for table in text.split("<table")[1:])
    assert text.count("There is no escalation path to close.") == 2


@pytest.mark.slow
def test_the_command_writes_all_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """HTML, JSON and SARIF of one audit hold the same findings; the JSON is read back by --since."""
    source = tmp_path / "cluster.json"
    source.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    html, told, sarif = tmp_path / "r.html", tmp_path / "r.json", tmp_path / "r.sarif"
    words = ["audit", str(source), "--complete", "*", "--html", str(html), "--json", str(told), "--sarif", str(sarif)]
    assert main(words) == 1
    made = orjson.loads(told.read_bytes())
    log = orjson.loads(sarif.read_bytes())
    assert len(made["findings"]) == len(log["runs"][0]["results"])
    assert len(Page(html.read_text(encoding="utf-8")).findings) == len(made["findings"])
    capsys.readouterr()
    assert main(["audit", str(source), "--complete", "*", "--html", str(html), "--since", str(told)]) == 1
    assert "0 new findings, 0 worse, 0 gone" in capsys.readouterr().err
    assert "What changed since the report" in re.sub(r"\s+", " ", html.read_text(encoding="utf-8"))
    assert main(["audit", str(source), "--since", str(source)]) == 2
    watched = ["audit", str(source), "--complete", "*", "--since", str(told)]
    assert main([*watched, "--fail-on-new"]) == 0
    told.write_bytes(orjson.dumps({**made, "findings": made["findings"][1:]}))
    assert main([*watched, "--fail-on-new", "--fail-on", "info"]) == 1
    told.write_bytes(orjson.dumps({**made, "paths": []}))
    assert main([*watched, "--fail-on-new"]) == 1
    assert main(["audit", str(source), "--complete", "*", "--fail-on-new"]) == 2


@pytest.mark.slow
def test_the_page_of_the_demo_is_small(tmp_path: Path) -> None:
    """The page that everybody sees first has less than 700 KB."""
    cluster = load(datasets.path(datasets.DEMO))
    target = write_page(content(cluster), tmp_path / "report.html")
    assert target.stat().st_size < 700_000


@pytest.mark.slow
def test_a_report_is_the_same_in_every_process() -> None:
    """Its order does not depend on hashes, which are others in each process."""
    command = (
        "import orjson, sys; from tests.cluster.test_report import OBJECTS, content, dump_of; "
        "sys.stdout.buffer.write(orjson.dumps({**content(dump_of(*OBJECTS)), 'made': ''}))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", command], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1

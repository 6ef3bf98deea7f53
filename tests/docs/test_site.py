"""The site holds every page of docs, every notebook and every row of the tables, and its guides run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import simkit
from simkit.analysis.escalation.table.primitive import primitives
from simkit.analysis.findings import CHECKS
from simkit.cli import COMMANDS, main
from tools.site.__main__ import add_playground
from tools.site.catalogues import differences_page, findings_page, primitives_page
from tools.site.commands import command_pages
from tools.site.interface import interface_pages
from tools.site.sources import collect, relinked, site_paths, themed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
GUIDES = sorted([*(ROOT / "docs/how-to").glob("*.md"), ROOT / "docs/tutorials/first-hour.md"])
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_page_and_notebook_is_on_the_site(tmp_path: Path) -> None:
    """No link leads to a file that the site does not have."""
    written = collect(ROOT, tmp_path)
    assert {*site_paths(ROOT).values()} == {path.relative_to(tmp_path).as_posix() for path in written}
    assert "gaps.md" in site_paths(ROOT).values()
    made = {*command_pages(), *interface_pages(), *(f"reference/catalogues/{name}.md" for name in CATALOGUES)}
    for page in tmp_path.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.S)):
            wanted = (page.parent / link).resolve()
            assert wanted.exists() or wanted.relative_to(tmp_path.resolve()).as_posix() in made, (page, link)


CATALOGUES = ("findings", "primitives", "differences")


def test_links_become_those_of_the_site(tmp_path: Path) -> None:
    """Pages move; files that are no pages are named, and addresses stay."""
    (tmp_path / "pyproject.toml").touch()
    page, other, code = tmp_path / "docs/a.md", tmp_path / "CONTRIBUTING.md", tmp_path / "code.py"
    page.parent.mkdir()
    for path in (page, other, code):
        path.touch()
    places = {page: Path("/site/a.md"), other: Path("/site/contributing.md")}
    text = "[x](../CONTRIBUTING.md#set-up) [`code.py`](../code.py) [it](../code.py) [y](https://k8s.io/) [z](lost.md)"
    told = "[x](contributing.md#set-up) `code.py` it (`code.py`) [y](https://k8s.io/) [z](lost.md)"
    assert relinked(text, page, places) == told


def test_the_site_shows_the_picture_of_its_theme() -> None:
    """Markup that code hosts read becomes two images, of which one is shown."""
    text = '<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="b.png">\n  <img alt="x" src="a.png">\n</picture>'
    first, second = themed(text).split("\n\n")
    assert ("a.png" in first, ":class: only-light" in first) == (True, True)
    assert ("b.png" in second, ":class: only-dark" in second) == (True, True)


def test_the_catalogues_are_complete() -> None:
    """Every check, every primitive, with its proof or the reason why it is not executed."""
    findings, shown = findings_page(), primitives_page({"C5": "proven: a proof"})
    assert [check.id for check in CHECKS if f"## {check.id}\n" not in findings] == []
    assert [one.id for one in primitives().primitives if f"### {one.id}: {one.title}" not in shown] == []
    assert shown.count("Not executed: ") == sum(bool(one.not_executable) for one in primitives().primitives)
    assert "proven: a proof" in shown
    assert "| watch | watch-bookmarks-and-errors | 2 |" in differences_page(ROOT)


def test_the_reference_names_every_command_and_every_public_name() -> None:
    """Commands with their options, and all names of simkit and simkit.analysis."""
    commands, library = command_pages(), interface_pages()
    assert {f"reference/commands/{command.name}.md" for command in COMMANDS} < set(commands)
    assert "--audit-log PATH" in commands["reference/commands/upgrade.md"]
    analysis = library["reference/library/analysis.md"]
    assert [name for name in simkit.analysis.__all__ if f" simkit.analysis.{name}\n" not in analysis] == []
    assert ".. automethod:: simkit.Cluster.who_can\n" in library["reference/library/cluster.md"]


def test_a_site_without_node_says_why_the_playground_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link to it leads to a page with one sentence."""
    monkeypatch.setattr("tools.site.__main__.TARGET", tmp_path)
    for part in ("__main__", "lessons"):
        monkeypatch.setattr(f"tools.playground.{part}.TARGET", tmp_path / "built")
    monkeypatch.setenv("PATH", "")
    add_playground()
    assert "there is no npm" in (tmp_path / "playground/index.html").read_text()


SHOWN = re.compile(r"^```sh\n(simkit [^\n]+)\n```\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_first_page_shows_what_commands_print(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line below a command is a line of its answer, but for spaces and columns at the right that are left out."""
    shown = SHOWN.findall((ROOT / "docs" / "index.md").read_text())
    assert len(shown) == 3
    for command, text in shown:
        main(shlex.split(command)[1:])
        told = capsys.readouterr()
        lines = [" ".join(line.split()) for line in (told.out + told.err).splitlines()]
        for line in text.splitlines():
            assert any(one.startswith(" ".join(line.split())) for one in lines), line


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_commands_of_guides_work_on_the_demo_cluster(guide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands with ``--demo`` answer, with 1 where they find something; Python that starts with an import runs."""
    for language, text in BLOCK.findall(guide.read_text()):
        if language == "python" and text.startswith("import simkit\n") and "simkit.load" not in text:
            exec(compile(text, str(guide), "exec"), {})
        for line in text.splitlines() if language == "sh" else ():
            if line.startswith("simkit ") and "--demo" in line:
                assert main(shlex.split(line, comments=True)[1:]) in (0, 1), line
                told = capsys.readouterr()
                assert told.out or "nothing breaks" in told.err, line

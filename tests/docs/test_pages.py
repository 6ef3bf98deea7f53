"""The names on the pages of docs exist: files, links, commands, upstream words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simkit.cli import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
FOLDERS = ("", "simkit", "tests", "docs")
"""Where the paths of a page may start."""
MADE = re.compile(r"reference/(commands|library|catalogues)/")
"""Pages of the site that are made of parsers, docstrings and tables: tests/docs/test_site.py knows them."""
UPSTREAM = ("k8s.io/", "pkg/", "build/")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    """Every path of a Python file, notebook, page or folder of the repository is there, and every relative link."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    named = {
        word.partition("::")[0] for word in re.findall(r"`([\w./-]+/[\w./-]+\.(?:py|ipynb|md|json))(?:::\w+)?`", text)
    }
    lost = [word for word in named if not word.startswith(UPSTREAM) and not _exists(word)]
    assert lost == []
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
    assert [link for link in links if not MADE.search(link) and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_that_a_page_names_exist(page: Path) -> None:
    """``simkit`` is followed by a command."""
    if page.name == "CHANGELOG.md":
        return
    text = page.read_text()
    shell = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    words = {*re.findall(r"`simkit ([a-z][a-z-]+)", text), *re.findall(r"^simkit ([a-z][a-z-]+)", shell, re.MULTILINE)}
    assert words - {command.name for command in COMMANDS} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tests_that_a_page_names_exist(page: Path) -> None:
    """A test that shows something is in the file that is named."""
    named = re.findall(r"`([\w./-]+\.py)::(\w+)`", page.read_text())
    lost = [f"{file}::{test}" for file, test in named if f"def {test}(" not in _text(file)]
    assert lost == []


def test_no_page_speaks_of_the_real_server() -> None:
    """Pages name kube-apiserver."""
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]
    assert [page.name for page in pages if "real server" in page.read_text()] == []


def _text(word: str) -> str:
    return next(((ROOT / folder / word).read_text() for folder in FOLDERS if (ROOT / folder / word).is_file()), "")


def _exists(word: str) -> bool:
    return any((ROOT / folder / word).exists() for folder in FOLDERS)

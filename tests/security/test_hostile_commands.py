"""The command lines of ``hostile_commands``, and that they are all: a cluster of chosen names in every output."""

from __future__ import annotations

import io
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import orjson
import pytest

from simkit import cli
from simkit.cli import limits, main
from simkit.snapshot.load import load
from tests.security.hostile_cluster import (
    HOSTILE,
    OURS,
    Elements,
    assert_shown_as_text,
    assert_visible,
    formulas,
    rendered,
)
from tests.security.hostile_commands import CHOOSING, FILES, PROSE, REFUSED, SHOWING_NOTHING, TABLES, parsers_of
from tests.security.hostile_files import write_hostile_files

FORMS = ("table", "json", "jsonl", "csv", "markdown", "html")
LINES = [(name, form) for name, form in product(TABLES, FORMS) if ", " not in name or form in ("table", "markdown")]
"""All forms of each command; of variants of it what people read."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the words in capitals of command lines stand for."""
    folder = tmp_path_factory.mktemp("hostile")
    found = write_hostile_files(folder) | {name: str(folder / name) for name in ("EARLIER", "KNOWN")}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stdout", io.StringIO())
        assert main(["audit", HOSTILE, "--complete", "*", "--json", found["EARLIER"]]) == 1
        assert main(["audit", HOSTILE, "--complete", "*", "--write-baseline", found["KNOWN"]]) == 0
    return found


def _run(words: tuple[str, ...], files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> str:
    code = main([_path(word, files) for word in words])
    out, err = capsys.readouterr()
    has_third = words[0] == "plan" or any(words[: len(line)] == line for line in REFUSED)
    assert code in (0, 1, 2 if has_third else 1), err
    assert_shown_as_text(out + err)
    return out


def _path(word: str, files: dict[str, str]) -> str:
    folder, _, name = word.partition("/")
    return f"{files['TO']}/{name}" if folder == "TO" else files.get(word, word)


SCROLLED = '<div style="overflow-x:auto" tabindex="0">'
"""What stands around tables that are wider than the page."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), LINES)
def test_every_output_shows_names_as_names(
    name: str, form: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables, JSON, CSV, markdown and HTML of every command: nothing is executed, rendered or calculated."""
    out = _run((*TABLES[name], "-o", form), files, capsys)
    if form == "json" and (out or TABLES[name] not in REFUSED):
        assert orjson.loads(out) is not None
    if form == "html" and out:
        page = Elements(out.replace(SCROLLED, ""))
        notes, table = page.names[: page.names.index("table")], page.names[page.names.index("table") :]
        assert set(notes) <= {"meta", "title", "style", "p", "b", "div"}
        assert notes.count("p") == notes.count("b")
        assert set(table) <= {"table", "thead", "tbody", "tr", "th", "td", "wbr"}
        assert page.attributes <= {"charset", "class", "name", "content"}
        assert page.classes <= {"simkit", "number", "long", "whole"}
    if form == "csv":
        assert formulas(out) == []
    if form == "markdown":
        page = rendered(out)
        assert set(page.names) <= OURS | {"blockquote"}
        quotations = [line for line in out.splitlines() if line.startswith(">")]
        assert set(quotations) <= set(limits.quoted().splitlines())
        assert page.names.count("blockquote") == len(quotations)
        assert page.attributes <= {"class", "style"}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROSE)
def test_explanations_and_commands_show_names_as_names(
    name: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Texts beside tables show names as text, too."""
    _run(PROSE[name], files, capsys)


def test_a_comment_cannot_be_forged(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """``diff -o markdown`` has one headline and one fold, whatever users are called."""
    page = rendered(_run((*TABLES["diff"], "-o", "markdown"), files, capsys))
    assert [page.names.count(name) for name in ("h3", "details")] == [1, 1]


def test_steps_in_markdown_are_a_block(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """The steps of paths are shown as they are, whatever stands in them."""
    page = rendered(_run((*PROSE["details"], "-o", "markdown"), files, capsys))
    assert set(page.names) <= OURS | {"blockquote"}
    assert page.names.count("pre") == 1


def _choices(words: tuple[str, ...]) -> set[str]:
    """The forms that a command line may be written in."""
    options = (each for parser in parsers_of(words[0]) for each in parser._actions)
    return {str(form) for each in options if each.dest == "output" for form in each.choices or ()}


NO_REPORTS = {"--plan", "--prove"}
"""Options of ``upgrade`` and ``removal-report`` with tables of their own, which are no reports."""
REPORTS = [
    name
    for name, words in TABLES.items()
    if "sarif" in _choices(words) and not (words[0] in ("upgrade", "removal-report") and NO_REPORTS & set(words))
]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["junit", "sarif"])
@pytest.mark.parametrize("name", REPORTS)
def test_reports_for_build_servers(
    name: str, form: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """XML is well-formed; texts of SARIF hold no links, rules no markup, and all of it can be seen."""
    out = _run((*TABLES[name], "-o", form), files, capsys)
    if form == "junit":
        assert ElementTree.fromstring(out).tag == "testsuite"
        return
    [run] = orjson.loads(out)["runs"]
    texts = [result["message"]["text"] for result in run["results"]]
    for rule in run["tool"]["driver"]["rules"]:
        texts += [rule["shortDescription"]["text"], rule["fullDescription"]["text"], rule["help"]["text"]]
        page = rendered(rule["help"]["markdown"])
        assert set(page.names) <= OURS
        assert_visible(f"{rule['id']}{rule['name']}")
    for text in texts:
        assert_visible(text)
        assert "](" not in text.replace("\\]", "")


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_files_show_names_as_names(name: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """So do files; what holds objects for programs, such as a dump, has them as they are."""
    before = {path: path.stat().st_mtime_ns for path in Path(files["TO"]).rglob("*")}
    _run(FILES[name], files, capsys)
    written = [path for path in Path(files["TO"]).rglob("*") if path.is_file() and path not in before]
    for path in written:
        if path.suffix in (".html", ".sarif", ".svg") or path.name in ("report.json", "known.json"):
            assert_visible(path.read_text(encoding="utf-8"))
        if path.suffix == ".xlsx":
            book = pytest.importorskip("openpyxl").load_workbook(path)
            rows = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
            assert not [cell for cell in rows if cell.data_type == "f"]
        if path.suffix == ".html":
            page = Elements(path.read_text(encoding="utf-8"))
            assert not {"iframe", "object", "embed", "x", "base"} & set(page.names)
            assert page.names.count("form") <= 1  # the filters of the findings
            assert not {each for each in page.attributes if each.startswith("on")}


def test_every_command_and_option_is_among_the_lines() -> None:
    """A command or option that is new has a line here, or a word on why it shows nothing of a cluster."""
    lines = [*TABLES.values(), *PROSE.values(), *FILES.values()]
    known = {command.name for command in cli.COMMANDS}
    assert {words[0] for words in lines} | set(SHOWING_NOTHING) == known
    assert not {words[0] for words in lines} & set(SHOWING_NOTHING)
    missing = []
    for command in sorted(known - set(SHOWING_NOTHING)):
        given = {word for words in lines if words[0] == command for word in (word.partition("=")[0] for word in words)}
        for option in (each for parser in parsers_of(command) for each in parser._actions):
            names = {name.lstrip("-") for name in option.option_strings}
            if names and not names & CHOOSING and not given & set(option.option_strings):
                missing.append((command, option.option_strings))
    assert not missing


def test_a_redacted_dump_can_be_read_again(
    tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """``redact`` keeps the objects, and pseudonyms replace every chosen name of a subject."""
    target = tmp_path / "shared.json"
    _run(("redact", HOSTILE, "--pseudonyms", "--to", str(target)), files, capsys)
    assert len(load(target)) == len(load(HOSTILE))

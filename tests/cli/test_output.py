"""The formats of answers, and what a terminal shows of them."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import orjson
import pytest

from simkit.cli import COMMANDS, completion, main
from simkit.cli.output import FORMATS
from tests.analysis.worlds import binding, role, rule
from tests.security.hostile_cluster import HOSTILE, assert_visible

RUN = "import sys; from simkit.cli import main; sys.exit(main())"
OBJECTS = [
    role("cluster-admin", rule("*", "*", groups="*")),
    role("secrets", rule("get,list", "secrets"), namespace="dev"),
    binding("ops", "cluster-admin", "group:devs", "user:ann"),
    binding("narrow", "secrets", "user:bob|eve", namespace="dev", local=True),
]
TABLES = (
    "who-can get secrets --dump DUMP --complete * --authorization-mode RBAC",
    "can-i --list --as user:ann --dump DUMP --complete * --authorization-mode RBAC",
    "releases",
    "diff EMPTY DUMP --complete * --authorization-mode RBAC",
    "escalations DUMP --complete * --authorization-mode RBAC --direct --goal cluster-admin",
    "audit DUMP --complete * --authorization-mode RBAC",
    "upgrade --demo --from 1.16 --to 1.37 --all",
    "removal-report rbac.authorization.k8s.io/v1 --dump DUMP",
    "policy check --kubernetes batch",
    "check SUITE --dump DUMP --complete * --authorization-mode RBAC",
)
FAULTY = TABLES[4:]


@pytest.fixture
def files(tmp_path: Path) -> Mapping[str, str]:
    """A dump, one without subjects, and a file of expectations, one of which is broken."""
    found = {"DUMP": tmp_path / "dump.json", "EMPTY": tmp_path / "empty.json", "SUITE": tmp_path / "suite.yaml"}
    found["DUMP"].write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    found["EMPTY"].write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS[:2]}))
    found["SUITE"].write_text(
        "expectations: [{name: bob reads nothing, "
        "cannot: {subject: 'user:bob|eve', verb: get, resource: secrets, namespace: dev}}]"
    )
    return {name: str(path) for name, path in found.items()}


def words(command: str, files: Mapping[str, str], *more: str) -> list[str]:
    return [*(files.get(word, word) for word in command.split()), *more]


class Cells(HTMLParser):
    """Counts the rows of a page, and closes what it opens."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows, self.open = 0, list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.rows += tag == "tr"
        if tag not in ("meta", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.slow
@pytest.mark.parametrize("command", TABLES)
def test_every_table_has_every_format(
    command: str, files: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The same exit code, and the same rows in all formats for programs."""
    told, codes = {}, set()
    for form in FORMATS:
        codes.add(main(words(command, files, "-o", form)))
        told[form] = capsys.readouterr().out
    assert codes <= {0} or codes <= {1}
    lines = [orjson.loads(line) for line in told["jsonl"].splitlines()]
    value = orjson.loads(told["json"])
    assert (value["findings"] if command.startswith("audit") else value) == lines
    rows = list(csv.reader(io.StringIO(told["csv"])))
    assert len(rows) == len(lines) + 1
    assert rows[0] == list(lines[0])
    page = Cells(told["html"])
    assert page.open == []
    assert page.rows >= 2
    assert len(told["wide"].splitlines()[0].split()) >= len(rows[0])
    assert told["markdown"].startswith(("| ", "|--", "### "))


@pytest.mark.parametrize("command", FAULTY)
def test_commands_that_find_faults_report_to_build_servers(
    command: str, files: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """As SARIF and as JUnit, each fault once; the exit code stays that of the table."""
    code = main(words(command, files))
    capsys.readouterr()
    assert main(words(command, files, "-o", "sarif")) == code
    log = orjson.loads(capsys.readouterr().out)["runs"][0]
    assert {one["ruleId"] for one in log["results"]} <= {one["id"] for one in log["tool"]["driver"]["rules"]}
    assert main(words(command, files, "-o", "junit")) == code
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert int(suite.attrib["tests"]) == len(suite)
    if code == 1:
        assert log["results"]
        assert int(suite.attrib["failures"]) > 0


def test_other_commands_have_no_such_report(files: Mapping[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(TABLES[0], files, "-o", "sarif")) == 2
    assert "see simkit who-can --help" in capsys.readouterr().err


def test_an_empty_answer_stays_what_it_is(files: Mapping[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """JSON stays JSON, CSV keeps its header; people are told."""
    empty = [
        "escalations",
        files["EMPTY"],
        "--complete",
        "*",
        "--goal",
        "cluster-admin",
        "--authorization-mode",
        "RBAC",
    ]
    shown = {}
    for form in (*FORMATS, "sarif", "junit"):
        assert main([*empty, "-o", form]) == 0
        shown[form] = capsys.readouterr()
    assert orjson.loads(shown["json"].out) == []
    assert shown["jsonl"].out == ""
    assert shown["csv"].out.startswith("subject,")
    assert (shown["table"].out, shown["table"].err) == ("", "simkit: no path was found\n")
    assert orjson.loads(shown["sarif"].out)["runs"][0]["results"] == []
    assert ElementTree.fromstring(shown["junit"].out).attrib["failures"] == "0"


def test_quiet_leaves_notes_out(files: Mapping[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Before the command and behind it; errors are still said."""
    command = ["diff", files["DUMP"], files["DUMP"], "--complete", "*", "--authorization-mode", "RBAC"]
    assert main(command) == 0
    assert capsys.readouterr().err
    for quiet in (["--quiet", *command], [*command, "--quiet"]):
        assert main(quiet) == 0
        assert capsys.readouterr().err == ""
    assert main(["diff", "missing", "missing", "--quiet"]) == 2
    assert capsys.readouterr().err


def test_quiet_leaves_out_notes_beside_the_answer(
    files: Mapping[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Written files, open paths of a cut and its verification are notes like all others."""
    target = str(tmp_path / "out.json")
    for command in (
        ["redact", files["DUMP"], "--to", target],
        ["audit", files["DUMP"], "--complete", "*", "--write-baseline", target],
        ["cut", files["DUMP"], "--complete", "*", "--direct", "--verify", "--authorization-mode", "RBAC"],
    ):
        assert main(command) in (0, 1)
        assert capsys.readouterr().err.startswith("simkit: ")
        assert main([*command, "--quiet"]) in (0, 1)
        assert capsys.readouterr().err == ""


def test_an_audit_log_can_be_piped_in(
    files: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``-`` is standard input, packed or not, as it is for dumps."""
    event = {"kind": "Event", "verb": "get", "user": {"username": "ann"}, "objectRef": {"resource": "secrets"}}
    command = ["least-privilege", files["DUMP"], "--complete", "*", "--audit-log", "-", "--unused", "-o", "json"]
    answers = []
    for content in (orjson.dumps(event), gzip.compress(orjson.dumps(event))):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert main(command) == 1
        answers.append(orjson.loads(capsys.readouterr().out))
    assert answers[0] == answers[1] != []


def on_terminal(arguments: list[str], lines: int = 24, columns: int = 80, **environment: str) -> str:
    """The output of a command to a terminal of a size."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    size = {"LINES": str(lines), "COLUMNS": str(columns), "TERM": "xterm-256color", **environment}
    variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "PAGER")} | size
    process = subprocess.Popen([sys.executable, "-c", RUN, *arguments], stdout=follower, env=variables)
    os.close(follower)
    told = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # Linux says so where the other end is closed
            break
        if not part:
            break
        told += part
    os.close(leader)
    process.wait(60)
    return told.decode().replace("\r\n", "\n")


@pytest.mark.slow
def test_a_terminal_shows_all_of_a_table(files: Mapping[str, str]) -> None:
    """Long cells go over several lines, nothing is cut off, headings are bold; without colours where one says so."""
    command = words(TABLES[0], files)
    told = on_terminal(command, columns=60)
    assert "\x1b[1m" in told
    assert "…" not in told
    plain = on_terminal([*command, "--no-color"], columns=60)
    assert "\x1b[3" not in plain
    lines = re.sub(r"\x1b\[\d+m", "", plain).splitlines()
    assert max(map(len, lines)) <= 60
    piped = subprocess.run([sys.executable, "-c", RUN, *command], capture_output=True, check=True, text=True).stdout
    assert sorted("".join(lines).replace(" ", "")) == sorted("".join(piped.split()))
    assert "\x1b[31m" not in on_terminal(words(TABLES[5], files), NO_COLOR="1")
    assert "\x1b[1;31m" in on_terminal(words(TABLES[5], files))


@pytest.mark.slow
def test_long_answers_go_through_the_pager(files: Mapping[str, str]) -> None:
    """On a terminal alone, and where they are longer than that."""
    pager = f"{sys.executable} -c \"import sys; print('PAGED', len(sys.stdin.readlines()) > 10)\""
    assert on_terminal(["releases"], lines=10, PAGER=pager).startswith("PAGED True")
    assert "PAGED" not in on_terminal(["releases", "--no-pager"], lines=10, PAGER=pager)
    assert "PAGED" not in on_terminal(["releases"], lines=100, PAGER=pager)
    done = subprocess.run(
        [sys.executable, "-c", RUN, "releases"], capture_output=True, check=True, env={**os.environ, "PAGER": pager}
    )
    assert b"PAGED" not in done.stdout


def completed(line: str, folder: Path) -> set[str]:
    """The proposals of a shell at the end of a line."""
    out = folder / "offered"
    variables = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n"}
    variables |= {"_ARGCOMPLETE_SUPPRESS_SPACE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(out)}
    subprocess.run([sys.executable, "-c", RUN], env={**os.environ, **variables}, check=True, capture_output=True)
    return set(filter(None, out.read_text().split("\n")))


@pytest.mark.slow
def test_shells_complete_commands_kinds_and_names(files: Mapping[str, str], tmp_path: Path) -> None:
    """Commands, options, formats; kinds of the release; namespaces and subjects of the dump on the line."""
    assert completed("simkit ", tmp_path) >= {command.name for command in COMMANDS}
    assert "--namespace" in completed("simkit who-can get secrets --", tmp_path)
    assert {"secrets", "serviceaccounts"} <= completed("simkit who-can get se", tmp_path)
    dump = f"simkit can-i get roles --dump {files['DUMP']}"
    assert completed(f"{dump} -n ", tmp_path) == {"dev"}
    assert completed(f"{dump} --as ", tmp_path) == {"group:devs", "user:ann", r"user:bob\|eve"}


@pytest.mark.slow
def test_no_name_of_a_dump_is_an_option_or_acts_on_the_terminal(tmp_path: Path) -> None:
    """Names that begin like options, or cannot be seen, are not offered; others are quoted for the shell."""
    offered = completed(f"simkit bindings {HOSTILE} -n ", tmp_path) | completed(
        f"simkit bindings {HOSTILE} --subject ", tmp_path
    )
    assert {"hostile", r"user:x\;touch\ pwned"} <= offered
    for word in offered:
        assert_visible(word)
        assert not word.startswith("-")
        assert not re.search(r"(?<!\\)[;`$&|!\"'()<> ]", word)


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_completion_scripts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One for each shell, which asks simkit itself."""
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "_ARGCOMPLETE" in script
    assert "simkit" in script


def test_the_list_of_commands_says_what_they_are_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Examples first, then the commands by what one wants to do."""
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    assert told.index("examples:") < told.index("ask who may do what:") < told.index("who-can") or "who-can" in told
    for group in {command.group for command in COMMANDS}:
        assert f"\n{group}:\n" in told


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_examples_come_before_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The usage is one line."""
    assert main([command, "--help"]) == 0
    told = capsys.readouterr().out
    assert told.index("examples:") < told.index("\noptions:")
    assert told.split("\n\n")[0].count("\n") == 0


def test_an_empty_namespace_is_refused(files: Mapping[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """It may come from a variable that is not set, and would mean everywhere."""
    for command in ("who-can get secrets", "can-i get secrets --as user:ann"):
        assert main([*command.split(), "--dump", files["DUMP"], "-n", ""]) == 2
        assert "an empty text names no namespace" in capsys.readouterr().err

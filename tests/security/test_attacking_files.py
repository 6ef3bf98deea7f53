"""Every reader of files gets every attack: it ends in an answer or in a message, and in nothing else."""

from __future__ import annotations

import itertools
from pathlib import Path
from unittest.mock import Mock

import pytest

from simkit import cli
from simkit.cli import main
from tests.security.attacking_files import ATTACKS, READERS, READERS_OF_DUMPS, WRITTEN
from tests.security.hostile_commands import parsers_of
from tests.security.hostile_files import write_hostile_files

LARGE = 90_000
EMPTY = '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}'
FORBIDDEN = ("Traceback", "a fault of simkit", "\x1b]52", "\x00")


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_an_attacking_file(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No error of ours, no letters for the terminal, no file that was not asked for, no work without end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("simkit.engine.http.server.Server.run", lambda *_: None)
    monkeypatch.setattr("simkit.cli.mcp.server_of", lambda _: Mock())
    (tmp_path / "EMPTY.json").write_text(EMPTY)
    others = write_hostile_files(tmp_path) | {"EMPTY": str(tmp_path / "EMPTY.json")}
    wrong = []
    for name, content in ATTACKS.items():
        if READERS[reader] in READERS_OF_DUMPS and len(content) > LARGE:
            continue  # all of them are read in one way, which others try
        words = [others.get(word) or _path(word, name, content, tmp_path) for word in READERS[reader]]
        code = _ended(words)
        written = "".join(capsys.readouterr())
        told = [text for text in FORBIDDEN if text in written]
        if code not in (0, 1, 2) or told or any(tmp_path.rglob("pwned")):
            wrong.append((name, code, told, written[-300:]))
    assert not wrong


def test_every_reader_is_attacked() -> None:
    """An option that names a file or a folder is among the readers, under one of its commands, or is written."""
    named = {
        option
        for command in cli.COMMANDS
        for parser in parsers_of(command.name)
        for action in parser._actions
        if action.metavar in ("FILE", "PATH", "DIR", "FOLDER") and action.option_strings
        for option in action.option_strings[-1:]
    }
    words = [pair for line in READERS.values() for pair in itertools.pairwise(line)]
    read = {option for option, word in words if word.startswith("FILE")}
    aliases = {"--dump": "-f", "--filename": "-f"}
    assert {one for one in named if not {one, aliases.get(one, one)} & read} == WRITTEN


def test_every_command_is_attacked_by_its_dump() -> None:
    """A command that reads a dump or manifests has a line that reads the attack in its place.

    Exports of providers are attacked by themselves: ``test_hostile_providers``.
    """
    readers = {
        command.name
        for command in cli.COMMANDS
        for parser in parsers_of(command.name)
        for action in parser._actions
        if action.dest == "dump" or (action.metavar == "PATH" and action.dest != "cloud")
    }
    attacked = {words[0] for words in READERS.values() if any(word.startswith("FILE") for word in words)}
    assert readers <= attacked


def _path(word: str, name: str, content: bytes, folder: Path) -> str:
    """The word of a command line, and the file that it names."""
    if not word.startswith("FILE"):
        return word
    suffix = word.removeprefix("FILE") or (".tar.gz" if content[:2] == b"\x1f\x8b" else ".yaml")
    path = folder / f"{name.replace(' ', '-')}{suffix}"
    path.write_bytes(content)
    return str(path)


def _ended(words: list[str]) -> object:
    try:
        return main(words)
    except SystemExit as end:
        return end.code
    except BaseException as error:  # an error of ours, which the assertion shows
        return repr(error)

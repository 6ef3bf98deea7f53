"""The static token file, line by line."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from simkit.engine.authn.token_sources import parse_tokens, read_tokens
from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials


@pytest.mark.parametrize(("line", "identity"), [
    ("t,ann,7", Identity("ann", (), "7")),
    ('t,ann,7,"devs,ops"', Identity("ann", ("devs", "ops"), "7")),
    ("t,ann,7,devs", Identity("ann", ("devs",), "7")),
    ('t,ann,7,"devs,ops",night', Identity("ann", ("devs", "ops", "night"), "7")),
    ('t,"ann, the first",,', Identity("ann, the first", (), "")),
])  # fmt: skip
def test_columns(line: str, identity: Identity) -> None:
    """Token, user, uid, then groups: several in the fourth column, one in each further one."""
    assert parse_tokens([line]) == {"t": identity}


def test_a_file(tmp_path: Path) -> None:
    """A file of several lines, with an empty one between them."""
    path = tmp_path / "tokens.csv"
    path.write_text('a,ann,1\n\nb,bob,2,"x,y"\n')
    tokens = read_tokens(path)
    assert tokens.authenticate(Credentials("b")) == Identity("bob", ("x", "y"), "2")
    assert tokens.authenticate(Credentials("c")) is None
    assert tokens.authenticate(Credentials()) is None


@pytest.mark.parametrize(("text", "where"), [
    ("a,ann,1\nb,bob\n", "line 2: must have at least 3 columns .*found 2"),
    ('a,ann,1\n"b"x,bob,2\n', "line 2: "),
])  # fmt: skip
def test_broken_lines_are_named(tmp_path: Path, text: str, where: str) -> None:
    """An error names the file and the line."""
    path = tmp_path / "tokens.csv"
    path.write_text(text)
    with pytest.raises(SimkitError, match=f"tokens.csv, {where}"):
        read_tokens(path)


def test_unreadable_files(tmp_path: Path) -> None:
    """A missing file, and one that is no text, are wrong use and not a crash."""
    (tmp_path / "binary").write_bytes(b"\xff\xfe,a,b")
    for name in ("missing", "binary"):
        with pytest.raises(SimkitError, match="cannot be read"):
            read_tokens(tmp_path / name)


def test_empty_and_repeated_tokens(caplog: pytest.LogCaptureFixture) -> None:
    """An empty token is skipped, of a repeated one the last line counts; the log says so."""
    with caplog.at_level(logging.WARNING, "simkit.authn"):
        table = parse_tokens([",ann,1", "t,bob,2", "t,carl,3"], "file")
    assert {token: identity.user for token, identity in table.items()} == {"t": "carl"}
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["file, line 1", "file, line 3"]

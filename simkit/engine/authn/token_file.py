"""The static token file: bearer tokens of users, read once at the start.

References
----------
k8s.io/apiserver/pkg/authentication/token/tokenfile/tokenfile.go, release 1.30.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from simkit.meta.errors import SimkitError
from simkit.meta.identity import Identity
from simkit.meta.message import Credentials

_log = logging.getLogger("simkit.authn")


class StaticTokens:
    """Authenticates the tokens of a fixed table.

    Examples
    --------
    >>> tokens = StaticTokens(parse_tokens(['s3cret,ann,7,"devs,ops"']))
    >>> tokens.authenticate(Credentials(bearer="s3cret")).groups
    ('devs', 'ops')
    """

    leaves_process: Final = False

    def __init__(self, tokens: Mapping[str, Identity]) -> None:
        self._tokens = dict(tokens)

    def authenticate(self, credentials: Credentials) -> Identity | None:
        """The identity of the bearer token; None for an unknown token."""
        return self._tokens.get(credentials.bearer) if credentials.bearer else None


def read_tokens(path: str | Path) -> StaticTokens:
    """The tokens in a file. Raises SimkitError for a file that cannot be read, or with the line of an error."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as lines:
            return StaticTokens(parse_tokens(lines, source=str(path)))
    except (OSError, UnicodeDecodeError) as error:
        raise SimkitError(f"the token file {path} cannot be read: {error}") from error


def parse_tokens(lines: Iterable[str], source: str = "the token file") -> dict[str, Identity]:
    """The identities by token, from lines of comma-separated columns: token, user, uid, and optionally groups.

    Raises
    ------
    SimkitError
        For a line with fewer than three columns, or broken quoting, naming source and line.

    Notes
    -----
    The fourth column holds several groups divided by commas; every further column is one more group. As on
    kube-apiserver, a line with an empty token is skipped and of a repeated token the last line counts, both with a
    warning in the log.
    """
    import csv  # for servers with such a file alone

    table: dict[str, Identity] = {}
    reader = csv.reader(lines, strict=True)
    try:
        for row in reader:
            if row:
                _enter(table, row, f"{source}, line {reader.line_num}")
    except csv.Error as error:
        raise SimkitError(f"{source}, line {reader.line_num}: {error}") from error
    return table


def _enter(table: dict[str, Identity], row: list[str], where: str) -> None:
    if len(row) < 3:
        raise SimkitError(f"{where}: must have at least 3 columns (token, user name, user uid), found {len(row)}")
    token, user, uid, *groups = row
    if not token:
        _log.warning("%s: the token is empty; the line is skipped", where)
        return
    if token in table:
        _log.warning("%s: the token was given before; this line replaces the earlier one", where)
    listed = [*(groups[0].split(",") if groups and groups[0] else ()), *groups[1:]]
    table[token] = Identity(user, tuple(listed), uid)

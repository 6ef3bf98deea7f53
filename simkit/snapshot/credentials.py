"""Credentials in texts, recognized by name, by the flags of programs, and by shape.

Every text is read in one pass, whatever it holds: no pattern here starts again within what it has read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

GONE: Final = "REDACTED"
"""The text in place of a removed secret."""
_CALLED: Final = re.compile(
    r"pass(?:word|wd|phrase)?|pwd|(?<![a-z])pw(?![a-z])|secret|token|credential|auth|cookie"
    r"|(?:api|private|access|shared|signing|encryption|master|account)[-_.]?key"
)
_KINDS_OF_KEYS: Final = (
    *("api", "private", "access", "shared", "signing", "encryption", "master", "account", "secret"),
)
_ENDINGS: Final = (
    *("password", "passwd", "passphrase", "pwd", "token", "credential", "authorization", "secret"),
    *(
        f"{kind}key"
        for kind in ["api", "access", "private", "secret", "encryption", "shared", "signing", "master", "account"]
    ),
)
_NAMES_ANOTHER: Final = frozenset({"secret"})
"""Fields whose name says that they hold another object's name, not a value."""
_SEPARATORS: Final = re.compile(r"[-_. ]")
_NAME: Final = re.compile(r"[\w.-]+")
_ASSIGNED: Final = re.compile(r"(['\"]?(?:=|: ?))(?:(['\"])|(?=[^\s;&|'\"]))")
_PLAIN_VALUE: Final = re.compile(r"[^\s;&|'\"]+")
_SCHEMES: Final = frozenset({"bearer", "basic", GONE.lower()})
_IN_ADDRESS: Final = re.compile(r"[?&]([\w.-]+)=([^\s&'\"]+)")
_LOGIN: Final = re.compile(r"(?<!\S)(-u ?|-U ?|--user[= ]|--proxy-user[= ])(['\"]?)[^\s:'\"-][^\s:'\"]*:[^\s'\"]+")
_CLIENTS: Final = re.compile(r"mysql|mariadb|sshpass|mongo|redis-cli|ldap(?:search|add|modify|whoami)|smbclient|sqlcmd")
"""Programs that take a password by a flag of one letter."""
_LETTER: Final = re.compile(r"(?<!\S)(-[pPaw])(?:( )(?!-)|(?=[^\s=-]))([^\s'\"]+)")
_BARE_LETTERS: Final = frozenset({"-p", "-P", "-a", "-w"})
_LOGIN_FLAGS: Final = frozenset({"-u", "-U", "--user", "--proxy-user"})
_SHAPES: Final = (
    (re.compile(r"(\w://)[^/\s:@]*:[^/\s@]+@"), rf"\1{GONE}@"),
    (re.compile(r"(?i)\b((?:bearer|basic) )[A-Za-z0-9._~+/=-]{8,}"), rf"\1{GONE}"),
    (re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]*"), GONE),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), GONE),
)
"""Texts that are secrets anywhere: logins in URLs, bearer tokens, other tokens, private keys."""


def holds_secret(field: str) -> bool:
    """True if a field or annotation of this name holds a secret itself, not the name or the path of one.

    Examples
    --------
    >>> [holds_secret(name) for name in ("secret-access-key", "sharedKey", "example.com/password", "passwordRef")]
    [True, True, True, False]
    """
    last = _SEPARATORS.sub("", field.rpartition("/")[2]).lower()
    return last not in _NAMES_ANOTHER and last.removesuffix("s").endswith(_ENDINGS)


def without_shapes(text: str) -> str:
    """The text without secrets that are recognized by shape, or by name in the query of a URL."""
    for shape, instead in _SHAPES:
        text = shape.sub(instead, text)
    return _IN_ADDRESS.sub(_unset_parameter, text)


def without_assignments(text: str) -> str:
    """A script or a note without the values of assignments to names of credentials.

    Examples
    --------
    >>> without_assignments("export DB_PASSWORD='x y'; curl -H 'X-Api-Key: abc' -u me:pw https://a/?token=z")
    "export DB_PASSWORD='REDACTED'; curl -H 'X-Api-Key: REDACTED' -u REDACTED https://a/?token=REDACTED"
    """
    text = without_shapes(text)
    kept: list[str] = []
    done = 0
    for found in _NAME.finditer(text):
        assigned = _ASSIGNED.match(text, found.end()) if found.start() >= done else None
        if assigned is None or not _CALLED.search(found[0].lower()):
            continue
        end = _end_of_value(text, assigned)
        if text[assigned.end() : end].lower() in _SCHEMES:
            continue
        kept += [text[done : assigned.end()], GONE]
        done = end
    return _LOGIN.sub(rf"\1\2{GONE}", "".join([*kept, text[done:]]))


def without_flags(words: Sequence[Any], programs: str = "") -> list[Any]:
    """Arguments without credentials, after ``=``, in the next word or after a letter.

    ``programs`` is what else tells which program is called: its image and the other arguments.

    Examples
    --------
    >>> without_flags(["mysql", "-uroot", "-phunter2", "--pw", "x", "--port=80"])
    ['mysql', '-uroot', '-pREDACTED', '--pw', 'REDACTED', '--port=80']
    """
    texts = [word for word in words if isinstance(word, str)]
    client = any(_CLIENTS.search(text) for text in (programs, *texts))
    kept: list[Any] = []
    before = ""
    for word in words:
        kept.append(_without_flag(word, before, client=client) if isinstance(word, str) else word)
        before = word if isinstance(word, str) else ""
    return kept


def _without_flag(word: str, before: str, *, client: bool) -> str:
    bare = before.startswith("-") and "=" not in before and _NAME.fullmatch(before)
    if bare and not word.startswith("-") and (_CALLED.search(before.lower()) or (client and before in _BARE_LETTERS)):
        return GONE
    if before in _LOGIN_FLAGS and ":" in word:
        return GONE
    name, sign, value = word.partition("=")
    if sign and value and _NAME.fullmatch(name) and _CALLED.search(name.lower()):
        return f"{name}={GONE}"
    shown = without_assignments(word)
    return _LETTER.sub(rf"\1\2{GONE}", shown) if client else shown


def _end_of_value(text: str, assigned: re.Match[str]) -> int:
    """The end of a value: its closing quote, the end of the text, or the next character that ends a word."""
    quote = assigned[2]
    if quote:
        closing = text.find(quote, assigned.end())
        return len(text) if closing < 0 else closing
    plain = _PLAIN_VALUE.match(text, assigned.end())
    return plain.end() if plain else assigned.end()


def _unset_parameter(found: re.Match[str]) -> str:
    if not _CALLED.search(found[1].lower()):
        return found[0]
    return f"{found[0][: found.start(2) - found.start()]}{GONE}"

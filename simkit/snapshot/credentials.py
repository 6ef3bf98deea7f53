"""Credentials in texts, recognized by name, by the flags of programs, and by shape.

Every text is read in one pass, whatever it holds: no pattern here starts again within what it has read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

GONE: Final = "REDACTED"
"""The text in place of a removed secret."""
_NAME: Final = re.compile(r"[\w.-]+")
_ASSIGNED: Final = re.compile(r"(['\"]? ?(?:=(?!=)|:(?!:)|(?<=\w)>) ?)(?:(['\"])|(?=[^\s;&|'\"]))")
_FOLLOWS: Final = re.compile(r"( )(?:(['\"])|(?=[^\s;&|'\"-]))")
"""The text between a name and its value: a sign; behind flags and in commands that set something a space, too."""
_SETTERS: Final = re.compile(r"(?:set|setenv|set_header|add_header) $")
_PLAIN_VALUE: Final = re.compile(r"[^\s;&|'\"]+")
_SCHEMES: Final = frozenset({"bearer", "basic", GONE.lower()})
_IN_ADDRESS: Final = re.compile(r"[?&]([\w.-]+)=([^\s&'\"]+)")
_SHORT: Final = frozenset({"key", "sig", "signature", "sas", "code"})
"""Names of credentials in addresses, which elsewhere mean much."""
_LOGIN: Final = re.compile(r"(?<!\S)(-u ?|-U ?|--user[= ]|--proxy-user[= ])(['\"]?)[^\s:'\"-][^\s:'\"]*:[^\s'\"]+")
_CLIENTS: Final = re.compile(
    r"mysql|mariadb|sshpass|mongo|redis-cli|ldap(?:search|add|modify|whoami)|smbclient|sqlcmd|openssl|(?<![a-z])login(?![a-z])"
)
"""Programs that take a password by a flag of one letter."""
_LETTER: Final = re.compile(r"(?<!\S)(-[pPawkK])(?:( )(?!-)|(?=[^\s=-]))([^\s'\"]+)")
_BARE_LETTERS: Final = frozenset({"-p", "-P", "-a", "-w", "-k", "-K"})
_WRITTEN_OUT: Final = re.compile(r"(?<!\S)((?:echo|printf)(?: -n)?) (['\"]?)[^\s'\"$-][^\s'\"]*")
"""What is written out, where a program reads a password from its input."""
_WORD: Final = re.compile(r"[^\s;&|]+|[;&|\n]")
_POSITIONS: Final[Mapping[tuple[str, str], int]] = {
    ("vault", "login"): 1,
    ("rabbitmqctl", "add_user"): 2,
    ("rabbitmqctl", "change_password"): 2,
    ("rabbitmqctl", "authenticate_user"): 2,
    ("mysqladmin", "password"): 1,
}
"""Programs with the place behind a word at which they take a password; flags do not count."""
_ENDS_OF_COMMANDS: Final = frozenset(";&|\n")
_TOLD: Final = re.compile(
    r"(?i)\b(?:pass(?:word|wd|phrase|code)|pwd)(?: is| was)? (['\"]?)([^\s'\",;]+)"
    r"|\bcredentials? (['\"]?)([^\s'\",;/:]+[/:][^\s'\",;]+)"
)
"""A password in a sentence, such as the message of an Event."""
_GO_ON: Final = frozenset(
    [
        *("a", "an", "and", "as", "at", "auth", "authentication", "based", "by", "cannot", "change", "changed"),
        *("check", "contains", "did", "does", "empty", "expired", "failed", "failure", "field", "file", "for", "from"),
        *("grant", "given", "has", "hash", "hashing", "in", "incorrect", "invalid", "is", "length", "login", "manager"),
        *("may", "method", "mismatch", "missing", "must", "not", "of", "on", "only", "or", "policy", "prompt"),
        *("protected", "provided", "required", "reset", "rotated", "rotation", "set", "should", "that", "the", "to"),
        *("too", "updated", "using", "verification", "via", "was", "will", "with", "without", "wrong"),
    ]
)
"""Words with which a sentence goes on behind the word password."""
_LOGIN_FLAGS: Final = frozenset({"-u", "-U", "--user", "--proxy-user"})
_SHAPES: Final = (
    (re.compile(r"(\w://)(?!git@)[^/\s@]+@(?!sha256:)"), rf"\1{GONE}@"),
    (re.compile(r"(?<![^\s'\"=])([^\s:@'\"]{1,128}:)[^\s@'\"]{1,256}@(?=\w{0,16}\()"), rf"\1{GONE}@"),
    (re.compile(r"(jdbc:oracle:\w{1,16}:)[^\s/@]{0,128}/[^\s@]{1,256}@"), rf"\1{GONE}@"),
    (re.compile(r"(--from-literal[= ]['\"]?[\w.-]+=)[^\s'\"]+"), rf"\1{GONE}"),
    (re.compile(r"(?i)\b((?:bearer|basic) )[A-Za-z0-9._~+/=-]{8,}"), rf"\1{GONE}"),
    (re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]*"), GONE),
    (
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        ),
        GONE,
    ),
)
"""Texts that are secrets anywhere: logins in URLs and in names of data sources, tokens, private keys."""
_LONG_WORD: Final = re.compile(r"[A-Za-z0-9_+-]{16,}")
_TURN: Final = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[a-z0-9]|(?<=[0-9])[A-Za-z]")


def without_shapes(text: str) -> str:
    """The text without secrets that are recognized by shape, or by name in the query of a URL."""
    for shape, instead in _SHAPES:
        text = shape.sub(instead, text)
    return _IN_ADDRESS.sub(_unset_parameter, text)


def without_random_words(text: str) -> str:
    """The text without long words that only a generator writes: capitals, small letters and digits in turn.

    Examples
    --------
    >>> without_random_words("ghp_x7Rq2LmZ9vKc4TbW8nYp of web-7d4b9c6f5-x2x9z, sha256:9f86d081884c7d659a2feaa0c55ad015")
    'REDACTED of web-7d4b9c6f5-x2x9z, sha256:9f86d081884c7d659a2feaa0c55ad015'
    """
    return _LONG_WORD.sub(_random_word, text)


def _random_word(found: re.Match[str]) -> str:
    word = found[0]
    if word.islower() or word.isupper() or word.isalpha() or "--" in word:
        return word
    turns = sum(1 for _ in _TURN.finditer(word))
    return GONE if sum(letter.isdigit() for letter in word) >= 2 and turns >= len(word) * 0.45 else word


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
        if found.start() < done or not called_like_secret(found[0]):
            continue
        assigned = _assigned(text, found)
        if assigned is None:
            continue
        end = _end_of_value(text, assigned)
        if text[assigned.end() : end].lower() in _SCHEMES:
            continue
        kept += [text[done : assigned.end()], GONE]
        done = end
    shown = _without_positional("".join([*kept, text[done:]]))
    if "stdin" in shown:
        shown = _WRITTEN_OUT.sub(rf"\1 \2{GONE}", shown)
    return _TOLD.sub(_untold, _LOGIN.sub(rf"\1\2{GONE}", shown))


def _untold(found: re.Match[str]) -> str:
    quote, word = (found[1], found[2]) if found[2] else (found[3], found[4])
    if not quote and word.lower().rstrip(".:!?)") in _GO_ON:
        return found[0]
    return found[0].removesuffix(word) + GONE


def _without_positional(text: str) -> str:
    """The text without passwords that programs take by the place at which they stand."""
    if not any(program in text for program, _ in (*_POSITIONS, ("htpasswd", ""))):
        return text
    words, kept, done = list(_WORD.finditer(text)), list[str](), 0
    for index in positional_passwords([word[0] for word in words]):
        kept += [text[done : words[index].start()], GONE]
        done = words[index].end()
    return "".join([*kept, text[done:]])


def positional_passwords(words: Sequence[Any]) -> list[int]:
    """The indexes of the words of commands that are passwords by their place.

    Examples
    --------
    >>> positional_passwords(["htpasswd", "-cb", "file", "user", "hunter2", ";", "rabbitmqctl", "add_user", "a", "b"])
    [4, 9]
    """
    found: list[int] = []
    start = 0
    for index in range(len(words) + 1):
        if index == len(words) or words[index] in _ENDS_OF_COMMANDS:
            found += (start + each for each in _in_command(words[start:index]))
            start = index + 1
    return found


def _in_command(words: Sequence[Any]) -> list[int]:
    """The same for one command: ``htpasswd -b`` takes the password last."""
    named = [str(word).rpartition("/")[2] for word in words]
    if "htpasswd" in named:
        flags = "".join(word for word in named if word.startswith("-"))
        return [len(words) - 1] if "b" in flags else []
    plain = [index for index, word in enumerate(named) if not word.startswith("-")]
    for (program, verb), place in _POSITIONS.items():
        if program in named and verb in named:
            at = named.index(verb)
            later = [index for index in plain if index > at]
            return later[place - 1 : place]
    return []


def _assigned(text: str, name: re.Match[str]) -> re.Match[str] | None:
    """The text between a name and its value, if a value follows."""
    found = _ASSIGNED.match(text, name.end())
    if found is None and (name[0].startswith("-") or _SETTERS.search(text, max(0, name.start() - 12), name.start())):
        found = _FOLLOWS.match(text, name.end())
    return found


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
    positional = frozenset(positional_passwords(words))
    for index, word in enumerate(words):
        plain = GONE if index in positional else word
        kept.append(_without_flag(plain, before, client=client) if isinstance(word, str) else word)
        before = word if isinstance(word, str) else ""
    return kept


def _without_flag(word: str, before: str, *, client: bool) -> str:
    bare = before.startswith("-") and "=" not in before and _NAME.fullmatch(before)
    if bare and not word.startswith("-") and (called_like_secret(before) or (client and before in _BARE_LETTERS)):
        return GONE
    if before in _LOGIN_FLAGS and ":" in word:
        return GONE
    name, sign, value = word.partition("=")
    if sign and value and _NAME.fullmatch(name) and called_like_secret(name):
        return f"{name}={GONE}"
    shown = without_assignments(word)
    return _LETTER.sub(rf"\1\2{GONE}", shown) if client else shown


def _end_of_value(text: str, assigned: re.Match[str]) -> int:
    """The end of a value: its closing quote or tag, the end of the text, or the next character that ends a word."""
    quote = assigned[2] or ("<" if assigned[1].startswith(">") else "")
    if quote:
        closing = text.find(quote, assigned.end())
        return len(text) if closing < 0 else closing
    plain = _PLAIN_VALUE.match(text, assigned.end())
    return plain.end() if plain else assigned.end()


def _unset_parameter(found: re.Match[str]) -> str:
    if found[1].lower().rpartition("-")[2] not in _SHORT and not called_like_secret(found[1]):
        return found[0]
    return f"{found[0][: found.start(2) - found.start()]}{GONE}"


_CALLED: Final = re.compile(
    r"pass(?:word|wd|phrase|code|key)?|pwd|(?<![a-z])pw(?![a-z])|secret|token|credential|(?<![a-z])creds?(?![a-z])|auth|cookie"
    r"|connection[-_.]?string|mnemonic|(?<![a-z])(?:jwt|hmac|dsn|otp|pat|salt)(?![a-z])"
    r"|(?:api|private|access|shared|signing|encryption|master|account|user|ssh|session|admin|root|storage|licen[cs]e)[-_.]?key"
)
_KINDS_OF_KEYS: Final = (
    *("api", "access", "private", "secret", "encryption", "shared", "signing", "master", "account"),
    *("user", "ssh", "session", "admin", "root", "storage", "license", "licence", "hmac", "service", "deploy", "crypt"),
)
_ENDINGS: Final = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "token", "credential", "authorization", "secret"),
    *("auth", "connectionstring", "mnemonic", "webhookurl", "webhookuri"),
    *(f"{kind}key" for kind in _KINDS_OF_KEYS),
)
_WHOLE: Final = frozenset(
    [
        *("bearer", "cookie", "cred", "dsn", "hmac", "jwt", "license", "licence", "otp", "pass", "passkey", "pat"),
        *("pin", "pw", "salt", "seed"),
    ]
)
"""Names that mean a credential alone, not as the end of a longer one."""
_NAMES_ANOTHER: Final = frozenset({"secret"})
"""Fields whose name says that they hold another object's name, not a value."""
_VALUE_WORDS: Final = re.compile(r"(?<=.)(?:value|val|text|string|data|plain|raw|literal|inline|hash|base64|b64)$")
"""Ends of names that say of what is called so that it stands there itself: ``secretValue``."""
_SEPARATORS: Final = re.compile(r"[-_. ]")
_ELSEWHERE: Final = ("-stdin", "-file", "-path", "-dir", "-env")
"""Ends of flags that say where the credential is."""


def called_like_secret(name: str) -> bool:
    """True if a variable, a flag or a parameter has a name of which a credential is a part.

    Examples
    --------
    >>> [called_like_secret(name) for name in ("DB_PASSWORD", "--api-key", "--password-file", "PORT")]
    [True, True, False, False]
    """
    lower = name.lower()
    return _CALLED.search(lower) is not None and not lower.replace("_", "-").endswith(_ELSEWHERE)


def holds_secret(field: str) -> bool:
    """True if a field or annotation of this name holds a secret itself, not the name or the path of one.

    Examples
    --------
    >>> [holds_secret(name) for name in ("secret-access-key", "secretValue", "example.com/password", "passwordRef")]
    [True, True, True, False]
    """
    last = _SEPARATORS.sub("", field.rpartition("/")[2]).lower()
    if last in _NAMES_ANOTHER:
        return False
    one = last.removesuffix("s")
    return one.endswith(_ENDINGS) or _VALUE_WORDS.sub("", one).endswith(_ENDINGS) or one in _WHOLE or last in _WHOLE

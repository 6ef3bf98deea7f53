"""The names of fields, variables and flags that belong to credentials."""

from __future__ import annotations

import re
from typing import Final

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

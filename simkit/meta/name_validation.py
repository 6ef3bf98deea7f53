"""Validation of names and keys. Every function returns errors, with the messages of kube-apiserver.

Follows ``k8s.io/apimachinery/pkg/util/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from simkit.meta.wording import Text, Worded

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_UNDERSCORED: Final = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORED_SUBDOMAIN: Final = rf"{_UNDERSCORED}(\.{_UNDERSCORED})*"
_UNDERSCORED_SUBDOMAIN_RE = re.compile(_UNDERSCORED_SUBDOMAIN)
_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_DNS1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_DNS1035_RE = re.compile(_DNS1035)
_QUALIFIED_RE = re.compile(_QUALIFIED)
_LABEL_VALUE_RE = re.compile(f"({_QUALIFIED})?")
_PORT_NAME_RE = re.compile(r"[-a-z0-9]+")


def too_long_text(limit: int) -> str:
    return f"must be no more than {limit} characters"


def too_long_label(limit: int, part: str = "") -> Text:
    """The error of a label's key or value that is too long."""
    told = f"{part}must be no more than {limit}"
    return Worded("lengths-told-in-bytes", f"{told} bytes", f"{told} characters")


def _regex_error(message: str, pattern: str, *examples: str) -> str:
    if not examples:
        return f"{message} (regex used for validation is '{pattern}')"
    shown = ",  or ".join(f"'{example}'" for example in examples)  # two spaces, as kube-apiserver has it
    return f"{message} (e.g. {shown}, regex used for validation is '{pattern}')"


_QUALIFIED_ERROR: Final = _regex_error(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _QUALIFIED,
    "MyName",
    "my.name",
    "123-abc",
)


def _masked(name: str, prefix: bool) -> str:
    """A prefix without its final dash, since letters follow it."""
    return name[:-2] + "a" if prefix and len(name) > 1 and name.endswith("-") else name


def dns_subdomain_with_underscore(name: str) -> Sequence[Text]:
    """The errors of a lower-case RFC 1123 subdomain whose labels may have underscores."""
    wrong: list[Text] = [] if len(name) <= 253 else [too_long_text(253)]
    if not _UNDERSCORED_SUBDOMAIN_RE.fullmatch(name):
        text = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        since, before = (_regex_error(text, each, "example.com") for each in (_UNDERSCORED_SUBDOMAIN, _SUBDOMAIN))
        wrong.append(Worded("underscored-subdomains-shown", since, before))
    return wrong


def dns_subdomain(name: str, prefix: bool = False) -> Sequence[str]:
    """The errors of a lower-case RFC 1123 subdomain."""
    if prefix:
        name = _masked(name, prefix)
    wrong = [] if len(name) <= 253 else [too_long_text(253)]
    if not _SUBDOMAIN_RE.fullmatch(name):
        wrong.append(
            _regex_error(
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
                "and must start and end with an alphanumeric character",
                _SUBDOMAIN,
                "example.com",
            )
        )
    return wrong


def dns_label(name: str, prefix: bool = False) -> Sequence[Text]:
    """The errors of a lower-case RFC 1123 label."""
    if prefix:
        name = _masked(name, prefix)
    wrong: list[Text] = [] if len(name) <= 63 else [too_long_text(63)]
    if not _LABEL_RE.fullmatch(name):
        text = _regex_error(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
            "and must start and end with an alphanumeric character",
            _LABEL,
            "my-name",
            "123-abc",
        )
        dotted = _SUBDOMAIN_RE.fullmatch(name)
        wrong.append(Worded("dots-in-labels-told", "must not contain dots", text) if dotted else text)
    return wrong


def is_dns_label(name: str) -> bool:
    """True for a lower-case RFC 1123 label."""
    return len(name) <= 63 and _LABEL_RE.fullmatch(name) is not None


def dns1035_label(name: str, prefix: bool = False) -> Sequence[str]:
    """The errors of an RFC 1035 label: one that starts with a letter."""
    name = _masked(name, prefix)
    wrong = [] if len(name) <= 63 else [too_long_text(63)]
    if not _DNS1035_RE.fullmatch(name):
        wrong.append(
            _regex_error(
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
                "start with an alphabetic character, and end with an alphanumeric character",
                _DNS1035,
                "my-name",
                "abc-123",
            )
        )
    return wrong


def kind_name(name: str) -> str:
    """The errors of a kind's name as one text; empty if there are none."""
    wrong = dns1035_label(name.lower())
    return f"may have mixed case, but should otherwise match: {','.join(wrong)}" if wrong else ""


def path_segment(name: str, prefix: bool = False) -> Sequence[str]:
    """The errors of a name that must only fit into a path."""
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{text}'" for text in ("/", "%") if text in name]


def any_name(name: str, prefix: bool = False) -> Sequence[str]:
    """No errors: the kind does not look at names, which must be path segments all the same if nothing else is wrong."""
    return ()


def whole_path_segment(name: str, prefix: bool = False) -> Sequence[str]:
    """The errors of a name, or the prefix of one, that must be a path segment by itself."""
    return path_segment(name)


def qualified_name(key: str) -> Sequence[Text]:
    """The errors of a label or annotation key: an optional subdomain, a slash, a name."""
    parts = key.split("/")
    wrong: list[Text] = []
    if len(parts) > 2:
        text = f"{_QUALIFIED_ERROR} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [Worded("qualified-names-called-label-keys", f"a valid label key {text}", f"a qualified name {text}")]
    if len(parts) == 2:
        if not parts[0]:
            wrong.append("prefix part must be non-empty")
        else:
            wrong += [f"prefix part {text}" for text in dns_subdomain(parts[0])]
    name = parts[-1]
    if not name:
        wrong.append("name part must be non-empty")
    elif len(name) > 63:
        wrong.append(too_long_label(63, "name part "))
    if not _QUALIFIED_RE.fullmatch(name):
        wrong.append(f"name part {_QUALIFIED_ERROR}")
    return wrong


def is_qualified_name(key: str) -> bool:
    """True for a label or annotation key: an optional subdomain, a slash, a name."""
    prefix, slash, name = key.rpartition("/")
    placed = not slash or (len(prefix) <= 253 and _SUBDOMAIN_RE.fullmatch(prefix) is not None)
    return placed and len(name) <= 63 and _QUALIFIED_RE.fullmatch(name) is not None


def is_label_value(value: str) -> bool:
    """True for the value of a label."""
    return len(value) <= 63 and _LABEL_VALUE_RE.fullmatch(value) is not None


def label_value(value: str) -> Sequence[Text]:
    """The errors of a label's value."""
    wrong: list[Text] = [] if len(value) <= 63 else [too_long_label(63)]
    if not _LABEL_VALUE_RE.fullmatch(value):
        wrong.append(
            _regex_error(
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
                "and must start and end with an alphanumeric character",
                f"({_QUALIFIED})?",
                "MyValue",
                "my_value",
                "12345",
            )
        )
    return wrong


def port_name(name: str) -> Sequence[Text]:
    """The errors of a port's name."""
    wrong: list[Text] = [] if len(name) <= 15 else [too_long_text(15)]
    if not _PORT_NAME_RE.fullmatch(name):
        wrong.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        text = "must contain at least one letter"
        wrong.append(Worded("port-names-need-letters-told", f"{text} (a-z)", f"{text} or number (a-z, 0-9)"))
    if "--" in name:
        wrong.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        wrong.append("must not begin or end with a hyphen")
    return wrong

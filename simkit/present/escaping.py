r"""Escaping of untrusted text for a terminal, a shell, markdown, CSV, JSON, XML or SARIF.

Names, labels and annotations are chosen by whoever may write them, and a dump may come from anybody. Each output has
one function here, and writes no such text without it. YAML is escaped by ``yaml.safe_dump``.

References: what begins a formula in a table is listed by OWASP (CSV injection); markdown is GitHub Flavored Markdown
0.29; what a build log takes for a command is ``::`` at the start of a line (GitHub), ``##[`` or ``##vso[`` (Azure) and
``##teamcity[``. HTML, and letters that show nothing, are in ``simkit.meta.visible_text``.
"""

from __future__ import annotations

import io
import re
import shlex
from typing import Final

from simkit.meta.visible_text import is_visible, one_line, visible_lines, written_out

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\N{FULLWIDTH EQUALS SIGN}", "\N{FULLWIDTH PLUS SIGN}")
_MORE_FORMULA: Final = ("\N{FULLWIDTH HYPHEN-MINUS}", "\N{FULLWIDTH COMMERCIAL AT}")
_LOG_COMMAND: Final = re.compile(r"^\s*:(?=:)|#(?=#(?:vso|teamcity)?\[)", re.MULTILINE)
_PLAIN_MARKDOWN: Final = re.compile(r"[A-Za-z0-9(](?:[A-Za-z0-9 ,.;/'\"()?%-]|:(?=[ /A-Za-z0-9]))*")
_MARKDOWN_MEANS_MORE: Final = re.compile(r"://|www\.|:[a-z0-9+-]*:|  ")
_BACKTICKS: Final = re.compile("`+")
_XML_CANNOT_HOLD: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def readable_path(path: str) -> str:
    r"""A path as text that can be encoded again: bytes that are not UTF-8 are written out.

    Examples
    --------
    >>> print(readable_path("a\udcff.json"))
    a\xff.json
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return path


def patch_path(path: str) -> str:
    r"""A path in the head of a unified diff, which ``git apply`` reads; one with control characters is quoted as in C.

    Examples
    --------
    >>> print(patch_path("a/x.yaml"), patch_path("a/x\n+++ b/y"))
    a/x.yaml "a/x\n+++ b/y"
    """
    if is_visible(path) and '"' not in path and "\\" not in path:
        return path
    return f'"{"".join(_c_escape(octet) for octet in path.encode("utf-8", "surrogateescape"))}"'


def patch_lines(text: str) -> list[str]:
    r"""The lines of a text for a diff, with their ends: ``git apply`` knows no end of a line but the line feed.

    Examples
    --------
    >>> patch_lines("a\u2028b\nc")
    ['a\u2028b\n', 'c']
    """
    return io.StringIO(text, newline="\n").readlines()


def terminal_text(text: str) -> str:
    r"""Several lines for a terminal or a build log, without control sequences and commands of the log.

    Examples
    --------
    >>> terminal_text("a\tb\n::error::c\x9b31m")
    'a\tb\n\\x3a:error::c\\x9b31m'
    """
    return _LOG_COMMAND.sub(_first_written_out, visible_lines(text))


def shell_command(*words: str) -> str:
    r"""The words as one line that a shell splits into exactly these words.

    Control characters, which would end a comment or act on a terminal, are written out as bash, zsh and ksh have it.

    Examples
    --------
    >>> print(shell_command("kubectl", "delete", "clusterrolebinding", "x;touch /tmp/y"))
    kubectl delete clusterrolebinding 'x;touch /tmp/y'
    >>> print(shell_command("echo", "two\nlines"))
    echo $'two\nlines'
    """
    return " ".join(map(_shell_word, words))


def kubectl_command(verb: str, resource: str, name: str, namespace: str = "", *flags: str) -> str:
    """A ``kubectl`` command on one object, whose name is never read as a flag.

    Examples
    --------
    >>> kubectl_command("delete", "rolebindings", "--all", "dev")
    'kubectl delete rolebindings --namespace dev -- --all'
    """
    flag = (f"--namespace={namespace}",) if namespace.startswith("-") else ("--namespace", namespace)
    where = flag if namespace else ()
    if name.startswith("-"):
        return shell_command("kubectl", verb, resource, *where, *flags, "--", name)
    return shell_command("kubectl", verb, resource, name, *where, *flags)


def markdown_code(text: str) -> str:
    """A code span with the text, whatever it contains.

    Examples
    --------
    >>> markdown_code("ann"), markdown_code("a`<b>")
    ('`ann`', '`` a`<b> ``')
    """
    shown = one_line(text)
    longest = max(map(len, _BACKTICKS.findall(shown)), default=0)
    if not longest:
        return f"`{shown}`" if shown.strip() else f"` {shown} `"
    return f"{'`' * (longest + 1)} {shown} {'`' * (longest + 1)}"


def markdown_cell(text: str) -> str:
    """A cell of a markdown table: plain words unchanged, everything else as a code span.

    Examples
    --------
    >>> markdown_cell("cluster admins"), markdown_cell("<img src=x>|@everybody")
    ('cluster admins', '`<img src=x>\\\\|@everybody`')
    """
    if not text or (_PLAIN_MARKDOWN.fullmatch(text) and not _MARKDOWN_MEANS_MORE.search(text)):
        return text
    return markdown_code(text).replace("|", "\\|")


def markdown_block(text: str) -> str:
    """Several lines as a markdown block that shows them unchanged.

    Examples
    --------
    >>> markdown_block("a\\n```\\n<b>").splitlines()
    ['````text', 'a', '```', '<b>', '````']
    """
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}text\n{text}\n{fence}\n"


def figure_text(text: str) -> str:
    r"""A label of a figure in which no dollar sign starts a formula.

    Examples
    --------
    >>> print(figure_text("a$b$c"))
    a\$b\$c
    """
    return one_line(text).replace("$", "\\$")


def csv_cell(text: str) -> str:
    """A cell that no spreadsheet reads as a formula: an apostrophe precedes the start of one.

    Examples
    --------
    >>> csv_cell("=cmd()"), csv_cell("ann")
    ("'=cmd()", 'ann')
    """
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA + _MORE_FORMULA) else text


def json_for_terminal(text: str) -> str:
    r"""JSON with the same value, without characters that a terminal interprets.

    Examples
    --------
    >>> json_for_terminal('{"a": "\x9b\u202e"}')
    '{"a": "\\u009b\\u202e"}'
    """
    shown = "\n".join(line if is_visible(line) else "".join(map(_json_escape, line)) for line in text.split("\n"))
    return _LOG_COMMAND.sub(lambda found: f"{found[0][:-1]}\\u{ord(found[0][-1]):04x}", shown)


def xml_text(text: str) -> str:
    """The text with characters escaped that XML 1.0 does not allow. Markup is escaped by the writer of the XML."""
    return _XML_CANNOT_HOLD.sub(lambda found: written_out(found[0]), text)


def sarif_text(text: str) -> str:
    """A message of a SARIF log in which brackets form no link.

    References: SARIF 2.1.0, section 3.11.6 (messages with embedded links).
    """
    return re.sub(r"([\\\[\]])", r"\\\1", one_line(text))


_C_ESCAPES: Final = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


def _c_escape(octet: int) -> str:
    plain = 32 <= octet < 127
    return _C_ESCAPES.get(octet) or (chr(octet) if plain else f"\\{octet:03o}")


def _first_written_out(found: re.Match[str]) -> str:
    return f"{found[0][:-1]}\\x{ord(found[0][-1]):02x}"


def _shell_word(word: str) -> str:
    if is_visible(word):
        return shlex.quote(word)
    quoted = "".join(_ansi_c(letter) for letter in word)
    return f"$'{quoted}'"


def _ansi_c(letter: str) -> str:
    if letter in "\\'":
        return f"\\{letter}"
    if is_visible(letter):
        return letter
    if letter in "\n\0":  # no word holds NUL: what is written instead names nothing else
        return "\\n" if letter == "\n" else "\\\\x00"
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def _json_escape(letter: str) -> str:
    if is_visible(letter):
        return letter
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))

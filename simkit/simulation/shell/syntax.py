"""The grammar of shell scripts: lists, pipelines, redirections, compound commands and functions.

References
----------
POSIX.1-2017, Shell Command Language, 2.10; ``function``, ``select``, ``[[``, ``((`` and arrays as in bash.
"""

from __future__ import annotations

import re
from typing import Final

from simkit.simulation.shell.tokens import REDIRECTIONS, PendingDocument, TokenReader
from simkit.simulation.shell.tree import (
    AndOr,
    Assignment,
    Background,
    Case,
    Computed,
    Condition,
    Element,
    For,
    Function,
    If,
    Joined,
    Listing,
    Node,
    Pipeline,
    Redirected,
    Redirection,
    Redirections,
    ScriptError,
    Sequence,
    Simple,
    Subshell,
    Test,
    Text,
    While,
    Word,
    assigned,
    plain,
)

MOST_LETTERS: Final = 64 * 1024
_DEEPEST: Final = 30
_FUNCTION: Final = re.compile(r"[A-Za-z_][\w.:-]*")
_RESERVED: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "{", "}", "!", "in"}
)
_CLOSING: Final = _RESERVED - {"if", "case", "while", "until", "for", "{", "!", "in"}
_ENDS_OF_BRANCHES: Final = (";;", ";;&", ";&")
DECLARATIONS: Final = frozenset({"declare", "typeset", "local", "export", "readonly"})
"""Commands whose words may be assignments, which are not split."""
_NO_GROUPS: Final = 1 << 62


def parse(text: str, *, bash: bool = False, groups: bool = False, whole: bool = False) -> Node:
    """The tree of a script. Raises ScriptError.

    Parameters
    ----------
    bash
        Whether it is a script for bash.
    groups
        Whether ``@(a|b)`` and the like are patterns from the beginning, not only behind ``shopt -s extglob``.
    whole
        Whether the end of the text ends no here-document.
    """
    if len(text) > MOST_LETTERS:
        raise ScriptError("script is too long")
    told = 0 if groups else text.find("extglob") if bash else -1
    reader = _Reader(text, 0, 0, bash=bash, groups=told if told >= 0 else _NO_GROUPS)
    node = reader.list()
    if reader.token:
        raise ScriptError(f"syntax error: unexpected {reader.shown}")
    if whole and reader.open_document:
        raise ScriptError("syntax error: unterminated here-document")
    return node


class _Reader(TokenReader):
    """Reads commands."""

    def _inside(self, text: str, position: int) -> tuple[Node, int]:
        groups = self._words.groups if text is self._text else _NO_GROUPS
        reader = _Reader(text, position, self._depth + 1, bash=self._bash, groups=groups)
        node = reader.list()
        if reader.token != ")":
            raise ScriptError("syntax error: unterminated command substitution")
        return node, reader._end

    # Lists

    def list(self) -> Node:
        """Commands up to a word or an operator that ends them."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ScriptError("nested too deep")
        parts: list[Node] = []
        self._skip_lines()
        while self.token not in ("", ")", *_ENDS_OF_BRANCHES) and self._reserved() not in _CLOSING:
            part = self._and_or()
            if self._take("&"):
                part = Background(part)
            elif self.token not in ("", ";", "\n", ")", *_ENDS_OF_BRANCHES):
                raise ScriptError(f"syntax error: unexpected {self.shown}")
            else:
                self._take(";")
            parts.append(part)
            self._skip_lines()
        self._depth -= 1
        return Sequence(tuple(parts))

    def _and_or(self) -> Node:
        parts = [("", self._pipeline())]
        while self.token in ("&&", "||"):
            joint = self.token
            self._next()
            self._skip_lines()
            parts.append((joint, self._pipeline()))
        return parts[0][1] if len(parts) == 1 else AndOr(tuple(parts))

    def _pipeline(self) -> Node:
        timed = self._bash and self.token == "word" and self._reserved() == "time"
        if timed:
            self._next()
            if self.token == "word" and self._reserved() == "-p":
                self._next()
        negated = self._take("!")
        commands = [self._command()]
        while self.token in ("|", "|&"):
            joint = self.token
            self._next()
            self._skip_lines()
            if joint == "|&":
                commands[-1] = Redirected(commands[-1], (Redirection(2, ">&", (Text("1", False),)),))
            commands.append(self._command())
        simple = len(commands) == 1 and not negated and not timed
        return commands[0] if simple else Pipeline(tuple(commands), negated, timed)

    # Commands

    def _command(self) -> Node:
        reserved = self._reserved() if self.token == "word" else self.token
        compound = {
            "if": self._if, "for": self._for, "while": self._while, "until": self._while, "case": self._case,
            "(": self._subshell, "{": self._group, "[[": self._condition,
        }.get(reserved)  # fmt: skip
        if self._bash and reserved == "select":
            compound = self._for
        if self._bash and reserved == "(" and self._text.startswith("(", self._end):
            found = self._words.expression(self._end + 1)
            if found is not None:
                self._end = found[1]
                self._next()
                return self._with_redirections(Computed(found[0]))
        if compound is not None:
            return self._with_redirections(compound())
        if reserved == "function":
            self._next()
            name = plain(self._take_word()) or ""
            if self._take("("):
                self._expect(")")
            return self._function(name)
        if self.token == "word" and reserved in _CLOSING:
            raise ScriptError(f"syntax error: unexpected {self.shown}")
        return self._simple()

    def _with_redirections(self, node: Node) -> Node:
        found: list[Redirection] = []
        while self.token in REDIRECTIONS:
            found += self._redirection()
        return Redirected(node, tuple(found)) if found else node

    def _subshell(self) -> Node:
        self._next()
        node = self.list()
        self._expect(")")
        return Subshell(node)

    def _group(self) -> Node:
        self._next()
        node = self.list()
        self._expect("}")
        return node

    def _function(self, name: str) -> Node:
        if _FUNCTION.fullmatch(name) is None:
            raise ScriptError("syntax error: bad function name")
        self._skip_lines()
        if self.token != "(" and self._reserved() not in ("{", "[[", "if", "for", "while", "until", "case"):
            raise ScriptError(f"syntax error: unexpected {self.shown}")
        return Function(name, self._command())

    def _for(self) -> Node:
        asks = self._reserved() == "select"
        self._next()
        if self._bash and self.token == "(" and self._text.startswith("(", self._end):
            return self._counting()
        name, words = plain(self._take_word()) or "", None
        self._skip_lines()
        if self._take("in"):
            words = []
            while self.token == "word":
                words.append(self._take_word())
        self._take(";")
        self._skip_lines()
        return For(name, None if words is None else tuple(words), self._body(), asks)

    def _counting(self) -> Node:
        """``for ((FIRST; CONDITION; STEP))`` as in bash."""
        found = self._words.expression(self._end + 1)
        parts = [] if found is None else self._words.parts(self._end + 1, found[1] - 2)
        if found is None or len(parts) != 3:
            raise ScriptError("syntax error: bad for loop variable")
        self._end = found[1]
        self._next()
        self._take(";")
        self._skip_lines()
        first, condition, step = (Computed(part) for part in parts)
        return Sequence((first, While(condition, self._body(), step=step)))

    def _while(self) -> Node:
        until = self._reserved() == "until"
        self._next()
        condition = self.list()
        return While(condition, self._body(), until)

    def _body(self) -> Node:
        self._expect("do")
        body = self.list()
        self._expect("done")
        return body

    def _if(self) -> Node:
        branches, otherwise = [], None
        while self._take("if", "elif"):
            condition = self.list()
            self._expect("then")
            branches.append((condition, self.list()))
            if self._reserved() != "elif":
                break
        if self._take("else"):
            otherwise = self.list()
        self._expect("fi")
        return If(tuple(branches), otherwise)

    def _case(self) -> Node:
        self._next()
        subject, branches = self._take_word(), []
        self._skip_lines()
        self._expect("in")
        self._skip_lines()
        while not self._take("esac"):
            self._take("(")
            patterns = [self._take_word()]
            while self._take("|"):
                patterns.append(self._take_word())
            self._expect(")")
            body, end = self.list(), self.token
            branches.append((tuple(patterns), body, end))
            if not self._take(*_ENDS_OF_BRANCHES):
                self._expect("esac")
                break
            self._skip_lines()
        return Case(subject, tuple(branches))

    def _condition(self) -> Node:
        """``[[ ... ]]``, in which groups of patterns are known."""
        groups, self._words.groups = self._words.groups, 0
        self._next()
        found = self._joined_tests("||")
        self._words.groups = groups
        self._expect("]]")
        return Condition(found)

    def _joined_tests(self, operator: str) -> Test | Joined:
        parts = []
        while True:
            self._skip_lines()
            parts.append(self._joined_tests("&&") if operator == "||" else self._test())
            if not self._take(operator):
                return parts[0] if len(parts) == 1 else Joined(operator, tuple(parts))

    def _test(self) -> Test | Joined:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ScriptError("nested too deep")
        try:
            if self._take("!"):
                return Joined("!", (self._test(),))
            if self._take("("):
                found = self._joined_tests("||")
                self._skip_lines()
                self._expect(")")
                return found
            return self._sides()
        finally:
            self._depth -= 1

    def _sides(self) -> Test:
        left = self._take_word()
        if self.token == "word" and re.fullmatch("-[a-zA-Z]", plain(left) or "") and self._reserved() != "]]":
            return Test(plain(left) or "", self._take_word())
        operator = self.token if self.token in ("<", ">") else self._reserved() if self.token == "word" else ""
        if operator == "=~":
            skipped = re.compile(r"[ \t]*").match(self._text, self._end)
            self._word, self._end = self._words.regular_expression(skipped.end() if skipped else self._end)
            return Test(operator, left, self._take_word())
        if operator in ("<", ">", "=", "==", "!=") or re.fullmatch("-[a-z][a-z]", operator):
            self._next()
            return Test(operator, left, self._take_word())
        return Test("", left)

    def _simple(self) -> Node:
        words: list[Word] = []
        assignments: list[Assignment] = []
        redirections: list[Redirection] = []
        line = self._present_line()
        while True:
            if self.token in REDIRECTIONS:
                redirections += self._redirection()
            elif self.token == "word":
                given = self._assignment() if not words else None
                if given is not None:
                    assignments.append(given)
                elif words and plain(words[0]) in DECLARATIONS:
                    words.append(self._declared())
                else:
                    words.append(self._take_word())
            elif self.token == "(" and len(words) == 1 and not assignments and (name := plain(words[0])):
                self._next()
                self._expect(")")
                return self._function(name)
            else:
                break
        if not words and not assignments and not redirections:
            raise ScriptError(f"syntax error: unexpected {self.shown}")
        return Simple(tuple(words), tuple(assignments), tuple(redirections), line)

    # Assignments

    def _assignment(self) -> Assignment | None:
        """The assignment that begins with the next word; None where none does."""
        found = self._words.subscripted(self._start)
        if found is not None and found.name:
            return Assignment(found.name, self._value(found.end), found.subscript, found.appends)
        given = assigned(self._word, adds=self._bash)
        if given is None:
            return None
        return given._replace(value=self._listing() or given.value)

    def _declared(self) -> Word:
        """A word of ``declare`` and the like: ``NAME=(...)`` is one."""
        if assigned(self._word, adds=self._bash) is None:
            return self._take_word()
        word = self._word
        return (*word, *(self._listing() or ()))

    def _value(self, position: int) -> Word:
        """The word at a position, which may be empty; the token behind it is the next one."""
        word, self._end = self._words.word(position)
        self._next()
        return word

    def _listing(self) -> Word | None:
        """The ``(...)`` that stands directly behind the next word, which it takes; None where there is none."""
        begins = self._bash and self._text.startswith("(", self._end) and self._text[self._end - 1] == "="
        self._next()
        if not begins:
            return None
        self._next()
        elements: list[Element] = []
        while not self._take(")"):
            if self._take("\n"):
                continue
            found = self._words.subscripted(self._start) if self.token == "word" else None
            if found is not None and not found.name:
                elements.append(Element(self._value(found.end), found.subscript, found.appends))
            else:
                elements.append(Element(self._take_word()))
        return (Listing(tuple(elements)),)

    def _redirection(self) -> Redirections:
        operator, number = self.token, self._number
        self._next()
        if self.token != "word":
            raise ScriptError(f"syntax error: unexpected {self.shown}")
        word = self._word
        if operator in ("<<", "<<-"):
            made = Redirection(number or 0, "<<")
            quoted = any(not isinstance(piece, Text) or piece.quoted for piece in word)
            self._pending.append(PendingDocument(made, plain(word) or "", quoted, operator == "<<-"))
            self._next()
            return (made,)
        self._next()
        if operator == "<<<":
            return (Redirection(number or 0, "<<", (*word, Text("\n", True))),)
        if operator in ("&>", "&>>"):
            return (Redirection(1, operator[1:], word), Redirection(2, ">&", (Text("1", False),)))
        first = {"<": 0, "<&": 0, "<>": 0}.get(operator, 1)
        known = {">|": ">", "<>": "<"}.get(operator, operator)
        return (Redirection(first if number is None else number, known, word),)

"""The grammar of awk: expressions, statements and rules.

References
----------
POSIX.1-2017, awk, Grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from simkit.simulation.shell.awk_tokens import AwkError, Token, number_in, tokens

_DEEPEST: Final = 60
_ASSIGN: Final = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "^=", "**="})
_COMPARE: Final = frozenset({"<", "<=", "==", "!=", ">=", ">"})
_ENDS: Final = frozenset({";", "}", "newline", "", ">", ">>", "|"})

Node = tuple[Any, ...]
"""An expression or a statement: its kind, and its parts."""


class Rule(NamedTuple):
    """The action for the records between two patterns, or for those of one, or for all."""

    first: Node | None
    last: Node | None
    body: Node


@dataclass(slots=True)
class Program:
    """The parts of a program."""

    begin: list[Node] = field(default_factory=list)
    end: list[Node] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    functions: dict[str, tuple[tuple[str, ...], Node]] = field(default_factory=dict)


def parse(text: str) -> Program:
    """The parts of a program. Raises AwkError."""
    return _Parser(tokens(text)).program()


class _Parser:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0
        self._plain = False
        """True in the words of ``print``, where ``>`` leads to a file."""

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self, *kinds: str) -> Token | None:
        token = self._next
        if token.kind in kinds and token.kind:
            self._at += 1
            return token
        return None

    def _expect(self, kind: str) -> Token:
        token = self._take(kind)
        if token is None:
            raise AwkError(f"syntax error at or near {self._next.text.strip() or 'end of line'}")
        return token

    def _skip(self, *kinds: str) -> None:
        while self._take(*(kinds or ("newline", ";"))):
            pass

    def _deeper(self, read: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise AwkError("nested too deep")
        found = read()
        self._depth -= 1
        return found

    # Rules

    def program(self) -> Program:
        """All rules and functions."""
        made = Program()
        self._skip()
        while self._next.kind:
            if self._take("BEGIN"):
                made.begin.append(self._block())
            elif self._take("END"):
                made.end.append(self._block())
            elif self._take("function"):
                name = (self._take("name") or self._expect("name")).text
                made.functions[name] = self._parameters(), self._block()
            else:
                made.rules.append(self._rule())
            self._skip()
        return made

    def _parameters(self) -> tuple[str, ...]:
        self._expect("(")
        names = []
        while name := self._take("name"):
            names.append(name.text)
            self._take(",")
            self._skip("newline")
        self._expect(")")
        self._skip("newline")
        return tuple(names)

    def _rule(self) -> Rule:
        first = last = None
        if self._next.kind != "{":
            first = self._expression()
            if self._take(","):
                self._skip("newline")
                last = self._expression()
        body = self._block() if self._next.kind == "{" else ("print", (), "", None)
        return Rule(first, last, body)

    # Statements

    def _block(self) -> Node:
        self._skip("newline")
        self._expect("{")
        parts = []
        self._skip()
        while self._next.kind != "}":
            parts.append(self._statement())
            self._skip()
        self._expect("}")
        return ("block", tuple(parts))

    def _statement(self) -> Node:
        return self._deeper(self._one_statement)

    def _one_statement(self) -> Node:
        self._skip("newline")
        if self._next.kind == "{":
            return self._block()
        if self._take(";"):
            return ("block", ())
        if self._take("if"):
            condition = self._in_brackets()
            yes = self._body()
            at = self._at
            self._skip()
            if self._take("else"):
                return ("if", condition, yes, self._body())
            self._at = at
            return ("if", condition, yes, None)
        if self._take("while"):
            return ("while", self._in_brackets(), self._body())
        if self._take("do"):
            body = self._body()
            self._skip()
            self._expect("while")
            return ("do", self._in_brackets(), body)
        return self._for() if self._take("for") else self._ended(self._simple())

    def _ended(self, node: Node) -> Node:
        if self._next.kind not in ("}", ""):
            self._take(";", "newline") or self._expect(";")
        return node

    def _body(self) -> Node:
        self._skip("newline")
        return self._statement()

    def _in_brackets(self) -> Node:
        self._expect("(")
        found: Node = self._freely(self._expression)
        self._expect(")")
        return found

    def _freely(self, read: Callable[[], Any]) -> Any:
        """Read what stands in brackets, where ``>`` compares."""
        before, self._plain = self._plain, False
        found = read()
        self._plain = before
        return found

    def _for(self) -> Node:
        self._expect("(")
        kinds = [token.kind for token in self._tokens[self._at : self._at + 4]]
        if kinds == ["name", "in", "name", ")"]:
            name, array = self._tokens[self._at].text, self._tokens[self._at + 2].text
            self._at += 4
            return ("for in", name, array, self._body())
        first = None if self._next.kind == ";" else self._simple()
        self._expect(";")
        self._skip("newline")
        condition = None if self._next.kind == ";" else self._expression()
        self._expect(";")
        self._skip("newline")
        step = None if self._next.kind == ")" else self._simple()
        self._expect(")")
        return ("for", first, condition, step, self._body())

    def _simple(self) -> Node:
        token = self._take("print", "printf", "delete", "next", "nextfile", "exit", "return", "break", "continue")
        if token is None:
            return ("expression", self._expression())
        if token.kind in ("print", "printf"):
            return self._print(token.kind)
        if token.kind == "delete":
            name = self._expect("name").text
            return ("delete", name, self._subscript() if self._take("[") else None)
        if token.kind in ("exit", "return"):
            bare = self._next.kind in (";", "}", "newline", "")
            return (token.kind, None if bare else self._expression())
        return (token.kind,)

    def _print(self, kind: str) -> Node:
        self._plain = True
        words = self._listed_words()
        self._plain = False
        led = self._take(">", ">>", "|")
        target = self._concatenation() if led else None
        return (kind, words, led.kind if led else "", target)

    def _listed_words(self) -> tuple[Node, ...]:
        if self._next.kind in _ENDS:
            return ()
        at = self._at
        if self._take("("):
            words = self._freely(self._list)
            if self._take(")") and self._next.kind in _ENDS:
                return tuple(words)
            self._at = at
        return tuple(self._list())

    def _list(self) -> list[Node]:
        found = [self._expression()]
        while self._take(","):
            self._skip("newline")
            found.append(self._expression())
        return found

    # Expressions, from what binds least

    def _expression(self) -> Node:
        return self._deeper(self._assignment)

    def _assignment(self) -> Node:
        left = self._choice()
        if self._next.kind in _ASSIGN and left[0] in ("name", "item", "field"):
            sign = self._expect(self._next.kind).kind
            self._skip("newline")
            return ("assign", left, sign[:-1], self._expression())
        return left

    def _choice(self) -> Node:
        condition = self._either()
        if not self._take("?"):
            return condition
        self._skip("newline")
        yes = self._expression()
        self._skip("newline")
        self._expect(":")
        self._skip("newline")
        return ("choice", condition, yes, self._expression())

    def _either(self) -> Node:
        left = self._both()
        while self._take("||"):
            self._skip("newline")
            left = ("or", left, self._both())
        return left

    def _both(self) -> Node:
        left = self._member()
        while self._take("&&"):
            self._skip("newline")
            left = ("and", left, self._member())
        return left

    def _member(self) -> Node:
        left = self._match()
        while self._take("in"):
            left = ("in", (left,), self._expect("name").text)
        return left

    def _match(self) -> Node:
        left = self._comparison()
        while sign := self._take("~", "!~"):
            left = ("match", sign.kind == "~", left, self._comparison())
        return left

    def _comparison(self) -> Node:
        left = self._concatenation()
        while self._next.kind == "|" and self._tokens[self._at + 1].kind == "getline":
            self._at += 2
            left = ("getline", "|", left, self._place())
        if self._next.kind in _COMPARE and not (self._plain and self._next.kind == ">"):
            sign = self._expect(self._next.kind).kind
            return ("compare", sign, left, self._concatenation())
        return left

    def _concatenation(self) -> Node:
        left = self._sum()
        while self._next.kind in ("number", "string", "name", "builtin", "$", "(", "++", "--"):
            left = ("join", left, self._sum())
        return left

    def _sum(self) -> Node:
        left = self._product()
        while sign := self._take("+", "-"):
            left = ("number", sign.kind, left, self._product())
        return left

    def _product(self) -> Node:
        left = self._unary()
        while sign := self._take("*", "/", "%"):
            left = ("number", sign.kind, left, self._unary())
        return left

    def _unary(self) -> Node:
        if sign := self._take("!", "-", "+"):
            return ("unary", sign.kind, self._deeper(self._unary))
        return self._power()

    def _power(self) -> Node:
        left = self._changed()
        if self._take("^"):
            right = ("unary", "-", self._deeper(self._unary)) if self._take("-") else self._deeper(self._power)
            return ("number", "^", left, right)
        return left

    def _changed(self) -> Node:
        if sign := self._take("++", "--"):
            return ("step", sign.kind, True, self._deeper(self._single))
        found = self._single()
        if found[0] in ("name", "item", "field") and (sign := self._take("++", "--")):
            return ("step", sign.kind, False, found)
        return found

    def _single(self) -> Node:
        token = self._next
        self._at += 1
        match token.kind:
            case "number":
                return ("value", number_in(token.text))
            case "string":
                return ("value", token.text)
            case "ere":
                return ("ere", token.text)
            case "$":
                stepped = self._next.kind in ("++", "--")
                return ("field", self._deeper(self._changed if stepped else self._single))
            case "(":
                return self._grouped()
            case "getline":
                place = self._place()
                return (
                    ("getline", "<", self._deeper(self._changed), place)
                    if self._take("<")
                    else ("getline", "", None, place)
                )
            case "builtin":
                return ("builtin", token.text, self._arguments())
            case "name" if token.called:
                return ("call", token.text, self._arguments())
            case "name":
                return ("item", token.text, self._subscript()) if self._take("[") else ("name", token.text)
        raise AwkError(f"syntax error at or near {token.text.strip() or 'end of line'}")

    def _grouped(self) -> Node:
        words = self._freely(self._list)
        self._expect(")")
        if len(words) > 1:
            self._expect("in")
            return ("in", tuple(words), self._expect("name").text)
        return ("group", words[0])

    def _place(self) -> Node | None:
        """The variable into which ``getline`` reads."""
        return self._single() if self._next.kind in ("name", "$") else None

    def _subscript(self) -> tuple[Node, ...]:
        words = self._freely(self._list)
        self._expect("]")
        return tuple(words)

    def _arguments(self) -> tuple[Node, ...]:
        if not self._take("("):
            return ()
        self._skip("newline")
        words = [] if self._next.kind == ")" else self._freely(self._list)
        self._skip("newline")
        self._expect(")")
        return tuple(words)

"""Sources that are no expressions: every error in the words of kube-apiserver's parser, which goes on after each."""

from __future__ import annotations

import pytest

from simkit.language.cel.environment import OWN_EXPRESSIONS, CompileError, Environment
from simkit.meta.behaviour import ServedBehaviour
from simkit.schema.behaviour import default_behaviour

BEHAVIOUR = default_behaviour("1.30")

_PLAIN = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"
_OPERAND = f"{{'[', '{{', '(', '.', '-', '!', {_PLAIN}}}"
_ARGUMENT = f"{{'[', '{{', '(', ')', '.', '-', '!', {_PLAIN}}}"
_INDEX = f"{{'[', '{{', '(', '.', '-', '!', '?', {_PLAIN}}}"
_ELEMENT = f"{{'[', ']', '{{', '(', '.', ',', '-', '!', '?', {_PLAIN}}}"
_ENTRY = f"{{'[', '{{', '}}', '(', '.', ',', '-', '!', '?', {_PLAIN}}}"
_FIELD = "{'}', ',', '?', IDENTIFIER}"

WRONG: list[tuple[str, list[tuple[int, str]]]] = [
    # after the end
    ("a == b)", [(7, "extraneous input ')' expecting <EOF>")]),
    ("a == b) && c", [(7, "mismatched input ')' expecting <EOF>")]),
    ("a b c", [(3, "mismatched input 'b' expecting <EOF>")]),
    ("a | b", [(3, "token recognition error at: '| '"), (5, "extraneous input 'b' expecting <EOF>")]),
    ("f(){}", [(4, "mismatched input '{' expecting <EOF>")]),
    # operands
    ("", [(1, f"mismatched input '<EOF>' expecting {_OPERAND}")]),
    (
        "1 + +",
        [(5, f"mismatched input '+' expecting {_OPERAND}"), (6, f"mismatched input '<EOF>' expecting {_OPERAND}")],
    ),
    ("1 +* 2", [(4, f"extraneous input '*' expecting {_OPERAND}")]),
    ("in", [(1, f"mismatched input 'in' expecting {_OPERAND}"), (3, f"mismatched input '<EOF>' expecting {_OPERAND}")]),
    ("a ? : b", [(5, f"extraneous input ':' expecting {_OPERAND}"), (8, "mismatched input '<EOF>' expecting ':'")]),
    ("--", [(3, "no viable alternative at input '-'"), (3, f"mismatched input '<EOF>' expecting {_OPERAND}")]),
    ("()", [(2, f"mismatched input ')' expecting {_OPERAND}")]),
    ("f(a, )", [(6, f"mismatched input ')' expecting {_OPERAND}")]),
    ("f(", [(3, f"mismatched input '<EOF>' expecting {_ARGUMENT}")]),
    ("x[ ]", [(4, f"mismatched input ']' expecting {_INDEX}")]),
    ("[", [(2, f"mismatched input '<EOF>' expecting {_ELEMENT}")]),
    ("{", [(2, f"mismatched input '<EOF>' expecting {_ENTRY}")]),
    ("{:a}", [(2, f"extraneous input ':' expecting {_ENTRY}"), (4, "mismatched input '}' expecting ':'")]),
    # names
    ("a.", [(3, "no viable alternative at input '.'")]),
    ("{'a': 1}.\"a\"", [(10, "no viable alternative at input '.\"a\"'")]),
    ("x{.", [(3, f"mismatched input '.' expecting {_FIELD}")]),
    ("x{?.", [(4, "mismatched input '.' expecting IDENTIFIER")]),
    (
        "func{{a}}",
        [
            (6, f"extraneous input '{{' expecting {_FIELD}"),
            (8, "mismatched input '}' expecting ':'"),
            (9, "extraneous input '}' expecting <EOF>"),
        ],
    ),
    # what ends a construct
    ("(a", [(3, "missing ')' at '<EOF>'")]),
    ("(1 2)", [(4, "extraneous input '2' expecting ')'")]),
    ("f(1 2", [(5, "mismatched input '2' expecting ')'")]),
    ("x[1", [(4, "missing ']' at '<EOF>'")]),
    ("[1, 2", [(6, "mismatched input '<EOF>' expecting {']', ','}")]),
    ("[1 2]", [(4, "extraneous input '2' expecting {']', ','}")]),
    ("[1, ", [(5, "missing ']' at '<EOF>'")]),
    ("[1,,2]", [(4, "mismatched input ',' expecting ']'")]),
    ("{'a': 1 2}", [(9, "extraneous input '2' expecting {'}', ','}")]),
    ("{a}", [(3, "mismatched input '}' expecting ':'")]),
    ("{'a' 1}", [(6, "missing ':' at '1'")]),
    ("true ? 1", [(9, "mismatched input '<EOF>' expecting ':'")]),
    ("true ? 1 2", [(10, "missing ':' at '2'")]),
    ("true ? 1 2 : 3", [(10, "extraneous input '2' expecting ':'")]),
    # texts and numbers
    ('"""a', [(3, "token recognition error at: '\"a'")]),
    ('r"""a', [(4, "token recognition error at: '\"a'")]),
    ('b"a', [(2, "token recognition error at: '\"a'")]),
    ('"""a" == "a"', [(3, "mismatched input '\"a\"' expecting <EOF>")]),
    (
        '"\\xFh"',
        [
            (1, "token recognition error at: '\"\\xFh'"),
            (6, "token recognition error at: '\"'"),
            (7, f"mismatched input '<EOF>' expecting {_OPERAND}"),
        ],
    ),
]
"""Sources with the columns and texts of their syntax errors."""
REFUSED: list[tuple[str, list[tuple[int, str]]]] = [
    ("for == 1", [(1, "reserved identifier: for")]),
    ("while && let", [(1, "reserved identifier: while"), (10, "reserved identifier: let")]),
    (
        "[1].map(var, var)",
        [(9, "argument is not an identifier"), (9, "reserved identifier: var"), (14, "reserved identifier: var")],
    ),
    ("m.filter(a.b, false)", [(11, "argument is not an identifier")]),
    ("1.all(2, 3)", [(7, "argument must be a simple name")]),
    ("0xFFFFFFFFFFFFFFFFF", [(1, "invalid int literal")]),
    ("99999999999999999999u", [(1, "invalid uint literal")]),
    ("1.99e90000009", [(1, "invalid double literal")]),
    ("'\\udead' == 'x'", [(1, "invalid unicode code point")]),
    (
        "has(1) && has([1].exists(b.c, has(2)))",
        [
            (5, "invalid argument to has() macro"),
            (25, "invalid argument to has() macro"),
            (27, "argument must be a simple name"),
            (35, "invalid argument to has() macro"),
        ],
    ),
    ("int{}", [(4, "'int' is not a message type")]),
    ("foo{a: b}", [(4, "undeclared reference to 'foo' (in container '')")]),
]
"""Sources that parse, with what is wrong with their parts."""


def _told(source: str, behaviour: ServedBehaviour = BEHAVIOUR) -> list[tuple[int, str]]:
    with pytest.raises(CompileError) as failure:
        Environment(behaviour, version=OWN_EXPRESSIONS, homogeneous=False).compile(source)
    return sorted((issue.position + 1, issue.text) for issue in failure.value.issues)


@pytest.mark.parametrize(("source", "wanted"), WRONG)
def test_syntax_errors(source: str, wanted: list[tuple[int, str]]) -> None:
    """Each error stands where the parser met it; what it recovers from is told, and what follows from that is not."""
    assert _told(source) == sorted((column, f"Syntax error: {text}") for column, text in wanted)


@pytest.mark.parametrize(("source", "wanted"), REFUSED)
def test_parts_that_are_refused(source: str, wanted: list[tuple[int, str]]) -> None:
    """Words of the language, impossible constants and wrong macros are all told, without being syntax errors."""
    assert _told(source) == sorted(wanted)


@pytest.mark.parametrize(
    ("source", "value"), [("[1, 2,]", [1, 2]), ("{'a': 1,}", {"a": 1}), ("[,]", []), ("{,}", {}), ("[[1,],]", [[1]])]
)
def test_commas_may_end_lists_and_maps(source: str, value: object) -> None:
    """The last element of a list or map may be followed by a comma."""
    assert Environment(BEHAVIOUR, homogeneous=False).compile(source).evaluate({}).value == value


def test_the_parser_gives_up_after_thirty_errors() -> None:
    """A source that is wrong everywhere costs little, and is told about no further than the real parser tells."""
    found = _told("a ? b ? " * 100)
    assert found[-1][1] == "Syntax error: error recovery attempt limit exceeded: 30"
    assert len(found) == 31


@pytest.mark.parametrize("source", ["f(1,)", "{'a': 1}.in", "{'a': 1}.true", "{'a': 1}.null", "1. + 2"])
def test_texts_that_look_like_expressions(source: str) -> None:
    """Arguments end in no comma, words of the language are no fields, and no number ends in a dot."""
    assert any(text.startswith("Syntax error: ") for _, text in _told(source))


@pytest.mark.parametrize(("source", "token"), [("a.?", "<EOF>"), ("a.?[0]", "["), ("a.?)", ")")])
def test_a_name_is_missing_behind_an_optional_field(source: str, token: str) -> None:
    """The token in its place is told, and once more without a syntax error where names may stand in quotes."""
    wanted = f"Syntax error: mismatched input '{token}' expecting {{IDENTIFIER, ESC_IDENTIFIER}}"
    assert _told(source, default_behaviour("1.36")) == [(4, wanted), (4, "unsupported ident kind")]


def test_a_dot_too_many_behind_an_optional_field() -> None:
    """The name behind it is read all the same."""
    assert [text for _, text in _told("a.?.b", default_behaviour("1.36"))] == [
        "Syntax error: extraneous input '.' expecting {IDENTIFIER, ESC_IDENTIFIER}"
    ]


@pytest.mark.parametrize(("source", "place"), [("!", "<EOF>"), ("1 + !", "<EOF>"), ("!)", ")"), ("[!]", "]")])
def test_an_operand_is_missing_behind_a_negation(source: str, place: str) -> None:
    """What stands there is one token too many, even the end."""
    assert _told(source)[0][1].startswith(f"Syntax error: extraneous input '{place}' expecting {{'['")

"""Later editions of the language's conformance suite, as far as release 1.30 has their features."""

from __future__ import annotations

from typing import Any, Final

import pytest

from simkit.language.cel.environment import (
    OWN_EXPRESSIONS,
    STORED_EXPRESSIONS,
    CompileError,
    Environment,
    EvaluationError,
)
from simkit.language.cel.types import INT
from simkit.schema.behaviour import default_behaviour

BEHAVIOUR = default_behaviour("1.30")

LATER: Final[dict[str, tuple[str, Any]]] = {
    "[1, 2].transformList(i, v, i > 0, i + v)": ("1.32", [3]),
    "[5, 6].all(i, v, v - i == 5) && !{'a': 1}.all(k, v, k == 'b')": ("1.32", True),
    "{'a': 1}.exists(k, v, 1 / (v - 1) > 0 || k == 'a')": ("1.32", True),
    "[1].exists(i, v, v > 0) && [1].existsOne(i, v, v > 0)": ("1.32", True),
    "{'a': 1, 'b': 2}.transformMap(k, v, k == 'b', v + 1)": ("1.32", {"b": 3}),
    "['a'].transformMap(i, v, [i].transformList(j, w, string(w) + v))": ("1.32", {0: ["0a"]}),
    "{'a': 1}.transformMapEntry(k, v, {v: k})": ("1.32", {1: "a"}),
    "{'a': [1, 2]}.exists(k, v, v.exists(i, w, i == 1 && w == 2))": ("1.32", True),
    "format.dns1123Label().validate('fine').hasValue()": ("1.31", False),
    "format.named('dns1035LabelPrefix').value().validate('ok-').hasValue()": ("1.31", False),
    "format.named('none').hasValue()": ("1.31", False),
    "format.uuid().validate('x').value()": ("1.31", ["does not match the UUID format"]),
    "format.uri().validate('x').value()": ("1.31", ['parse "x": invalid URI for request']),
    "format.portName().validate('80').value()": ("1.31", ["must contain at least one letter (a-z)"]),
    "semver('1.10.0').isGreaterThan(semver('1.9.0'))": ("1.33", True),
    "semver('1.0.0-rc.2').compareTo(semver('1.0.0-rc.10')) + semver('1.0.0+a').compareTo(semver('1.0.0'))": (
        "1.33",
        -1,
    ),
    "semver('v1.02', true) == semver('1.2.0') && semver('1.2.3-x').patch() == 3": ("1.33", True),
    "[isSemver('1.0'), isSemver('1.0', true), isSemver('01.0.0'), isSemver('1.0.0-')]": (
        "1.33",
        [False, True, False, False],
    ),
    "[3, 1, 2].sort() + [1, 2, 3].slice(1, 2) + [1, 2].reverse() + [2, 2].distinct()": ("1.34", [1, 2, 3, 2, 2, 1, 2]),
    "[{'n': 'b'}, {'n': 'a'}].sortBy(e, e.n)[0].n": ("1.34", "a"),
    "[[1, [2]], [3]].flatten().size() + [1, [2, [3]]].flatten(2).size() + lists.range(3).size()": ("1.34", 9),
}
"""Expressions that release 1.30 refuses, with the release that brought what they use, and their values there."""
WRONG_LATER: Final = {
    "[1].all(i, i, true)": "duplicate variable name: i",
    "[1].all(x.y, i, true)": "argument must be a simple name",
    "[1].transformMapEntry(i, v, v)": "found no matching overload for 'cel.@mapInsert' applied to",
    "[1, 2].transformMapEntry(i, v, {'a': v})": "insert failed: key a already exists",
    "semver('1.0')": "No Major.Minor.Patch elements found",
    "semver('1.02.0')": 'Minor number must not contain leading zeroes "02"',
    "semver('1.0.0-')": "Prerelease is empty",
    "semver('a', true)": 'Invalid character(s) found in major number "a"',
    "[1].slice(0, 2)": "cannot slice(0, 2), list is length 1",
    "[1].slice(1, 0)": "cannot slice(1, 0), start index must be less than or equal to end index",
    "[[1]].flatten(-1)": "level must be non-negative",
    "[dyn(1), dyn('a')].sort()": "list elements must have the same type",
    "lists.range(9000000000)": "lists.range(9000000000) is longer than 1048576",
    "{'a': 1}.sortBy(e, e)": "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
}
"""What is said of expressions that are wrong in every release."""
ABSENT: Final = {
    "cel.bind(x, 1, x + x)": "bindings (bindings_ext)",
    "cel.block([1], cel.index(0))": "blocks (block_ext)",
    "math.greatest(1, 2)": "mathematics (math_ext)",
    "base64.encode(b'a')": "encoders (encoders_ext)",
    "'abc'.reverse()": "the third version of the string library (string_ext)",
    "{'a-b': 1}.`a-b`": "names in backticks (fields)",
    "optional.unwrap([optional.of(1)])": "the second version of optionals (optionals)",
    "[optional.of(1)].unwrapOpt()": "the second version of optionals (optionals)",
}
"""Expressions of later editions that no release has, with what came later; the file of the suite in brackets."""
DIFFERENT: Final = {
    "{'k': dyn(null)}.?k.field.hasValue()": (False, "the suite turns on an option by which asking a null is an error"),
    "{true: dyn(0)}[?true].field.hasValue()": (False, "the suite turns on that option"),
    "'%e'.format([2.5])": (
        "2.500000\u202f×\u202f10⁰⁰",
        "the release writes numbers as the language of its locale does",
    ),
    "'%f'.format([double('Infinity')])": ("∞", "the same"),
    "'%s'.format([['a', double('NaN')]])": ('["a", "NaN"]', "the release writes what is inside of lists as literals"),
    "isIP('::ffff:a00:1')": (False, "the server's own library refuses IPv4 addresses in the form of IPv6"),
}
"""Expressions that later editions answer otherwise, with the release's answer and the reason."""

VALUES: Final[list[tuple[str, Any]]] = [
    # optionals: made, asked, chained
    ("optional.of(null).hasValue()", True),
    ("optional.ofNonZeroValue(duration('0s')).hasValue()", False),
    ("optional.none().or(optional.none()).orValue(7)", 7),
    ("optional.none().optMap(x, x + 1).hasValue()", False),
    ("{'a': {}}.?a.optFlatMap(x, x.?b).hasValue()", False),
    ("{'a': {'b': 2}}.?a.optFlatMap(x, x.?b).value()", 2),
    ("{}.?a.b.c.hasValue()", False),
    ("has({'a': {'b': 1}}.?a.b)", True),
    ("has({}.?a.b)", False),
    ("optional.of({'a': {'b': 1}}).a.b.orValue(9)", 1),
    ("optional.of({'a': {}})['a']['b'].orValue(9)", 9),
    ("optional.none()[0].orValue(9)", 9),
    ("optional.of([3])[0].orValue(9)", 3),
    ("[][?0].hasValue()", False),
    ("[1, 2][?1].value()", 2),
    ("optional.none()[?0].hasValue()", False),
    ("{1u: 'a', 2: 'b', true: 'c'}[?1].value()", "a"),
    ("{1u: 'a', 2: 'b'}[?2.0].value()", "b"),
    ("{?'a': optional.of(1), ?'b': optional.none()}", {"a": 1}),
    ("{?'a': optional.ofNonZeroValue({?'b': {}.?c}), 'd': true}", {"d": True}),
    ("[?{}.?a, ?optional.of(5), 6]", [5, 6]),
    ("optional.none() == optional.none() && optional.none() != optional.of(1)", True),
    ("optional.of(1) == optional.of(1) && optional.of(1) != optional.of(2)", True),
    ("type(optional.none()) == optional_type", True),
    # addresses
    ("string(ip('10.0.0.1'))", "10.0.0.1"),
    ("ip.isCanonical('2001:DB8::1')", False),
    ("type(ip('10.0.0.1')) == net.IP && type(cidr('10.0.0.0/8')) == net.CIDR", True),
    ("ip('10.0.0.1').family() + ip('::1').family()", 10),
    ("ip('2001:db8::1') == ip('2001:DB8::1')", True),
    ("ip('255.255.255.255').isGlobalUnicast() || ip('ff00::1').isGlobalUnicast()", False),
    ("ip('224.0.0.1').isLinkLocalMulticast() && !ip('224.0.1.1').isLinkLocalMulticast()", True),
    ("cidr('10.0.0.0/24').containsIP('10.0.0.9') && !cidr('10.0.0.0/24').containsIP(ip('10.0.1.9'))", True),
    ("cidr('10.0.0.0/24').containsCIDR('10.0.0.0/25') && !cidr('10.0.0.0/24').containsCIDR('10.0.0.0/23')", True),
    ("cidr('::/0').containsIP('10.0.0.1')", False),
    ("cidr('10.0.0.7/24').masked() == cidr('10.0.0.0/24')", True),
    ("string(cidr('2001:db8::/32')) + ' ' + string(cidr('10.0.0.0/8').prefixLength())", "2001:db8::/32 8"),
    # conversions, keys of other numeric types, time zones
    ("[bool('TRUE'), bool('t'), bool('1'), bool('F'), bool(true)]", [True, True, True, False, True]),
    ("string(true) + string('x')", "truex"),
    (
        "timestamp(timestamp(1)) == timestamp('1970-01-01T00:00:01Z') && duration(duration('1s')) == duration('1s')",
        True,
    ),
    ("dyn(1) == 1u && dyn(1.0) in [1] && {1: 'a'}[dyn(1u)] == 'a' && [4][dyn(0.0)] == 4", True),
    ("double('NaN') == double('NaN')", False),
    ("timestamp('2009-02-13T23:31:30Z').getMinutes('Asia/Kathmandu')", 16),
    ("timestamp('2009-02-13T23:31:30Z').getHours('-02:30')", 21),
]
FAILING: Final = [
    "optional.none().value()",
    "ip('10.0.0.1.0')",
    "ip('fe80::1%en0')",
    "cidr('10.0.0.0/')",
    "cidr('::ffff:10.0.0.1/24')",
    "isIP(cidr('10.0.0.0/8'))",
    "bool('tRUE')",
    "int(9223372036854775807.0)",
    "uint(18446744073709551615.0)",
    "[1][dyn(0.1)]",
]
TYPES: Final = [
    ("[[], [[]], [[[]]]]", "list(list(list(list(dyn))))"),
    ("[[[[]]], [], [[]]]", "list(list(list(list(dyn))))"),
    ("[].map(x, x)[0].field", "dyn"),
    ("[1, 'a']", "list(dyn)"),
    ("{1: 1, 'a': 2}", "map(dyn, int)"),
    ("true ? [dyn(1)] : [1]", "list(dyn)"),
    ("[optional.none(), optional.of(1)][0].orValue(2)", "int"),
    ("(true ? optional.of(dyn(1)) : optional.of(1)).value()", "dyn"),
    ("{'a': [1]}['a'][0]", "int"),
]


OTHER_TYPES: Final = {
    "[optional.of(1), null][0]": (
        "null",
        "the library of the release takes the last of two types that take each other",
    ),
}
"""Expressions to which later editions give another type, with the release's and the reason."""


@pytest.fixture(scope="module")
def environment() -> Environment:
    return Environment(BEHAVIOUR, version=STORED_EXPRESSIONS, homogeneous=False)


@pytest.mark.parametrize("budget", [None, 10**6])
@pytest.mark.parametrize(("source", "wanted"), [*VALUES, *((key, value) for key, (value, _) in DIFFERENT.items())])
def test_values(environment: Environment, source: str, wanted: Any, budget: int | None) -> None:
    """The value is the same, counted or not."""
    found = environment.compile(source).evaluate({}, budget=budget).value
    assert (type(found), found) == (type(wanted), wanted)


@pytest.mark.parametrize("source", FAILING)
def test_failures(environment: Environment, source: str) -> None:
    """Expressions without a value are refused at compilation or at evaluation."""
    with pytest.raises((CompileError, EvaluationError)):
        environment.compile(source).evaluate({})


@pytest.mark.parametrize("source", [*ABSENT, *LATER])
def test_later_features_are_refused(source: str) -> None:
    """No expression of a later library compiles, so that nothing passes here which the release would refuse."""
    with pytest.raises(CompileError):
        Environment(BEHAVIOUR, version=OWN_EXPRESSIONS, homogeneous=False).compile(source)


@pytest.mark.parametrize("source", ABSENT)
def test_features_that_no_release_has(environment: Environment, source: str) -> None:
    """Libraries of the language that kube-apiserver has in no release are refused among stored expressions too."""
    with pytest.raises(CompileError):
        environment.compile(source)


@pytest.mark.parametrize("budget", [None, 10**6])
@pytest.mark.parametrize(("source", "since", "wanted"), [(source, *found) for source, found in LATER.items()])
def test_stored_expressions_of_later_releases(source: str, since: str, wanted: Any, budget: int | None) -> None:
    """Expressions stored by a newer server evaluate, from the release on that introduced them."""
    major, _, minor = since.partition(".")
    with pytest.raises(CompileError):
        Environment(BEHAVIOUR, version=f"{major}.{int(minor) - 1}", homogeneous=False).compile(source)
    program = Environment(BEHAVIOUR, version=since, homogeneous=False).compile(source)
    found = program.evaluate({}, budget=budget)
    assert (type(found.value), found.value) == (type(wanted), wanted)
    assert found.cost <= program.estimate()[1]


@pytest.mark.parametrize(("source", "told"), WRONG_LATER.items())
def test_errors_of_later_expressions(environment: Environment, source: str, told: str) -> None:
    """Macros and functions of later releases fail in kube-apiserver's words."""
    with pytest.raises((CompileError, EvaluationError)) as failure:
        environment.compile(source).evaluate({})
    assert told in str(failure.value)


@pytest.mark.parametrize(("source", "wanted"), [*TYPES, *((key, value) for key, (value, _) in OTHER_TYPES.items())])
def test_types(environment: Environment, source: str, wanted: str) -> None:
    """Types are joined as far as they agree."""
    assert str(environment.compile(source).type) == wanted


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(
    ("source", "bindings"),
    [
        ("[{'z': 0}].exists(y, y.z == 0)", {"y.z": 42}),
        ("[{'z': 0}].exists(y, y.z == 0)", {"com.example.y.z": 42}),
        ("[0].exists(y, y == 0)", {"com.example.y": 42, "y": 41}),
        ("[1].exists(y, [0].exists(y, y == 0))", {"com.example.y": 42}),
        ("y == 42 && .y == 41", {"com.example.y": 42, "y": 41}),
        ("[{'z': 0}].exists(y, .y.z == 42)", {"y.z": 42, "com.example.y.z": 43}),
    ],
)
def test_variables_of_macros_hide_others(source: str, bindings: dict[str, int], check: bool) -> None:
    """A name means the innermost variable that begins it; a dot in front asks for the outermost."""
    environment = Environment(
        BEHAVIOUR, dict.fromkeys(bindings, INT), version=STORED_EXPRESSIONS, container="com.example"
    )
    assert environment.compile(source, check=check).evaluate(bindings).value is True


LETTERS: Final = {
    "\\a": "\a",
    "\\`": "`",
    "\\?": "?",
    "\\x41": "A",
    "\\u00e9": "\xe9",
    "\\U0001F600": "\U0001f600",
    "\\101": "A",
}


@pytest.mark.parametrize("quote", ["'", '"', "'''", '"""'])
def test_every_kind_of_text(environment: Environment, quote: str) -> None:
    """Escapes mean the same in all quotes; a line end needs three of them, unless it is escaped."""
    for written, meant in LETTERS.items():
        assert environment.compile(f"{quote}{written}{quote}").evaluate({}).value == meant
        assert environment.compile(f"r{quote}{written}{quote}").evaluate({}).value == written
    for letter in "\x01\t\x7f\n\r":
        if letter in "\n\r" and len(quote) == 1:
            with pytest.raises(CompileError):
                environment.compile(f"{quote}{letter}{quote}")
        else:
            assert environment.compile(f"{quote}{letter}{quote}").evaluate({}).value == letter
    assert environment.compile(f"b{quote}\\xff\\101\xe9{quote}").evaluate({}).value == b"\xffA\xc3\xa9"
    assert environment.compile(f"br{quote}\\n{quote}").evaluate({}).value == b"\\n"

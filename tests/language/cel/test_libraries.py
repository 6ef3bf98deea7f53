"""The libraries, function by function."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.language.cel.environment import Environment, EvaluationError
from simkit.language.cel.lib_policies import AuthorizerValue
from simkit.language.cel.lib_strings import FORMATS, SEARCHES
from simkit.language.cel.libraries import LIBRARIES
from simkit.language.cel.types import DYN, parsed
from simkit.meta.attributes import ALLOW, DENY, Attributes, Decision
from simkit.meta.identity import Identity
from simkit.schema.behaviour import default_behaviour
from tools.facts import read

BEHAVIOUR = default_behaviour("1.30")

ENVIRONMENT = Environment(BEHAVIOUR, {"any": DYN}, version="1.30")

STRINGS: list[tuple[str, Any]] = [
    ("'tacocat'.charAt(3) + 'abc'.charAt(3)", "o"),
    ("'tacocat'.indexOf('a') * 10 + 'tacocat'.indexOf('a', 2)", 15),
    ("'tacocat'.lastIndexOf('a') + 'tacocat'.lastIndexOf('none')", 4),
    ("'tacocat'.lastIndexOf('a', 3)", 1),
    ("'hello hello'.replace('he', 'we', 1)", "wello hello"),
    ("'abc'.replace('', '_')", "_a_b_c_"),
    ("'a,b,c'.split(',')", ["a", "b", "c"]),
    ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
    ("'a,b,c'.split(',', 0)", []),
    ("'abc'.split('')", ["a", "b", "c"]),
    ("'tacocat'.substring(4) + 'tacocat'.substring(0, 4)", "cattaco"),
    ("'  x\\t'.trim() + 'TacoÉ'.lowerAscii() + 'taco'.upperAscii()", "xtacoÉTACO"),
    ("['a', 'b'].join() + ['a', 'b'].join('-')", "aba-b"),
    ("strings.quote('a\"b\\n')", '"a\\"b\\n"'),
]
LISTS: list[tuple[str, Any]] = [
    ("[1, 2, 2].isSorted() && !['b', 'a'].isSorted() && [].isSorted()", True),
    ("[1, 3, 2].max() + [1, 3, 2].min() + [1, 2].sum()", 7),
    ("[0.5, 0.25].sum()", 0.75),
    ("['a', 'b', 'a'].indexOf('a') + ['a', 'b', 'a'].lastIndexOf('a') + [1].indexOf(2)", 1),
    ("[duration('1h'), duration('30m')].sum() == duration('90m')", True),
    ("sets.contains([1, 2, 3], [2, 2]) && !sets.contains([1], [2]) && sets.contains([1], [])", True),
    ("sets.intersects([1, 2], [2, 3]) && !sets.intersects([], [])", True),
    ("sets.equivalent([1, 1, 2], [2, 1]) && !sets.equivalent([1], [1, 2])", True),
]
REGEX: list[tuple[str, Any]] = [
    ("'abc 123 45'.find('[0-9]+') + 'abc'.find('[0-9]')", "123"),
    ("'abc 123 45'.findAll('[0-9]+')", ["123", "45"]),
    ("'abc 123 45'.findAll('[0-9]+', 1)", ["123"]),
    ("'abc'.findAll('x')", []),
    ("'abc'.matches('^a.c$') && matches('abc', 'b') && !'abc'.matches('^b')", True),
]
URLS: list[tuple[str, Any]] = [
    ("url('https://example.com:80/path?k=v').getScheme()", "https"),
    ("url('https://example.com:80/').getHost()", "example.com:80"),
    ("url('https://example.com:80/').getHostname() + url('https://[::1]:80/').getHostname()", "example.com::1"),
    ("url('https://example.com:80/').getPort() + url('https://example.com/').getPort()", "80"),
    ("url('https://example.com/path with spaces/').getEscapedPath()", "/path%20with%20spaces/"),
    ("url('https://example.com/?k1=a&k2=b&k2=c').getQuery()", {"k1": ["a"], "k2": ["b", "c"]}),
    ("url('/path').getHost() + url('/path').getEscapedPath()", "/path"),
    ("isURL('https://example.com') && isURL('/path') && isURL('mailto:a@b')", True),
    ("isURL('path') || isURL('') || isURL('https://a b/') || isURL('http://a:b/') || isURL('/%zz')", False),
]
QUANTITIES: list[tuple[str, Any]] = [
    ("isQuantity('1.3Gi') && isQuantity('-5m') && !isQuantity('Three') && !isQuantity('1.3GiB')", True),
    ("quantity('50k').asInteger() + quantity('1').add(2).asInteger()", 50003),
    ("quantity('1e999999999').asApproximateFloat() > 1e300", True),
    ("quantity('1e999999999').add(quantity('1e999999998')).isGreaterThan(quantity('1'))", True),
    ("quantity('50M').compareTo(quantity('50Mi'))", -1),
    ("quantity('1k').sub(quantity('500')).asApproximateFloat()", 500.0),
    ("quantity('1.5').isInteger() || quantity('9999999999999999999999').isInteger()", False),
    ("sign(quantity('-1')) + sign(quantity('0'))", -1),
    ("quantity('2').isGreaterThan(quantity('1')) && quantity('1').isLessThan(quantity('2'))", True),
    ("quantity('1') == quantity('1000m')", True),
    ("quantity('3').sub(1).asInteger()", 2),
]
NETWORK: list[tuple[str, Any]] = [
    ("ip('127.0.0.1').isLoopback() && ip('::').isUnspecified() && ip('fe80::1').isLinkLocalUnicast()", True),
    ("ip('224.0.0.1').isLinkLocalMulticast() && ip('8.8.8.8').isGlobalUnicast()", True),
    ("isIP('1.2.3.4') && !isIP('1.2.3') && !isIP('::ffff:1.2.3.4') && ip.isCanonical('::1')", True),
    ("cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))", True),
    ("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.0.0.0/8').containsCIDR(cidr('::/0'))", True),
    ("string(cidr('10.1.2.3/8').masked()) + string(cidr('10.1.2.3/8').ip())", "10.0.0.0/810.1.2.3"),
    ("cidr('10.0.0.0/8').prefixLength() + ip('::1').family()", 14),
    ("isCIDR('10.0.0.0/33') || isCIDR('10.0.0.0') || isCIDR('10.0.0.0/08')", False),
]
TIMES: list[tuple[str, Any]] = [
    ("timestamp('2023-01-01T02:03:04.567Z').getMilliseconds()", 567),
    ("timestamp('2023-01-01T00:00:00Z').getDayOfWeek() + timestamp('2023-02-01T00:00:00Z').getDayOfYear()", 31),
    ("timestamp('2023-01-01T02:00:00Z').getHours('America/New_York')", 21),
    ("timestamp('2023-01-01T02:00:00Z').getDate('-08:00')", 31),
    ("string(timestamp('2023-01-01T02:03:04+02:00'))", "2023-01-01T02:03:04+02:00"),
    ("timestamp('2023-01-01T02:00:00+02:00') == timestamp('2023-01-01T00:00:00Z')", True),
    ("duration('90m').getHours() + duration('90m').getMinutes() + duration('-90s').getSeconds()", 1),
    ("int(timestamp('1970-01-01T00:00:10Z')) + int(timestamp(5))", 15),
]
FORMAT: list[tuple[str, Any]] = [
    ("'%.3f %b %x %X %o'.format([3.14159, 5, 255, 255, 8])", "3.142 101 ff FF 10"),
    ("'%s'.format([{'k': 1, 'a': [true, null]}])", '{"a":[true, null], "k":1}'),
    ("'%s %s'.format([1.5, 1e21])", "1.5 1e+21"),
    ("'100%%'.format([])", "100%"),
    ("'%s'.format([type(1)])", "int"),
    ("'%x'.format(['hi'])", "6869"),
    ("'%d %s'.format([1u, duration('90s')])", "1 90s"),
]


@pytest.mark.parametrize(("source", "value"), [*STRINGS, *LISTS, *REGEX, *URLS, *QUANTITIES, *NETWORK, *TIMES, *FORMAT])
def test_functions(source: str, value: Any) -> None:
    """Functions give the values of kube-apiserver's libraries."""
    assert ENVIRONMENT.compile(source).evaluate({}).value == value


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'abc'.charAt(4)", "index out of range: 4"),
        ("'abc'.indexOf('a', 9)", "index out of range: 9"),
        ("'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"),
        ("quantity('1500m').asInteger()", "cannot convert value to integer"),
        ("quantity(string(any))", "unable to parse quantity's suffix"),
        (
            "url('path').getHost()",
            'URL parse error during conversion from string: parse "path": invalid URI for request',
        ),
        (
            r"url('\\d').getHost()",
            r'URL parse error during conversion from string: parse "\\d": invalid URI for request',
        ),
        ("ip('x')", 'IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP'),
        ("ip('::1%a')", 'IP address "::1%a" with zone value is not allowed'),
        ("cidr('10.0.0.0/8').containsIP('10')", "no such overload"),
        (
            "cidr('::ffff:1.2.3.4/9')",
            "network address parse error during conversion from string: "
            'IPv4-mapped IPv6 address "::ffff:1.2.3.4/9" is not allowed',
        ),
        ("quantity('1.0').asInteger()", "cannot convert value to integer"),
        ("quantity('0.5').add(quantity('0.5')).asInteger()", "cannot convert value to integer"),
        ("quantity('1024Ti').asInteger()", "cannot convert value to integer"),
        ("timestamp('2023-01-01T00:00:00Z').getHours('Nowhere/Town')", "unknown time zone Nowhere/Town"),
        (
            "'%d'.format(['a'])",
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("'%s'.format([])", "index 0 out of range"),
        ("[1, 2].map(x, string(x))[5]", "index out of bounds: 5"),
    ],
)
def test_failures(source: str, text: str) -> None:
    """Arguments that a function cannot work with are evaluation errors."""
    with pytest.raises(EvaluationError) as caught:
        ENVIRONMENT.compile(source).evaluate({"any": "1kk"})
    assert str(caught.value) == text


def test_authorizer() -> None:
    """Questions reach the authorizer with all their parts."""
    asked: list[Attributes] = []

    def ask(question: Attributes) -> Decision:
        asked.append(question)
        return Decision(ALLOW if question.verb == "get" else DENY, f"because {question.verb}")

    value = AuthorizerValue(Identity("ann"), ask)
    environment = Environment(BEHAVIOUR, {"authorizer": parsed("Authorizer")})

    def evaluated(source: str) -> Any:
        return environment.compile(source).evaluate({"authorizer": value}).value

    chain = "authorizer.group('apps').resource('deployments').subresource('scale').namespace('n').name('x')"
    assert evaluated(f"{chain}.check('get').allowed()") is True
    assert evaluated(f"{chain}.check('list').reason()") == "because list"
    assert evaluated("authorizer.path('/healthz').check('get').errored()") is False
    assert evaluated("authorizer.serviceAccount('n', 's').group('').resource('pods').check('get').error()") == ""
    assert asked[0] == Attributes(
        Identity("ann"), "get", "apps", "*", "deployments", subresource="scale", namespace="n", name="x"
    )
    assert (asked[2].path, asked[2].is_resource) == ("/healthz", False)
    assert asked[3].identity.user == "system:serviceaccount:n:s"
    assert (
        environment.compile(f"{chain}.check('get').allowed()").evaluate({"authorizer": value}, budget=10**6).cost
        > 350_000
    )


def test_every_function_of_the_release_is_there() -> None:
    """The libraries declare the overloads of the release under their names, from the right version on."""
    facts = read("cel-1.30.json")["functions"]
    have = {
        overload.id: (overload.function, library.since)
        for library in (*LIBRARIES, SEARCHES[False], FORMATS[False])
        for overload in library.overloads
    }
    for fact in facts:
        since = tuple(map(int, fact["since"].split(".")))
        assert have[fact["overload"]] == (fact["fn"], since), fact["overload"]

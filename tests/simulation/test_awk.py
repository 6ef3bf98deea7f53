"""The built-in awk beside mawk: the same programs print the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.simulation.test_shell import built_in, dash, printed, process

needs_mawk = pytest.mark.skipif(
    shutil.which("mawk") is None or shutil.which("dash") is None,
    reason="compares with mawk and dash, which this machine does not have",
)
_SCRIPTS = Path(__file__).with_name("awk_scripts.txt").read_text("utf-8").removesuffix("\n").split("\n%%\n")[1:]


@needs_mawk
@pytest.mark.parametrize("script", _SCRIPTS)
def test_the_same_as_mawk(script: str, tmp_path: Path) -> None:
    """Fields, patterns, ranges, arrays, functions, loops, formats, ``getline``, files, commands and assignments."""
    if shutil.which("awk") != shutil.which("mawk"):
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "awk").symlink_to(str(shutil.which("mawk")))
    own = "" if not (tmp_path / "bin").exists() else f"PATH={tmp_path}/bin:$PATH; "
    assert built_in(script) == dash(f"{own}{script}", tmp_path)


_ATOMS = st.sampled_from(["$1", "$2", "$NF", "x", "y", "3", "0", '"ab"', '"10"', "NR", "NF", "a[1]", "1.5", '""'])


def _expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = st.sampled_from(["+", "-", "*", " ", "<", "<=", "==", "!=", "~", "&&", "||"])
    return st.one_of(
        st.tuples(inner, signs, inner).map(lambda each: f"({each[0]} {each[1]} {each[2]})"),
        st.tuples(st.sampled_from(["!", "-"]), inner).map(lambda each: f"({each[0]}{each[1]})"),
        st.tuples(inner, inner, inner).map(lambda each: f"({each[0]} ? {each[1]} : {each[2]})"),
        st.tuples(st.sampled_from(["x", "y", "a[1]", "$2"]), st.sampled_from(["=", "+="]), inner).map(
            lambda each: f"({' '.join(each)})"
        ),
        st.sampled_from(["x++", "++y", "a[1]--"]),
        st.tuples(st.sampled_from(["length", "toupper", "int"]), inner).map(lambda each: f"{each[0]}({each[1]})"),
        inner.map("substr({}, 2)".format),
        inner.map("index({}, 1)".format),
    )


def _quoted(program: str) -> str:
    return f"printf '10 9 abc\\n1 b\\n\\n' | awk '{program}'"


@needs_mawk
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.recursive(_ATOMS, _expressions, max_leaves=6), min_size=1, max_size=3))
def test_generated_programs(tmp_path_factory: pytest.TempPathFactory, expressions: list[str]) -> None:
    """Whatever is put together of these parts has the same value."""
    script = _quoted("{ " + "; ".join(f"print {each}" for each in expressions) + "; print; print NF }")
    assert built_in(script) == dash(script.replace("awk", "mawk"), tmp_path_factory.mktemp("awk"))


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("awk 'BEGIN {print 2**3, 1e20, systime(), strftime(\"%Y\", 0)}'", "8 100000000000000000000 0 1970\n"),
        ("awk 'BEGIN {print substr(\"hello\", -1, 3)}'", "h\n"),
        ("seq 2 > f; seq 3 > g; awk 'FNR == 2 {nextfile} {print FILENAME, $0}' f g", "f 1\ng 1\n"),
        ("printf '{ print $2 }\\n' > p.awk; echo a b | awk -f p.awk", "b\n"),
        ("(echo a; sleep 3; echo b) | awk '{print; fflush()}'; date +%s", "a\nb\n3\n"),
    ],
)
def test_beyond_mawk(script: str, expected: str) -> None:
    """As in busybox."""
    assert printed(process(script)) == expected


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("{ print", "syntax error"),
        ("BEGIN { print 1 / 0 }", "division by zero"),
        ("BEGIN { f(1) }", "function f never defined"),
        ("function f(x) { return f(x) } BEGIN { f(1) }", "nested too deep"),
        ("BEGIN { $200000 = 1 }", "out of range field"),
        ('BEGIN { printf "%999999d", 1 }', "width is too large"),
        ("BEGIN { print " + "(" * 500 + "1" + ")" * 500 + " }", "nested too deep"),
        ('BEGIN { x = "a"; for (;;) x = x x }', "out of memory"),
        ("BEGIN { for (;;) a[n++] = 1 }", "out of memory"),
        ('BEGIN { print "x" ~ "(" }', "invalid regular expression"),
    ],
)
def test_wrong_programs(program: str, told: str) -> None:
    """They end with a message, and hold nobody up."""
    made = process(f"awk '{program}'", until=1e7)
    for turn in range(100):
        made.advance(1e7 + turn)
    assert made.ended is not None
    assert made.ended[1] in (1, 2)
    assert told in made.printed[-1].data.decode()

"""Label selectors against recorded errors and a naive reading."""

from __future__ import annotations

from urllib.parse import parse_qs

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simkit.meta import fields, labels
from simkit.schema.behaviour import OWN, default_behaviour
from tests.shared import SHARED, needs_shared

KEYS = st.sampled_from(["app", "tier", "a.b/c"])
VALUES = st.sampled_from(["", "web", "api", "7", "12"])


@given(st.dictionaries(KEYS, VALUES), KEYS, st.lists(VALUES, min_size=1), st.booleans())
def test_sets_match_as_written(present: dict[str, str], key: str, values: list[str], negated: bool) -> None:
    """``in`` and ``notin`` mean membership; labels without the key meet ``notin`` only."""
    operator, listed = "notin" if negated else "in", ",".join(values)
    assume(not listed.endswith(",,"))  # kube-apiserver's reader takes two commas at once, and may stop behind them
    selector = labels.parse(f"{key} {operator} ({listed})")
    assert selector.matches(present) == ((present.get(key) in values) is not negated)


@given(st.dictionaries(KEYS, VALUES), KEYS, VALUES)
def test_equality_and_existence(present: dict[str, str], key: str, value: str) -> None:
    """``=``, ``!=``, a bare key and ``!`` mean what they say."""
    assert labels.parse(f"{key}={value}").matches(present) == (present.get(key) == value)
    assert labels.parse(f"{key}!={value}").matches(present) == (present.get(key) != value)
    assert labels.parse(key).matches(present) == (key in present)
    assert labels.parse(f"!{key}").matches(present) == (key not in present)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text makes the reader fail otherwise than by refusing it."""
    refusal = ""
    try:
        read = labels.parse(text)
    except labels.BadSelector as error:
        refusal = error.told(OWN)
    assert refusal or isinstance(read.matches({"a": "b"}), bool)


@given(st.text(max_size=30))
def test_any_field_selector_is_read_or_refused(text: str) -> None:
    """No text makes the reader of field selectors fail otherwise than by refusing it."""
    refusal = ""
    try:
        read = fields.parse(text)
    except fields.BadFieldSelector as error:
        refusal = str(error)
    assert refusal or isinstance(read.matches({"a": "b"}), bool)


@needs_shared
@pytest.mark.parametrize("case", ["list-label-selector-errors", "list-field-selector-errors"])
def test_recorded_refusals(case: str) -> None:
    """Every selector that kube-apiserver could not read is refused with its words."""
    recorded = orjson.loads((SHARED / "conformance" / "cases" / "list" / f"{case}.json").read_bytes())
    refused, behaviour = 0, default_behaviour("1.30")
    for step in recorded["steps"]:
        query = parse_qs(step["path"].partition("?")[2])
        body = step["expect"].get("body") or {}
        message = body.get("message", "")
        for name, parse in (("labelSelector", labels.parse), ("fieldSelector", fields.parse)):
            if name in query and step["expect"]["status"] == 400 and "field label" not in message:
                if "known field selector" in message:
                    continue
                with pytest.raises(ValueError) as caught:
                    parse(query[name][0])
                error = caught.value
                assert (error.told(behaviour) if isinstance(error, labels.BadSelector) else str(error)) == message
                refused += 1
    assert refused > 2


def test_structured_selectors() -> None:
    """None selects nothing, an empty selector everything, expressions what they say."""
    assert not labels.of_object(None).matches({})
    assert labels.of_object({}).matches({"any": "thing"})
    selector = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            {"key": "tier", "operator": "NotIn", "values": ["db"]},
            {"key": "x", "operator": "Exists"},
        ],
    }
    assert labels.of_object(selector).matches({"app": "web", "x": ""})
    assert not labels.of_object(selector).matches({"app": "web", "x": "", "tier": "db"})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a in (b,=)", "found '=', expected: ',', or identifier"),
        ("a in (b,", "found '', expected: ',', or identifier"),
        ("a in (b,,)", "found ')', expected: ',', or identifier"),
        ("a in (", "found '', expected: ',', ')' or identifier"),
        ("a in (b c)", "found 'c', expected: ',' or ')'"),
        ("a>99999999999999999999", "values[0]: Invalid value: \"99999999999999999999\": for 'Gt', 'Lt' operators, "),
        ("a>-5", 'values[0][a]: Invalid value: "-5": a valid label must be an empty string'),
        (
            "a>-x",
            "[values[0]: Invalid value: \"-x\": for 'Gt', 'Lt' operators, the value must be an integer, values[0][",
        ),
        ("a in (-b,-c)", '[values[0][a]: Invalid value: "-b": '),
    ],
)
def test_refusals_in_the_words_of_kube_apiserver(text: str, why: str) -> None:
    """Lists of values and numbers are refused where kube-apiserver's reader stops, with all that is wrong."""
    with pytest.raises(labels.BadSelector) as caught:
        labels.parse(text)
    assert caught.value.told(OWN).startswith(f"unable to parse requirement: {why}")


def test_numbers_are_compared_as_there() -> None:
    """Values that are no numbers of 64 bits match no comparison."""
    selector = labels.parse("n>4")
    assert selector.matches({"n": "5"})
    assert not any(selector.matches({"n": value}) for value in ("1_0", "9" * 30, "9" * 5000, "x", "4"))


def test_escaped_backslashes_before_commas() -> None:
    """A backslash that is escaped stands before the comma that ends a term."""
    selector = fields.parse("a=x\\\\,b=y\\,z")
    assert selector.exact("a") == "x\\"
    assert selector.exact("b") == "y,z"


def test_a_nul_ends_the_text_unless_it_follows_a_token() -> None:
    """``a=b`` and a NUL is ``a=b``; after another NUL, or a blank and a NUL, nothing is read."""
    assert labels.parse("a=b\0") == labels.parse("a=b\0\0c") == labels.parse("a=b \0c") == labels.parse("a=b")
    with pytest.raises(labels.BadSelector, match=r"found .c., expected: .,. or .end of string."):
        labels.parse("a=b\0c")

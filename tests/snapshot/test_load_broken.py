"""Loading what is damaged: a fault costs no more than itself."""

from __future__ import annotations

import orjson
import pytest
import yaml

from simkit.meta.errors import IncompleteSnapshot
from simkit.meta.names import Key
from simkit.snapshot.load import load
from tests.snapshot.dumps import PODS, RBAC, ROLES, listed, names, pod, role, told


def test_broken_yaml_costs_only_itself() -> None:
    """A broken document among others is reported with its line and kind; the others are loaded."""
    text = "---\n".join([yaml.safe_dump(pod("a")), "kind: Role\nmetadata: [\n", yaml.safe_dump(pod("b"))])
    dump = load(text)
    assert names(dump) == ["a", "b"]
    (problem,) = dump.lost
    assert problem.line == 10
    assert "a Role that is not YAML" in problem.what


def test_broken_item_of_a_yaml_list_costs_only_itself() -> None:
    """Lists are read item by item, and lines are counted through the whole file."""
    text = yaml.safe_dump(listed(pod("a"), pod("b"), pod("c")))
    lines = text.splitlines()
    broken = next(number for number, line in enumerate(lines) if line.strip() == "name: b")
    lines[broken] = "    name: 'b"
    dump = load("\n".join(lines))
    assert names(dump) == ["a", "c"]
    (problem,) = dump.lost
    assert broken <= (problem.line or 0) <= broken + 5
    assert dump.origins[Key(PODS, "shop", "c")][1] == text[: text.index("name: c")].count("\n") + 1 - 4


def test_broken_json_line_is_named() -> None:
    """One bad line among JSON lines is left out."""
    lines = [orjson.dumps(pod(name)).decode() for name in "abc"]
    lines[1] = lines[1][:-9]
    dump = load("\n".join(lines))
    assert names(dump) == ["a", "c"]
    assert dump.lost[0].line == 2
    assert "a Pod that is not JSON" in dump.lost[0].what


@pytest.mark.parametrize("place", [0, 1, 2])
def test_broken_json_document_between_others(place: int) -> None:
    """After a broken document, reading goes on at the next one that begins a line."""
    whole = [orjson.dumps(pod(name), option=orjson.OPT_INDENT_2).decode() for name in "abc"]
    whole[place] = whole[place].replace('"kind":', '"kind"')
    dump = load("\n".join(whole))
    assert names(dump) == [name for number, name in enumerate("abc") if number != place]
    assert [problem.line for problem in dump.lost] == [place * 9 + 3]


def test_line_separators_within_json_lines_are_not_line_breaks() -> None:
    """Some characters end a line in Python and none in JSON."""
    odd = {**pod("a"), "note": "x\u2028y\x85z"}
    assert load("\n".join(orjson.dumps(each).decode() for each in (odd, pod("b")))).objects == (odd, pod("b"))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_texts_made_to_fill_the_stack_are_reported(text: str) -> None:
    """Nesting without end is a problem like any other."""
    assert load(text).lost


@pytest.mark.parametrize("indent", [None, orjson.OPT_INDENT_2])
def test_list_that_breaks_off_leaves_its_last_kind_uncaptured(indent: int | None) -> None:
    """Of a cut JSON dump the whole items are kept, and the kind in which it was cut is not complete."""
    text = orjson.dumps(listed(pod("a"), role("r"), role("s"), role("t")), option=indent).decode()
    dump = load(text[: text.index('"t"')])
    assert names(dump) == ["a", "r", "s"]
    assert dump.captured == {PODS}
    assert "the list breaks off after 3 items" in told(dump)
    with pytest.raises(IncompleteSnapshot):
        dump.snapshot().scan(ROLES)
    assert ROLES in load(text[: text.index('"t"')], captured=["roles"]).captured


def test_yaml_list_that_breaks_off_is_noticed() -> None:
    """Clients write the kind of a list after its items: without it, the list is cut even where its text is sound."""
    text = yaml.safe_dump(listed(pod("a"), role("r"), role("s")))
    dump = load(text[: text.index("- apiVersion", text.index("name: r"))])
    assert names(dump) == ["a", "r"]
    assert dump.captured == {PODS}
    assert "breaks off after 2 items" in told(dump)


def test_one_page_of_a_list_is_not_captured() -> None:
    """A continue token says that there is more."""
    page = {"apiVersion": f"{RBAC}/v1", "kind": "RoleList", "metadata": {"continue": "abc"}, "items": [role("r")]}
    dump = load(page)
    assert names(dump) == ["r"]
    assert not dump.captured

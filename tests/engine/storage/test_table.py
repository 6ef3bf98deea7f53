"""The sorted map that is never changed, against a dict."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.engine.storage.state import LARGEST, Table

NAMES = st.text("ab/-é", max_size=3)


def rows(content: dict[str, int], start: str = "", stop: str | None = None) -> list[tuple[str, int]]:
    """The sorted rows of a dict between two names."""
    return sorted(row for row in content.items() if row[0] >= start and (stop is None or row[0] < stop))


@settings(max_examples=150)
@given(
    st.dictionaries(NAMES, st.integers()),
    st.lists(st.tuples(NAMES, st.none() | st.integers()), max_size=40),
    NAMES,
    st.none() | NAMES,
    st.none() | st.integers(0, 9),
)
def test_writes_and_ranges(
    first: dict[str, int], steps: list[tuple[str, int | None]], start: str, stop: str | None, limit: int | None
) -> None:
    """After any writes a table holds what a dict holds, in order, and older tables hold what they held."""
    table, content = Table.of(rows(first)), dict(first)
    past = [(table, dict(content))]
    for name, number in steps:
        if number is None:
            table = table.without(name)
            content.pop(name, None)
        else:
            table = table.put(name, number)
            content[name] = number
        past.append((table, dict(content)))
    for old, then in past:
        assert list(old.rows("")) == rows(then)
        assert old.size == len(then)
        assert old.get(start) == then.get(start)
        expected = rows(then, start, stop)
        assert list(old.rows(start, stop)) == expected
        assert old.between(start, stop, limit) == [number for _, number in expected][:limit]


def test_blocks_stay_of_middling_size() -> None:
    """A table that grew large and was thinned out has neither large blocks nor many small ones."""
    table: Table[int] = Table.of()
    for number in range(20_000):
        table = table.put(f"{number * 7919 % 20_000:05}", number)
    grown = [len(block.names) for block in table._blocks]
    for number in range(20_000):
        if number % 50:
            table = table.without(f"{number:05}")
    assert max(grown) <= LARGEST
    assert table.size == 400
    assert len(table._blocks) <= 20
    assert [name for name, _ in table.rows("")] == [f"{number:05}" for number in range(0, 20_000, 50)]


def test_removing_a_missing_key_gives_the_same_table() -> None:
    """The removal of a missing key copies nothing."""
    table = Table.of([("b", 1)])
    assert table.without("a") is table.without("c") is table

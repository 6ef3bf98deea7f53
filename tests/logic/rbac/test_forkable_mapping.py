"""ForkableMapping mappings behave like copies, however they were forked."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simkit.logic.rbac.forkable_mapping import ForkableGroups, ForkableMapping, ScopedGroups

names = st.sampled_from("abc")
step = st.one_of(
    st.tuples(st.just("put"), names, names, st.integers(0, 9)),
    st.tuples(st.just("remove"), names, names, st.just(0)),
    st.tuples(st.just("fork"), st.just(""), st.just(""), st.integers(0, 9)),
)
steps = st.lists(step, max_size=60)


@settings(max_examples=100)
@given(steps)
def test_mapping_against_copies(run: Any) -> None:
    """A mapping and its forks hold what plain copies would."""
    pairs: list[tuple[ForkableMapping[str, int], dict[str, int]]] = [(ForkableMapping(), {})]
    for action, name, _, number in run:
        mapping, model = pairs[number % len(pairs)]
        if action == "put":
            mapping.put(name, number)
            model[name] = number
        elif action == "remove":
            mapping.remove(name)
            model.pop(name, None)
        else:
            pairs.append((mapping.fork(), dict(model)))
    for mapping, model in pairs:
        assert {name: mapping.get(name) for name in "abc"} == {name: model.get(name) for name in "abc"}
        assert sorted(mapping.values()) == sorted(model.values())


@settings(max_examples=100)
@given(steps)
def test_groups_against_copies(run: Any) -> None:
    """Groups and their forks hold what plain copies would, with or without scopes."""
    first: tuple[ForkableGroups[str, str, int], ScopedGroups[str, str, int], dict[tuple[str, str], int]]
    first = (ForkableGroups(), ScopedGroups(), {})
    all_of = [first]
    for action, group, name, number in run:
        groups, scoped, model = all_of[number % len(all_of)]
        if action == "put":
            groups.put(group, name, number)
            scoped.put(group, name, "m", number)
            model[group, name] = number
        elif action == "remove":
            groups.remove(group, name)
            scoped.remove(group, name, "m")
            model.pop((group, name), None)
        else:
            all_of.append((groups.fork(), scoped.fork(), dict(model)))
    for groups, scoped, model in all_of:
        for group in "abc":
            expected = sorted(number for (of, _), number in model.items() if of == group)
            assert sorted(groups.members(group)) == expected
            assert sorted(scoped.everywhere(group)) == expected
            assert groups.has(group) == bool(expected)
            for scope in "abc":
                known = [model[group, scope]] if (group, scope) in model else []
                assert scoped.members(group, scope) == known
                assert scoped.has(group, scope) == ((group, scope) in model)


def test_many_forks_leave_few_layers() -> None:
    """A mapping that is written and forked in turn keeps its layers few, and its base unmerged."""
    mapping = ForkableMapping[int, int]()
    for number in range(50_000):
        mapping.put(number, number)
    base = mapping.fork()
    for number in range(500):
        base.put(number, -1)
        base = base.fork()
    assert len(base._below) <= 12
    assert base._below[-1].size == 50_000
    assert base.get(499) == -1
    assert mapping.get(499) == 499

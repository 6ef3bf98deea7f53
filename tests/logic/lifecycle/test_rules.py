"""Every rule of the policy with histories that keep it and histories that break it, side by side."""

from __future__ import annotations

import textwrap

import pytest

from simkit.logic.lifecycle import check, read_history

RELEASES = (
    "releases: [{name: r0, date: 2023-01-01}, {name: r1, date: 2023-05-01}, {name: r2, date: 2023-09-01},"
    " {name: r3, date: 2024-01-01}, {name: r4, date: 2024-05-01}, {name: r5, date: 2024-09-01}]\n"
)
GROUP = "groups: [{name: g, versions: [%s]}]"
V1 = "{name: v1, introduced: r0}"


def found(document: str, edition: str = "C") -> list[tuple[str, str]]:
    """Rule and weight of each finding."""
    history = read_history(RELEASES + textwrap.dedent(document) + "\n")
    return [(each.rule, each.weight) for each in check(history, edition=edition)]


def element(sort: str, name: str, more: str = "", version: str = "v1") -> str:
    return f"{GROUP % V1}\nelements: [{{sort: {sort}, name: {name!r}, group: g, version: {version}, introduced: r0{more}}}]"


@pytest.mark.parametrize(
    ("sort", "name"),
    [
        ("resource", "shops"),
        ("field", "Shop.spec.size"),
        ("annotation", "g/size"),
        ("enumerated value", "Shop.spec.kind=Small"),
        ("component configuration", "ShopConfiguration.workers"),
    ],
)
def test_rule_1_for_every_sort_of_element(sort: str, name: str) -> None:
    """Unchanged and wider elements are allowed; removed and narrower ones are not while their version stays."""
    assert found(element(sort, name)) == []
    assert found(element(sort, name, ", changes: [{release: r1, what: also takes 0, narrows: false}]")) == []
    assert found(element(sort, name, ", removed: r3")) == [("1", "breach")]
    assert found(element(sort, name, ", changes: [{release: r1, what: no longer takes 0}]")) == [("1", "breach")]


def test_rule_1_lets_elements_go_with_their_version() -> None:
    """With it or after it, and alphas whenever."""
    versions = "{name: v1beta1, introduced: r0, deprecated: r1, removed: r4}, {name: v1, introduced: r1}"
    went = "elements: [{sort: field, name: Shop.size, group: g, version: v1beta1, introduced: r0, removed: %s}]"
    assert found(f"{GROUP % versions}\n{went % 'r4'}") == []
    assert found(f"{GROUP % versions}\n{went % 'r3'}") == [("1", "breach")]
    assert found(element("field", "Shop.size", ", removed: r1", "v1alpha1")) == []
    assert found(element("annotation", "alpha.g/size", ", removed: r1")) == []
    assert found(element("annotation", "g/alphabet", ", removed: r1")) == [("1", "breach")]


@pytest.mark.parametrize(
    ("later", "breaks"),
    [
        ("{message: Shop, name: colour, number: 2, introduced: r2}", False),
        ("{message: Shop, name: size, number: 1, introduced: r2}", False),
        ("{message: Other, name: colour, number: 1, introduced: r2}", False),
        ("{message: Shop, name: colour, number: 1, introduced: r2}", True),
    ],
)
def test_protobuf_numbers_mean_one_field_for_ever(later: str, breaks: bool) -> None:
    """A number of a field that went is not given to another one of the message."""
    document = f"protobuf: [{{message: Shop, name: size, number: 1, introduced: r0, removed: r1}}, {later}]"
    assert found(document) == ([("1", "breach")] if breaks else [])


def test_rule_2() -> None:
    """A round trip that loses nothing, and one that loses a field."""
    trip = "round_trips: [{release: r1, kind: Shop, between: [g/v1, g/v1beta1], lost: %s}]"
    assert found(trip % "[]") == []
    assert found(trip % "[spec.size]") == [("2", "breach")]


@pytest.mark.parametrize(
    ("replacement", "breaks"), [("v1", False), ("v1beta2", False), ("v1alpha1", True), ("other.g/v2alpha1", True)]
)
def test_rule_3(replacement: str, breaks: bool) -> None:
    """A beta gives way to a beta or a stable version, to no alpha."""
    beta = f"{{name: v1beta1, introduced: r0, deprecated: r2, removed: r5, replacement: {replacement}}}"
    others = ", ".join(f"{{name: {name}, introduced: r2}}" for name in ("v1", "v1alpha1"))
    beta2 = "{name: v1beta2, introduced: r2, deprecated: r4}"
    assert [each for each in found(GROUP % f"{beta}, {others}, {beta2}") if each[0] == "3"] == (
        [("3", "breach")] if breaks else []
    )


@pytest.mark.parametrize(
    ("version", "edition", "expected"),
    [
        ("{name: v1, introduced: r0}", "C", []),
        ("{name: v1, introduced: r0, deprecated: r1}", "C", []),
        ("{name: v1, introduced: r0, deprecated: r1, removed: r4}", "C", [("4a", "breach")]),
        ("{name: v1, introduced: r0, deprecated: r1, removed: r4}", "B", [("4a", "breach")]),
        ("{name: v1, introduced: r0, deprecated: r1, removed: r4}", "A", []),
        ("{name: v1, introduced: r0, deprecated: r1, removed: r3}", "A", [("4a", "breach")]),
        ("{name: v1, introduced: r0, removed: r4}", "A", [("4a", "breach")]),
        ("{name: v1beta1, introduced: r0, deprecated: r2, removed: r5}", "C", []),
        ("{name: v1beta1, introduced: r0, deprecated: r2, removed: r4}", "C", [("4a", "breach")]),
        ("{name: v1beta1, introduced: r0, removed: r2}", "B", [("4a", "breach")]),
        ("{name: v1beta1, introduced: r0, deprecated: r4}", "C", [("4a", "breach")]),
        ("{name: v1beta1, introduced: r0, deprecated: r4}", "B", [("4a", "notice")]),
        ("{name: v1beta1, introduced: r0, deprecated: r1, removed: r5}", "C", [("4a", "overrun")]),
        ("{name: v1beta1, introduced: r0, deprecated: r1, removed: r5}", "A", []),
        ("{name: v1alpha1, introduced: r0, removed: r1}", "C", []),
    ],
)
def test_rule_4a_in_its_editions(version: str, edition: str, expected: list[tuple[str, str]]) -> None:
    """Stable ones stay, betas come to their end in time and not before, alphas go when they like."""
    assert sorted(found(GROUP % version, edition)) == sorted(expected)


MAJORS = (
    "releases: [{name: '1.8', date: 2023-01-01}, {name: '1.9', date: 2023-09-01}, {name: '2.0', date: 2024-09-01},"
    " {name: '2.1', date: 2025-09-01}]\n"
)


@pytest.mark.parametrize(
    ("introduced", "removed", "breaks"),
    [("1.8", "1.9", True), ("1.8", "2.0", False), ("1.9", "2.1", False), ("2.0", "2.1", True), ("2.0", "2.2", True)],
)
def test_stable_versions_may_go_with_a_major_version(introduced: str, removed: str, breaks: bool) -> None:
    """Within one they stay, whatever was said before."""
    version = f"{{name: v1, introduced: '{introduced}', deprecated: '{introduced}', removed: '{removed}'}}"
    history = read_history(MAJORS + GROUP % version + "\n")
    assert bool(check(history)) is breaks


def test_a_move_without_overlap_says_when_it_could_have_been() -> None:
    """A release after the new version came, with the old one kept until then."""
    versions = "{name: v1beta1, introduced: r0, deprecated: r1, removed: r4}, {name: v1, introduced: r4}"
    document = f"groups: [{{name: g, versions: [{versions}], storage: {{r0: v1beta1, r4: v1}}}}]"
    (finding,) = check(read_history(RELEASES + document + "\n"))
    assert (finding.rule, finding.earliest and finding.earliest.name) == ("4b", "r5")
    assert finding.provided == "v1beta1 is still served then"


def test_removals_without_a_word_say_when_they_could_be() -> None:
    """As if they were announced in the release in which they came."""
    broken = {
        GROUP % "{name: v1beta1, introduced: r0, removed: r1}": "r4",
        "flags: [{name: --a, introduced: r0, removed: r1}]": "r4",
        "behaviors: [{name: a, introduced: r0, removed: r1}]": "r4",
        "gates: [{name: A, stages: [{release: r0, stage: beta, default: true}], removed: r1}]": "r2",
        "metrics: [{name: a, stability: stable, introduced: r0, removed: r5}]": "r8",
    }
    for document, release in broken.items():
        (finding,) = check(read_history(RELEASES + document + "\n"))
        assert finding.earliest is not None
        assert finding.earliest.name == release, document


def test_elements_that_are_of_no_kind_go_with_all_of_their_version() -> None:
    """Annotations and resources are not named by kinds; fields of one kind may go with it alone."""
    versions = (
        "{name: v1beta1, kinds: [Shop], introduced: r0, deprecated: r1, removed: r4},"
        " {name: v1beta1, kinds: [Till], introduced: r0, deprecated: r1, removed: %s}, {name: v1, introduced: r1}"
    )
    went = "elements: [{sort: %s, name: %s, group: g, version: v1beta1, introduced: r0, removed: r4}]"
    for sort, name in (("annotation", "g.example.com/size"), ("resource", "shops")):
        assert found(f"{GROUP % (versions % 'r4')}\n{went % (sort, name)}") == []
        assert ("1", "breach") in found(f"{GROUP % (versions % 'r5')}\n{went % (sort, name)}")
    assert ("1", "breach") not in found(f"{GROUP % (versions % 'r5')}\n{went % ('field', 'Shop.size')}")


@pytest.mark.parametrize("edition", ["A", "B"])
def test_replacements_were_free_in_the_first_editions(edition: str) -> None:
    """Rules 5c and 8 came with the present one."""
    less = "replacement: {name: other, stability: beta}"
    document = f"flags: [{{name: --a, introduced: r0, deprecated: r1, {less}}}]"
    document += f"\nbehaviors: [{{name: a, introduced: r0, deprecated: r1, {less}}}]"
    assert found(document, edition) == [("5c", "notice"), ("8", "notice")]
    assert found(document) == [("5c", "breach"), ("8", "breach")]


def test_stored_versions_stay_readable() -> None:
    """The note to rule 4a: serving may end, reading may not."""
    versions = "{name: v1beta1, introduced: r0, deprecated: r1, removed: r4%s}, {name: v1, introduced: r1}"
    group = "groups: [{name: g, versions: [%s], storage: {r0: v1beta1, r2: v1}}]"
    assert found(group % (versions % "")) == []
    assert found(group % (versions % ", decodable_until: r5")) == [("4a", "breach")]


@pytest.mark.parametrize("what", ["preferred", "storage"])
@pytest.mark.parametrize(("moved", "breaks"), [("r2", False), ("r1", True), ("r4", True)])
def test_rule_4b(what: str, moved: str, breaks: bool) -> None:
    """A move needs a release before it that serves both versions, and must come while both are served."""
    versions = "{name: v1beta1, introduced: r0, deprecated: r1, removed: r4}, {name: v1, introduced: r1}"
    assert found(f"groups: [{{name: g, versions: [{versions}], {what}: {{r0: v1beta1, {moved}: v1}}}}]") == (
        [("4b", "breach")] if breaks else []
    )


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("{name: --a, deprecated: r0, removed: r3}", []),
        ("{name: --a, deprecated: r0, removed: r2}", ["5a"]),
        ("{name: --a, removed: r2}", ["5a"]),
        ("{name: --a, stability: beta, deprecated: r0, removed: r1}", []),
        ("{name: --a, stability: beta, deprecated: r0, removed: r0}", ["5a"]),
        ("{name: --a, stability: alpha, removed: r1}", []),
        ("{name: --a, audience: admin, deprecated: r0, removed: r2}", []),
        ("{name: --a, audience: admin, deprecated: r0, removed: r1}", ["5b"]),
        ("{name: --a, deprecated: r0, replacement: {name: --b}}", []),
        ("{name: --a, deprecated: r0, replacement: {name: --b, stability: beta}}", ["5c"]),
        ("{name: --a, stability: beta, deprecated: r0, replacement: {name: --b, stability: beta}}", []),
        ("{name: --a, deprecated: r0, warns: false}", ["6"]),
        ("{name: --a, warns: false}", []),
    ],
)
def test_rules_5_and_6(flag: str, expected: list[str]) -> None:
    """The life of flags of users and administrators, their replacements and their warnings."""
    assert [rule for rule, _ in found(f"flags: [{flag}]")] == expected


@pytest.mark.parametrize(
    ("behavior", "expected"),
    [
        ("{name: b, deprecated: r0, removed: r3}", []),
        ("{name: b, deprecated: r0, removed: r2}", ["7"]),
        ("{name: b, removed: r2}", ["7"]),
        ("{name: b, significant: false, removed: r1}", []),
        ("{name: b, deprecated: r0, replacement: {name: c}}", []),
        ("{name: b, deprecated: r0, replacement: {name: c, stability: alpha}}", ["8"]),
        ("{name: b, stability: alpha, deprecated: r0, replacement: {name: c, stability: alpha}}", []),
        ("{name: b, deprecated: r0, replacement: {name: c, ours: false}}", ["8"]),
        ("{name: b, deprecated: r0, replacement: {name: c, ours: false, transition: a guide}}", []),
    ],
)
def test_rules_7_and_8(behavior: str, expected: list[str]) -> None:
    """A year for behaviours, however many releases that is; replacements as stable, or with a way there."""
    assert [rule for rule, _ in found(f"behaviors: [{behavior}]")] == expected


ALPHA, BETA = "{release: r0, stage: alpha, default: false}", "{release: r0, stage: beta, default: true}"
STABLE = "{release: r2, stage: ga, default: true, locked: true}"
END = "{release: r2, stage: deprecated, default: false}"


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        (f"{{name: G, stages: [{ALPHA}]}}", []),
        (f"{{name: G, stages: [{ALPHA}], removed: r1}}", []),
        ("{name: G, stages: [{release: r0, stage: alpha, default: true}]}", ["9"]),
        (f"{{name: G, stages: [{BETA}, {STABLE}], removed: r4}}", []),
        (f"{{name: G, stages: [{BETA}, {STABLE}], removed: r3}}", ["9"]),
        (f"{{name: G, stages: [{BETA}, {END}], removed: r3}}", []),
        (f"{{name: G, stages: [{BETA}, {END}], removed: r2}}", ["9"]),
        (f"{{name: G, stages: [{BETA}], removed: r2}}", ["9"]),
        ("{name: G, stages: [{release: r0, stage: beta, default: true, locked: true}]}", ["9"]),
        (f"{{name: G, stages: [{BETA}, {STABLE}], warns: false}}", ["10"]),
        (f"{{name: G, stages: [{BETA}, {STABLE}], release_note: false}}", ["10"]),
        (f"{{name: G, stages: [{BETA}, {END}], help: false}}", ["10"]),
        (f"{{name: G, stages: [{BETA}], warns: false, help: false, release_note: false}}", []),
    ],
)
def test_rules_9_and_10(gate: str, expected: list[str]) -> None:
    """The life of gates, their states, and the notes on deprecated ones."""
    assert [rule for rule, _ in found(f"gates: [{gate}]")] == expected


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("{name: m, stability: stable, introduced: r0, deprecated: r1, removed: r5}", []),
        ("{name: m, stability: stable, introduced: r0, deprecated: r0, removed: r3}", ["11a"]),
        ("{name: m, stability: stable, introduced: r0, deprecated: r3, removed: r5}", ["11b"]),
        ("{name: m, stability: stable, introduced: r0, removed: r5}", ["11b"]),
        ("{name: m, stability: beta, introduced: r0, deprecated: r1, removed: r2}", []),
        ("{name: m, stability: beta, introduced: r0, deprecated: r0, removed: r1}", ["11a"]),
        ("{name: m, stability: alpha, introduced: r0, removed: r1}", []),
        ("{name: m, stability: stable, introduced: r0, deprecated: r1, hidden: r4, removed: r5}", []),
        ("{name: m, stability: stable, introduced: r0, deprecated: r1, hidden: r3, removed: r5}", ["11a", "11b"]),
        ("{name: m, stability: stable, introduced: r0, deprecated: r1, hidden: r5, removed: r5}", ["11b"]),
        ("{name: m, introduced: r0, deprecated: r1, help: (Deprecated from r1) Counts.}", []),
        ("{name: m, introduced: r0, deprecated: r1, help: Counts.}", ["11b"]),
        ("{name: m, introduced: r0, deprecated: r1, warns: false}", ["11b"]),
        ("{name: m, introduced: r0, warns: false, help: Counts.}", []),
    ],
)
def test_rule_11(metric: str, expected: list[str]) -> None:
    """The life of metrics, the release in which deprecated ones are hidden, and their help and log."""
    assert [rule for rule, _ in found(f"metrics: [{metric}]")] == expected

"""Errors in a history: the place, the fault, and a suggestion."""

from __future__ import annotations

from pathlib import Path

import pytest

from simkit.logic.lifecycle import read_history
from simkit.meta.errors import SimkitError

HEAD = "groups:\n- name: shop.example.com\n  versions:\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f'{HEAD}  - {{name: v1beta1, introduced: "1.28"}}\n  - {{name: v1, intro: "1.29"}}\n',
            r"groups\.0\.versions\.1\.intro: Extra inputs are not permitted",
        ),
        (f'{HEAD}  - {{introduced: "1.28"}}\n', r"groups\.0\.versions\.0\.name: Field required"),
        (
            "flags:\n- {name: --x, audience: everybody}\n",
            r"flags\.0\.audience: Input should be 'user' or 'admin'",
        ),
        (
            f'{HEAD}  - {{name: v1, introduced: "1.l8"}}\n',
            r"groups\.0\.versions\.0\.introduced: there is no release '1\.l8'; did you mean '1\.8'\?",
        ),
        (
            f"{HEAD}  - {{name: v1, introduced: 1.30}}\n",
            r'.*introduced: 1\.3 may have been written as 1\.30: write releases as text, like "1\.30"',
        ),
        (
            f'{HEAD}  - {{name: banana, introduced: "1.30"}}\n',
            r".*name: 'banana' is no version; write v1, v1beta1 or v1alpha1",
        ),
        (
            f'{HEAD}  - {{name: v1beta1, introduced: "1.30", deprecated: "1.31", removed: "1.29"}}\n',
            r".*removed: removed in 1\.29, before it was deprecated in 1\.31",
        ),
        (
            f'{HEAD}  - {{name: v1, introduced: "1.30"}}\n  storage: {{"1.30": v2}}\n',
            r"groups\.0\.storage\.1\.30: the group has no version 'v2'",
        ),
        (
            f'{HEAD}  - {{name: v1, introduced: "1.30"}}\n  preferred: {{"1.29": v1}}\n',
            r"groups\.0\.preferred\.1\.29: 1\.29 does not serve v1",
        ),
        (
            "releases: [{name: b, date: 2024-02-01}, {name: a, date: 2024-01-01}]\nname: x\n",
            "releases must come in order",
        ),
        ("groups: [\n", r"is no YAML: .*line 2"),
        ("metrics:\n- {name: m, stability: solid}\n", r"metrics\.0\.stability: Input should be"),
        (
            "gates:\n- {name: G, stages: [{release: r0, stage: gamma, default: true}]}\n",
            r"gates\.0\.stages\.0\.stage: .*'alpha'",
        ),
    ],
)
def test_faults_say_where_and_what(text: str, said: str) -> None:
    """The place in the document, the value, and a near or possible one."""
    with pytest.raises(SimkitError, match=rf"(?s)^the history .*{said}"):
        read_history(text)


def test_a_file_is_named(tmp_path: Path) -> None:
    """And all errors of it at once."""
    path = tmp_path / "api.yaml"
    path.write_text(f"{HEAD}  - {{name: v1, colour: red}}\n  - {{name: v2, introduced: []}}\n")
    with pytest.raises(SimkitError, match=r"api\.yaml is not as it must be: .*colour.*; .*introduced"):
        read_history(path)


def test_numbers_that_are_plain_are_taken() -> None:
    """1.28 can only be 1.28; a release that is still to come has its name too."""
    found = read_history(f'{HEAD}  - {{name: v1beta1, introduced: 1.28, deprecated: "1.38"}}\n')
    assert (found.groups[0].versions[0].introduced, found.groups[0].versions[0].deprecated) == ("1.28", "1.38")

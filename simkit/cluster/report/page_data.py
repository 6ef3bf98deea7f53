"""What the script of a report's page reads: the details of causes, paths and findings, in the order of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from simkit.meta.visible_text import one_line
from simkit.present.escaping import terminal_text

Record = Mapping[str, Any]
_OF_FINDING: Final = (
    *("check", "namespace", "team", "subjects", "binding", "role"),
    *("command", "manifest", "cause", "file", "line"),
)
_OF_PRIMITIVE: Final = ("primitive", "title", "severity", "mitigation", "references")


def page_data(
    content: Record,
    findings: Sequence[tuple[str, Sequence[Record]]],
    checks: Mapping[str, Record],
    folded: Mapping[str, Any],
) -> dict[str, Any]:
    """The details that the page shows when they are opened. What its lines say already is not repeated."""
    causes = [*folded["causes_shown"], *(one for _, _, some in folded["causes_folded"] for one in some)]
    steps = {step["primitive"]: step for way in content["path_groups"] for step in way["steps"]}
    return {
        "findings": [_finding(one, checks) for _, some in findings for one in some],
        "causes": [_cause(one) for one in causes],
        "primitives": [[step[name] for name in _OF_PRIMITIVE] for step in steps.values()],
        "ways": [_way(one) for one in content["path_groups"]],
        "about": {name: content[name] for name in ("name", "release", "made", "sha256")},
    }


def graph_data(content: Record) -> dict[str, Any]:
    """The escalation graph, and the recorded proofs with the subject and goals of each."""
    proven = [way for way in content["path_groups"] if way["proof"]]
    proofs = [([f"{way['proof']['subject']} -> {goal}" for goal in way["goals"]], way["proof"]) for way in proven]
    return {"graph": content["graph"], "proofs": proofs}


def _finding(one: Record, checks: Mapping[str, Record]) -> dict[str, Any]:
    return {
        **{name: one[name] for name in _OF_FINDING},
        "rules": [f"rule {rule['rule']}: {rule['text']}" for rule in one["evidence"]],
        "fix": "" if one["fix"] == checks[one["check"]]["fix"] else one["fix"],
    }


def _cause(one: Record) -> dict[str, Any]:
    remedy = one["remedy"]
    return {
        **{name: one[name] for name in ("kind", "nature", "product", "subjects", "reaches")},
        "goals": [f"{goal}: {number}" for goal, number in one["goals"].items()],
        **{
            name: remedy.get(name, "") for name in ("risk", "commands", "way_back", "diff", "effect", "effects", "more")
        },
    }


def _way(one: Record) -> dict[str, Any]:
    return {
        **{name: one[name] for name in ("cause", "subjects", "goals", "proof")},
        "steps": [[step["primitive"], step["target"], step["granted_by"]] for step in one["steps"]],
    }


BLOCKS: Final = frozenset({"diff", "commands", "way_back", "command"})
"""Fields whose texts have several lines."""


def data_block(name: str, content: Any) -> Any:
    """The element that holds some content for the script of the page: each text once, and equal records as rows.

    Texts are shown as on the rest of the page: what cannot be seen is written out. No text ends the element.
    """
    texts: dict[str, int] = {}
    return _element(name, {"rows": _packed(content, texts), "texts": list(texts)})


def plain_block(name: str, content: Any) -> Any:
    """The element that holds some content for a script that reads plain JSON, with texts as in ``data_block``."""
    return _element(name, _visible(content))


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, Mapping):
        return {one_line(name): _visible(one) for name, one in value.items()}
    return [_visible(one) for one in value] if isinstance(value, list | tuple) else value


def _element(name: str, content: Any) -> Any:
    from markupsafe import Markup

    inside = orjson.dumps(content).decode().replace("<", "\\u003c")
    return Markup(f'<script type="application/json" id="{name}">{inside}</script>')  # noqa: S704


def _packed(value: Any, texts: dict[str, int], *, block: bool = False) -> Any:
    """A value with -1, -2, ... for the first, second, ... text, and ``{"=": fields, "of": rows}`` for equal records.

    Examples
    --------
    >>> texts = {}
    >>> _packed([{"a": 1, "b": "x"}, {"a": 2, "b": "x"}], texts), list(texts)
    ({'=': ['a', 'b'], 'of': [[1, -1], [2, -1]]}, ['x'])
    """
    if isinstance(value, str):
        shown = terminal_text(value) if block else one_line(value)
        return -1 - texts.setdefault(shown, len(texts))
    if isinstance(value, Mapping):
        return {one_line(name): _packed(one, texts, block=name in BLOCKS) for name, one in value.items()}
    if not isinstance(value, list | tuple):
        return value
    fields = list(value[0]) if value and isinstance(value[0], Mapping) else []
    if len(value) > 1 and fields and all(isinstance(one, Mapping) and list(one) == fields for one in value):
        rows = [[_packed(one[name], texts, block=name in BLOCKS) for name in fields] for one in value]
        return {"=": fields, "of": rows}
    return [_packed(one, texts, block=block) for one in value]

"""What the last release of a span refuses: fields that it does not know, and objects that it does not take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from simkit.analysis.upgrade.items import Break, Item, break_of
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.schema.behaviour import default_behaviour
from simkit.schema.catalogue import Catalogue
from simkit.schema.decode_pass import MOST_PROBLEMS
from simkit.schema.decoding import DecodeError, decode
from simkit.schema.lifecycle import is_served
from simkit.schema.releases import RELEASES, minor_of
from simkit.seams.snapshot import Sandbox

FIELD: Final = "field"
MISTAKE: Final = "unknown-field"
VALIDATION: Final = "validation"
REFUSED: Final = "refused-already"
_LONGEST: Final = 400
SOURCE: Final = "https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation"


class UnknownFields:
    """Reads items as the last release of a span does, and where that fails as the releases before it did."""

    def __init__(self, span: ReleaseSpan) -> None:
        self.span = span
        self._before = (
            [span.start] if span.start else [each for each in RELEASES if minor_of(each) < minor_of(span.end)]
        )

    def find(self, item: Item) -> Iterator[Break]:
        """The fields of an item that are dropped, or refused by strict validation."""
        if not is_served(item.api_version, item.kind, self.span.end):
            return
        for problem in _problems(item, self.span.end):
            if _field(problem).rpartition(".")[2].startswith("$"):
                continue  # a directive of a strategic merge patch
            last = self._last_without(item, problem)
            if last:
                yield self._row(item, problem, last)
            elif item.origin != "stored":
                yield break_of(
                    item, release="", severity="low", check=MISTAKE, what=f"No release knows it: {problem}",
                    evidence=f"read strictly as release {self.span.end}", remedy="Correct the field, or leave it out.",
                    source=SOURCE, breaks=False, field=_field(problem),
                )  # fmt: skip

    def _row(self, item: Item, problem: str, last: str) -> Break:
        release = next((each for each in RELEASES if minor_of(each) == minor_of(last) + 1), self.span.end)
        return break_of(
            item,
            release=self.span.end if self.span.start else release,
            severity="medium",
            check=FIELD,
            what=f"A field is dropped, and refused by strict validation: {problem}",
            evidence=f"release {last} knows it, {self.span.end} does not",
            remedy="Remove the field, or use its replacement.",
            source=SOURCE,
            field=_field(problem),
        )

    def _last_without(self, item: Item, problem: str) -> str:
        """The last release before the target that reads the item without this problem."""
        for release in reversed(self._before):
            if not is_served(item.api_version, item.kind, release):
                continue
            told = _problems(item, release)
            if problem not in told and len(told) < MOST_PROBLEMS:  # more are not told
                return release
        return ""


def _problems(item: Item, release: str) -> tuple[str, ...]:
    group, version = GroupVersion.parse(item.api_version)
    try:
        schema = Catalogue.for_release(release).schema(GroupVersionKind(group, version, item.kind))
        return tuple(decode(default_behaviour(release), item.obj, schema).problems)
    except DecodeError as wrong:
        return (str(wrong),)
    except SimkitError:
        return ()


def _field(problem: str) -> str:
    return problem.partition('"')[2].partition('"')[0]


def validation_breaks(items: Iterable[Item], sandbox: Sandbox, span: ReleaseSpan) -> Iterator[Break]:
    """Create each item as a trial on a fork at the last release, and where it is refused at the first one too.

    Notes
    -----
    About a millisecond for a small object; much more for a custom resource definition with many rules.
    """
    from simkit.analysis.upgrade.migration import refusal  # which reads YAML and kustomizations

    last = sandbox.fork(release=span.end)
    first = sandbox.fork(release=span.start) if span.start else None
    for item in items:
        if not item.name or not is_served(item.api_version, item.kind, span.end):
            continue
        said = refusal(item.obj, last, span.end)
        if not said:
            continue
        known = first is not None and is_served(item.api_version, item.kind, span.start)
        before = refusal(item.obj, first, span.start) if known and first is not None else ""
        if known and not before:
            yield break_of(
                item, release=span.end, severity="high", check=VALIDATION,
                what=f"{span.end} refuses it: {said[:_LONGEST]}",
                evidence=f"tried on forks: {span.start} takes it, {span.end} does not",
                remedy="Before the upgrade, correct what the message names.", source=SOURCE,
            )  # fmt: skip
        elif item.origin != "stored":
            yield break_of(
                item, release="", severity="low", check=REFUSED, what=f"{span.end} refuses it: {said[:_LONGEST]}",
                evidence=f"{span.start} refuses it too" if before else f"tried at {span.end}",
                remedy="Correct the manifest.", source=SOURCE, breaks=False,
            )  # fmt: skip

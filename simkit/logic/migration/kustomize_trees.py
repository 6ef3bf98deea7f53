"""Kustomizations with all that they name: one of which a patch cannot follow stays as it is, with its objects."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from simkit.logic.migration.documents import Document, Rewritten
from simkit.logic.migration.kustomizations import FILES, named_paths

_HELD: Final = "it stays as it is, since a kustomization that it belongs to is left to a person"


def held_back(
    texts: Mapping[Path, str], made: Mapping[Path, Rewritten], patches: Collection[Path]
) -> dict[Path, Rewritten]:
    """The rewritten files, those of a tree left as they were if a kustomization or a patch in it needs a person.

    Otherwise the rewritten objects would reach the cluster without the patches that are for them.
    """
    trees = _trees(texts)
    refused = {
        trees[place]
        for place, each in made.items()
        if place in trees and (place.name in FILES or place in patches)
        if any(document.migrated.person for document in each.documents)
    }
    return {
        place: _as_it_was(each, texts[place]) if trees.get(place) in refused else each for place, each in made.items()
    }


def _trees(texts: Mapping[Path, str]) -> dict[Path, Path]:
    """A file that stands for the tree of each file: kustomizations, what they name, and what that names."""
    parents: dict[Path, Path] = {}

    def root(place: Path) -> Path:
        while parents.setdefault(place, place) != place:
            place = parents[place]
        return place

    for place in (each for each in texts if each.name in FILES):
        for other in _named(place, texts):
            parents[root(other)] = root(place)
    return {place: root(place) for place in list(parents)}


def _named(place: Path, texts: Mapping[Path, str]) -> Iterator[Path]:
    """A kustomization, and the files that it names; of a folder its kustomization."""
    yield place
    for name in named_paths(texts[place]):
        other = (place.parent / name).resolve()
        yield from (each for each in (other, *(other / name for name in FILES)) if each in texts)


def _as_it_was(each: Rewritten, text: str) -> Rewritten:
    return replace(each, text=text, documents=tuple(map(_held, each.documents)))


def _held(document: Document) -> Document:
    migrated = document.migrated
    return replace(document, migrated=replace(migrated, changed=False, person=migrated.person or (_HELD,)))

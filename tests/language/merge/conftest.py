"""Schemas that tests of the merge language share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.schema.catalogue import Catalogue
from simkit.schema.structural import Schema
from tests.language.merge.values import WIDGET, unresolved


@pytest.fixture(scope="session")
def widget() -> Schema:
    """A custom type with every kind of list and map."""
    return Schema(WIDGET, unresolved)


@pytest.fixture(scope="session")
def schema() -> Callable[[str], Schema]:
    """Gives the schema of a built-in kind: ``schema("apps/v1/Deployment")``."""
    catalogue = Catalogue.for_release("1.30")

    def find(text: str) -> Schema:
        api_version, _, kind = text.rpartition("/")
        return catalogue.schema(GroupVersionKind(*GroupVersion.parse(api_version), kind))

    return find

"""Stories about field ownership, told as data: writes to one object, and who owns what after each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from simkit.language.merge.apply import apply
from simkit.language.merge.fieldset import path_text, paths
from simkit.language.merge.managedfields import read
from simkit.language.merge.mergepatch import merge_patch
from simkit.language.merge.update import manager_from_user_agent, track_update, with_old_times
from simkit.meta.errors import StatusError
from simkit.meta.names import GroupVersion, GroupVersionKind
from simkit.meta.objects import Object, at, copied, with_metadata
from simkit.schema.catalogue import Catalogue
from simkit.schema.decoding import decode
from simkit.schema.structural import Schema
from tests.language.merge.values import unresolved
from tests.releases import BASE

pytestmark = pytest.mark.slow

STORIES = yaml.safe_load((Path(__file__).parent / "merge" / "rules.yaml").read_text())
Draft = dict[str, Any]


class Teller:
    """One object, the schema that it has now, and the writes to it."""

    def __init__(self, story: Mapping[str, Any]) -> None:
        self.schema = _schema(story)
        api_version, _, kind = story.get("kind", "example.com/v1/Thing").rpartition("/")
        self.identity = {"apiVersion": api_version or "example.com/v1", "kind": kind or "Thing"}
        self.live: Object | None = None
        self.step: Mapping[str, Any] = {}
        self.time = ""

    def write(self, step: Mapping[str, Any], number: int) -> Object:
        """The object after a step of the story; raises the refusal."""
        self.schema = _schema(step) or self.schema
        self.step, self.time = step, f"2024-01-01T00:00:{number:02}Z"
        wanted = self._apply() if "apply" in step else self._update()
        settled = with_old_times(self.live, self._settled(wanted))
        self.live = with_metadata(settled, uid="uid-1")
        return self.live

    def _body(self, body: Mapping[str, Any]) -> Draft:
        return {**self.identity, **body, "metadata": {"name": "a", **body.get("metadata", {})}}

    def _common(self) -> Draft:
        manager = self.step.get("by") or manager_from_user_agent(self.step["agent"])
        subresource = self.step.get("subresource", "")
        version = self.identity["apiVersion"]
        return {"manager": manager, "api_version": version, "time": self.time, "subresource": subresource}

    def _apply(self) -> Object:
        intent = self._body(self.step["apply"])
        return apply(BASE, self.live, intent, self.schema, force=self.step.get("force", False), **self._common())

    def _update(self) -> Object:
        if "update" in self.step:
            wanted = self._settled(self._body(self.step["update"]))
            wanted = with_metadata(wanted, uid="uid-1") if self.live else wanted
        else:
            wanted = self._settled(merge_patch(self.live, self.step["merge"]))
            brought = self.step["merge"].get("metadata", {}).get("managedFields")
            wanted = with_metadata(wanted, managedFields=brought) if brought is not None else wanted
        records = track_update(BASE, self.live, wanted, self.schema, **self._common())
        return with_metadata(wanted, managedFields=records or None)

    def _settled(self, obj: Object) -> Draft:
        if self.schema is None or not self.schema.name:
            return dict(copied(obj))
        draft = decode(BASE, obj, self.schema).object
        draft["metadata"].pop("creationTimestamp", None)
        return draft


def _schema(holder: Mapping[str, Any]) -> Schema | None:
    if "schema" in holder:
        return Schema(holder["schema"], unresolved)
    if not holder.get("kind"):
        return None
    api_version, _, kind = holder["kind"].rpartition("/")
    return Catalogue.for_release("1.30").schema(GroupVersionKind(*GroupVersion.parse(api_version), kind))


def _owners(obj: Object) -> Mapping[str, list[str]]:
    owners = {}
    for owner, claim in read(obj["metadata"].get("managedFields", ())).items():
        words = (owner.manager, owner.operation, owner.subresource)
        owners[" ".join(filter(None, words))] = sorted(map(path_text, paths(claim.fields)))
    return owners


def _name(story: Mapping[str, Any]) -> str:
    return f"{story['rule']} {story['story']}"


@pytest.mark.parametrize("story", STORIES, ids=_name)
def test_story(story: Mapping[str, Any]) -> None:
    """Every step of the story ends as it is told."""
    teller = Teller(story)
    for number, step in enumerate(story["steps"]):
        before = copied(teller.live)
        if "refused" in step or "conflicts" in step:
            with pytest.raises(StatusError) as refusal:
                teller.write(step, number)
            _check_refusal(refusal.value, step)
            assert teller.live == before
            continue
        after = teller.write(step, number)
        if "data" in step:
            assert at(after, *story["at"].split(".")) == step["data"], number
        if "owners" in step:
            assert _owners(after) == {name: sorted(owned) for name, owned in step["owners"].items()}, number
        if "records" in step:
            assert after["metadata"]["managedFields"] == step["records"], number


def _check_refusal(refusal: StatusError, step: Mapping[str, Any]) -> None:
    if "refused" in step:
        assert [refusal.code, refusal.message] == step["refused"]
        return
    assert refusal.code == 409
    causes = (refusal.details or {})["causes"]
    assert [f"{cause['message']}: {cause['field']}" for cause in causes] == step["conflicts"]


def test_every_rule_about_meaning_has_a_story() -> None:
    """The rules of the specification that the merge language decides are all told."""
    assert {story["rule"] for story in STORIES} == set(range(1, 12)) - {9}

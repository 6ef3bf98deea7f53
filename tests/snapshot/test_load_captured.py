"""Resources of which a dump has all objects."""

from __future__ import annotations

import gzip
from pathlib import Path

import orjson
import pytest
import yaml

from simkit.meta.errors import IncompleteSnapshot, UnknownResource
from simkit.meta.names import GroupResource
from simkit.snapshot.load import load
from tests.snapshot.dumps import PODS, RBAC, ROLES, SECRETS, listed, pod, role, told


def test_empty_list_of_one_kind_is_captured() -> None:
    """``none exist`` is an answer: a list of a kind without items."""
    dump = load({"apiVersion": f"{RBAC}/v1", "kind": "RoleList", "metadata": {}, "items": None})
    assert dump.captured == {ROLES}
    assert dump.snapshot().scan(ROLES) == ()
    assert dump.counts == {ROLES: 0}


@pytest.mark.parametrize("name", ["roles.yaml", "role.json", f"roles.{RBAC}.yaml.gz", f"role.{RBAC}.json"])
def test_empty_list_in_a_file_named_after_a_resource_is_captured(tmp_path: Path, name: str) -> None:
    """kubectl writes an empty List that does not say of what; the name of the file does."""
    text = orjson.dumps(listed())
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert load(tmp_path).captured == load(tmp_path / name).captured == {ROLES}


def test_empty_files_show_nothing(tmp_path: Path) -> None:
    """A file with nothing in it comes of a command that failed: it does not say that none exist."""
    (tmp_path / "roles.yaml").write_text("")
    (tmp_path / "whatever.yaml").write_text(yaml.safe_dump(listed()))
    dump = load(tmp_path)
    assert not dump.captured
    assert "nothing is in it" in told(dump)
    assert "an empty list that does not name its resource" in told(dump)


def test_missing_access_control_objects_are_noted() -> None:
    """Bindings without roles are a doubtful base for answers about access."""
    dump = load(listed(role("r"), pod("a")))
    assert "simkit dump clusterroles.rbac.authorization.k8s.io clusterrolebindings" in told(dump)
    with pytest.raises(IncompleteSnapshot, match="simkit dump clusterroles"):
        dump.snapshot().scan(GroupResource(RBAC, "clusterroles"))


def test_roles_of_one_namespace_only_are_noted() -> None:
    """Every whole cluster has roles in the system namespace."""
    assert "roles.rbac.authorization.k8s.io of shop only" in told(load(role("r", "shop")))


def test_the_user_may_say_what_is_captured() -> None:
    """Words name resources, ``*`` all of them; an unknown word is an error with a suggestion."""
    assert load(pod("a"), captured=["roles"]).captured == {PODS, ROLES}
    assert {SECRETS, ROLES, PODS} < load(pod("a"), captured=["*"]).captured
    with pytest.raises(UnknownResource, match="did you mean 'role' or 'roles'"):
        load(pod("a"), captured=["rolse"])

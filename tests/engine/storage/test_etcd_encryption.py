"""EncryptionConfiguration files, and what is written and read by them."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("nacl", reason="kube-simkit[etcd] is not installed")

from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.names import GroupResource
from simkit.snapshot.etcd.encryption import Encryption, read_encryption

SECRETS, MAPS = GroupResource("", "secrets"), GroupResource("", "configmaps")
KEY = base64.b64encode(bytes(range(32))).decode()
OTHER = base64.b64encode(bytes(range(1, 33))).decode()


def configured(folder: Path, providers: str, resources: str = "[secrets]") -> Encryption:
    """The encryption of a file with one rule."""
    file = folder / "encryption.yaml"
    file.write_text(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n"
        f"resources:\n- resources: {resources}\n  providers:\n{providers}"
    )
    return read_encryption(file)


def one(name: str, secret: str = KEY, key: str = "k1") -> str:
    """A provider with one key."""
    return f"  - {name}: {{keys: [{{name: {key}, secret: {secret}}}]}}\n"


@pytest.mark.parametrize("name", ["aescbc", "aesgcm", "secretbox"])
@settings(max_examples=25)
@given(plain=st.binary(max_size=300))
def test_written_objects_are_read_back(tmp_path_factory: pytest.TempPathFactory, name: str, plain: bytes) -> None:
    """Every provider reads what it wrote, and says in the value who wrote it."""
    encryption = configured(tmp_path_factory.mktemp("e"), one(name))
    sealed = encryption.encrypt(SECRETS, b"/registry/secrets/a/b", plain)
    assert sealed.startswith(f"k8s:enc:{name}:v1:k1:".encode())
    assert encryption.decrypt(SECRETS, b"/registry/secrets/a/b", sealed) == plain


@pytest.mark.parametrize("name", ["aesgcm", "secretbox"])
def test_another_key_does_not_read(tmp_path: Path, name: str) -> None:
    """The answer names the object; nothing is guessed."""
    sealed = configured(tmp_path, one(name)).encrypt(SECRETS, b"/registry/secrets/a/b", b"word")
    with pytest.raises(StatusError, match="/registry/secrets/a/b"):
        configured(tmp_path, one(name, OTHER)).decrypt(SECRETS, b"/registry/secrets/a/b", sealed)


def test_a_value_that_was_moved_is_not_read(tmp_path: Path) -> None:
    """With aesgcm a value belongs to its key in etcd."""
    encryption = configured(tmp_path, one("aesgcm"))
    sealed = encryption.encrypt(SECRETS, b"/registry/secrets/a/b", b"word")
    with pytest.raises(StatusError, match="another place"):
        encryption.decrypt(SECRETS, b"/registry/secrets/a/c", sealed)


def test_the_first_provider_writes_and_all_read(tmp_path: Path) -> None:
    """So a key is changed by putting a new one before it."""
    old = configured(tmp_path, one("aescbc"))
    new = configured(tmp_path, one("secretbox", OTHER, "k2") + one("aescbc"))
    sealed = old.encrypt(SECRETS, b"/p", b"word")
    assert new.decrypt(SECRETS, b"/p", sealed) == b"word"
    assert new.encrypt(SECRETS, b"/p", b"word").startswith(b"k8s:enc:secretbox:v1:k2:")


def test_other_resources_and_identity_are_plain(tmp_path: Path) -> None:
    """A resource without a rule, and one whose first provider is identity, are written as they are."""
    assert configured(tmp_path, one("aescbc")).encrypt(MAPS, b"/p", b"word") == b"word"
    assert configured(tmp_path, "  - identity: {}\n" + one("aescbc")).encrypt(SECRETS, b"/p", b"word") == b"word"
    assert configured(tmp_path, one("aescbc"), "['*.']").encrypt(MAPS, b"/p", b"word") != b"word"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kind: Pod\napiVersion: v1\nresources: []", "no EncryptionConfiguration"),
        ("[]", "no EncryptionConfiguration"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, told: str) -> None:
    """The error names the file."""
    file = tmp_path / "x.yaml"
    file.write_text(text)
    with pytest.raises(SimkitError, match=told):
        read_encryption(file)


def test_bad_keys_and_key_services_are_refused(tmp_path: Path) -> None:
    """Each error says which key, or what is not read."""
    for secret in ("'%%'", "'\u00e9'"):
        with pytest.raises(SimkitError, match="not base64"):
            configured(tmp_path, one("aescbc", secret))
    with pytest.raises(SimkitError, match="has 3 bytes"):
        configured(tmp_path, one("aescbc", "YWJj"))
    with pytest.raises(SimkitError, match="kms"):
        configured(tmp_path, "  - kms: {name: x, endpoint: unix:///x}\n")
    with pytest.raises(SimkitError, match="cannot read"):
        read_encryption(tmp_path / "missing.yaml")

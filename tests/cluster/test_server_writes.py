"""The field managers of the server's own objects, and the objects that it restores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

import simkit
from simkit.engine.controllers.certificate_authority import combine
from simkit.meta.message import Request

NAME = "extension-apiserver-authentication"
PATH = f"/api/v1/namespaces/kube-system/configmaps/{NAME}"


def authority(year: int = 2034) -> str:
    """A certificate in PEM, valid until a year."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, datetime(2020, 1, 1))
    signed = builder.not_valid_after(datetime(year, 1, 1)).sign(key, hashes.SHA256())
    return signed.public_bytes(Encoding.PEM).decode()


def managers(obj: Any) -> Iterator[tuple[str, str]]:
    for entry in obj["metadata"].get("managedFields", ()):
        yield entry["manager"], entry["operation"]


@pytest.mark.parametrize("kind", ["flowschema", "prioritylevelconfiguration"])
def test_flow_control_is_written_by_its_producer(kind: str) -> None:
    """The objects of priority and fairness, by the part of the server that makes them."""
    [*found] = managers(simkit.Cluster(seed=1).get(kind, "exempt"))
    assert ("api-priority-and-fairness-config-producer-v1", "Update") in found
    assert "kube-apiserver" not in dict(found)


OWN = authority()


@pytest.fixture
def cluster() -> simkit.Cluster:
    """A server that believes one authority of clients, and says so."""
    made = simkit.Cluster(seed=1)
    believed = replace(made.engine.authentication, published={"client-ca-file": OWN})
    made.engine.authenticate_with(believed)
    made._control_plane.authentication_trust.publish()
    return made


def content(cluster: simkit.Cluster) -> dict[str, str]:
    """The content that other servers read."""
    data: dict[str, str] = cluster.get("configmap", NAME, "kube-system")["data"]
    return data


def test_own_authority_is_merged_back(cluster: simkit.Cluster) -> None:
    """Whoever overwrites or deletes the config map: others' authorities stay, what has ended goes."""
    assert content(cluster) == {"client-ca-file": OWN}
    other, ended = authority(), authority(2021)
    change = {"data": {"client-ca-file": other + ended, "more": "x"}}
    cluster.perform(Request.of("PATCH", PATH, change, content_type="application/merge-patch+json"))
    assert content(cluster) == {"client-ca-file": other + OWN}
    assert ("kube-apiserver", "Update") in managers(cluster.get("configmap", NAME, "kube-system"))
    assert cluster.perform(Request.of("DELETE", PATH)).succeeded
    assert content(cluster) == {"client-ca-file": OWN}


def test_lists_of_names_are_merged() -> None:
    """Each name once; they count only with the authority of proxies."""
    proxies, names = "requestheader-client-ca-file", "requestheader-allowed-names"
    combined = combine({names: '["a","b"]'}, {proxies: OWN, names: '["b","c"]'}, 0.0)
    assert (combined[proxies], combined[names]) == (OWN, '["a","b","c"]')
    assert combined["requestheader-group-headers"] == "[]"
    assert combine({names: '["a"]'}, {"client-ca-file": OWN}, 0.0) == {"client-ca-file": OWN}


@pytest.mark.parametrize("text", ["3", "[[1]]", "null", "{}", '["a", 3]', '"abc"', "x"])
def test_names_that_are_no_list_are_left(text: str) -> None:
    """One who wrote a number got an internal error, and so did the server at its next start."""
    proxies, names = "requestheader-client-ca-file", "requestheader-allowed-names"
    with pytest.raises(ValueError, match=r"no list of names|unexpected character"):
        combine({names: text}, {proxies: OWN, names: '["b"]'}, 0.0)


@pytest.mark.parametrize("text", ["x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_unreadable_objects_are_left(cluster: simkit.Cluster, text: str) -> None:
    """As kube-apiserver does, which tries again in vain."""
    change = {"data": {"client-ca-file": text}}
    cluster.perform(Request.of("PATCH", PATH, change, content_type="application/merge-patch+json"))
    assert content(cluster) == {"client-ca-file": text}

"""The members of groups, from every source that names them."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import simkit
from simkit.analysis.membership import (
    members_of_audit_log,
    members_of_certificates,
    members_of_files,
    members_of_snapshot,
    merge_members,
)
from simkit.cli import main
from simkit.cluster.options import Options
from simkit.meta.identity import Identity
from simkit.meta.message import Request
from tests.analysis.worlds import binding, role, rule, world

LDIF = """\
dn: cn=devs,ou=groups,dc=example,dc=com
cn: devs
member: uid=ann,ou=people,dc=example,dc=com
member: uid=bob,ou=people,dc=exam
 ple,dc=com

dn: uid=cleo,ou=people,dc=example,dc=com
uid: cleo
memberOf: cn=devs,ou=groups,dc=example,dc=com
"""
SCIM = {
    "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
    "Resources": [
        {"id": "1", "userName": "ann", "groups": [{"value": "g", "display": "devs"}]},
        {"id": "2", "userName": "bob"},
        {"id": "g", "displayName": "devs", "members": [{"value": "2"}, {"value": "3", "display": "cleo"}]},
    ],
}
REALM = {"realm": "r", "users": [{"username": "ann", "groups": ["/devs"]}, {"username": "bob", "groups": ["/a/devs"]}]}
MAPPING = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "aws-auth", "namespace": "kube-system"},
    "data": {
        "mapUsers": "- userarn: arn:aws:iam::1:user/ann\n  username: ann\n  groups: [system:masters]\n",
        "mapRoles": "- rolearn: arn:aws:iam::1:role/node\n  username: node\n  groups:\n  - devs\n",
    },
}


def certificate(name: str, *organizations: str) -> bytes:
    """A certificate that nobody signed but its own key."""
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    attributes += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in organizations]
    subject, now = x509.Name(attributes), datetime.now(UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    made = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM)


def token(**claims: Any) -> str:
    """A token with these claims and no signature worth the name."""
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), "x"])


def test_certificates_and_kubeconfigs(tmp_path: Path) -> None:
    """The common name is the user, organizations are groups; a kubeconfig holds certificates too."""
    pem = certificate("ann", "devs", "ops") + certificate("bob", "devs")
    wanted = {"devs": ("user:ann", "user:bob"), "ops": ("user:ann",)}
    assert members_of_certificates(pem) == wanted
    data = base64.b64encode(certificate("ann", "devs")).decode()
    config = {"kind": "Config", "apiVersion": "v1", "users": [{"name": "a", "user": {"client-certificate-data": data}}]}
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    (tmp_path / "pem").write_bytes(b"notes before it\n" + pem)
    assert members_of_files(tmp_path / "config") == {"devs": ("user:ann",)}
    assert members_of_files(tmp_path / "pem") == wanted
    with pytest.raises(simkit.SimkitError, match="certificates"):
        members_of_certificates("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----")


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        ("a.ldif", LDIF, {"devs": ("user:ann", "user:bob", "user:cleo")}),
        ("scim.json", json.dumps(SCIM), {"devs": ("user:ann", "user:bob", "user:cleo")}),
        ("realm.json", json.dumps(REALM), {"devs": ("user:ann", "user:bob"), "/a/devs": ("user:bob",)}),
        ("a.csv", "Email,Team\nann,devs\nbob,devs;ops\n", {"devs": ("user:ann", "user:bob"), "ops": ("user:bob",)}),
        ("tokens.csv", 'secret,ann,1,"devs,ops"\nother,bob,2\n', {"devs": ("user:ann",), "ops": ("user:ann",)}),
        ("table.yaml", "devs: [ann, 'sa:dev/app']\nops: []\n", {"devs": ("ann", "sa:dev/app"), "ops": ()}),
        ("aws.yaml", yaml.safe_dump(MAPPING), {"devs": ("user:node",), "system:masters": ("user:ann",)}),
        (
            "groups.yaml",
            "apiVersion: user.openshift.io/v1\nkind: Group\nmetadata: {name: devs}\nusers: [ann]\n",
            {"devs": ("user:ann",)},
        ),
    ],
)
def test_files_are_told_apart_by_content(tmp_path: Path, name: str, content: str, wanted: dict[str, Any]) -> None:
    """Exports of providers, tables, and objects of clusters."""
    (tmp_path / name).write_text(content)
    assert members_of_files(tmp_path / name) == wanted


@pytest.mark.parametrize("content", ["", "just text\n", "a: 1\nb: 2\n", "devs: ['group:']\n"])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    """The message names the file."""
    (tmp_path / "odd").write_text(content)
    with pytest.raises(simkit.SimkitError, match="odd"):
        members_of_files(tmp_path / "odd")


def test_audit_logs_and_requests_for_certificates(tmp_path: Path) -> None:
    """Users tell their groups by coming; those that the server adds are left out."""
    cluster = simkit.Cluster(options=Options(seed=1, audit_policy="Metadata"))
    ann = Identity("ann", groups=("devs", "system:authenticated"))
    cluster.perform(Request.of("GET", "/api/v1/nodes"), identity=ann)
    log = tmp_path / "audit.jsonl"
    log.write_text("\n".join(json.dumps(event) for event in cluster.audit_log()))
    assert members_of_audit_log(cluster.audit_log())["devs"] == ("user:ann",)
    assert members_of_files(log)["devs"] == ("user:ann",)
    request = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "a"}}
    spec = {"username": "ann", "groups": ["devs", "system:authenticated"], "signerName": "x/y"}
    assert members_of_snapshot(world({**request, "spec": spec})) == {"devs": ("user:ann",)}
    assert members_of_snapshot(world(captured=["roles"])) == {}


def test_commands_take_members(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A question about a person counts the groups that the file says."""
    dump, table = tmp_path / "dump.json", tmp_path / "groups.csv"
    objects = [role("r", rule("get", "pods")), binding("b", "r", "group:devs")]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    table.write_text("user,group\nann,devs\n")
    asked = ["--dump", str(dump), "--complete", "*"]
    assert main(["can-i", "get", "pods", "--as", "ann", *asked]) == 1
    assert main(["can-i", "get", "pods", "--as", "ann", *asked, "--members", str(table)]) == 0
    assert main(["can-i", "--list", "--as", "ann", *asked, "--members", str(table)]) == 0
    capsys.readouterr()
    assert main(["who-can", "get", "pods", *asked, "--members", str(table)]) == 0
    assert "user:ann (in group:devs)" in capsys.readouterr().out
    assert main(["audit", str(dump), "--complete", "*", "--members", str(table)]) == 0


def test_tables_are_merged() -> None:
    """The memberships of one source are added to those of others."""
    assert merge_members({"a": ["x"]}, {"a": ["x", "y"], "b": []}) == {"a": ("x", "y"), "b": ()}

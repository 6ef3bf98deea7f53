"""Redacted dumps: they hold no secret, and give the same answers about access."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from simkit.analysis.access.who_can import who_can
from simkit.analysis.findings import audit
from simkit.analysis.rbac.tables import subject_parts
from simkit.cli import main
from simkit.cli.source import demo_path
from simkit.snapshot.load import load
from simkit.snapshot.memory import MemorySnapshot
from simkit.snapshot.pseudonyms import Pseudonyms
from simkit.snapshot.redact import redacted
from tests.analysis.worlds import account, binding, namespace, role, rule
from tests.security.prices import LINEAR, growth

pytestmark = pytest.mark.slow

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "ledger-0",
        "namespace": "payments",
        "labels": {"team": "goldfinch"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "owner": "ann@corp.example"},
        "managedFields": [{"manager": "hunter2"}],
    },
    "spec": {
        "serviceAccountName": "ledger",
        "containers": [
            {
                "name": "app",
                "image": "registry.corp.example/goldfinch/ledger:1",
                "command": ["run", "--password", "hunter2", "--db=postgres://me:hunter2@db/x"],
                "args": ["--api-key=hunter2", "--port=80"],
                "env": [
                    {"name": "A", "value": "hunter2"},
                    {"name": "B", "valueFrom": {"secretKeyRef": {"name": "db"}}},
                ],
            }
        ],
    },
}
OBJECTS: list[dict[str, Any]] = [
    POD,
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": "payments"}, "data": {"p": "aHVudGVyMg=="}},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "payments"}, "data": {"url": "hunter2"}},
    *(namespace("payments"), account("payments", "ledger")),
    role("ledger-reader", rule("get,list", "secrets"), namespace="payments"),
    role("named", rule("get", "secrets", names="db"), namespace="payments"),
    binding("ledger", "ledger-reader", "sa:payments/ledger", "user:ann@corp.example", namespace="payments", local=True),
    binding("token", "named", "user:system:serviceaccount:payments:ledger", namespace="payments", local=True),
    binding("admins", "cluster-admin", "group:oidc:goldfinch"),
    role("cluster-admin", rule("*", "*", groups="*")),
]  # fmt: skip


def test_values_are_gone_and_the_rest_stays() -> None:
    """No secret value is left in fields, flags, addresses, variables or annotations; what names them stays."""
    shown = list(redacted(OBJECTS))
    text = orjson.dumps(shown).decode()
    assert "hunter2" not in text
    assert "aHVudGVyMg" not in text
    container = shown[0]["spec"]["containers"][0]
    assert container["args"] == ["--api-key=REDACTED", "--port=80"]
    assert container["command"] == ["run", "--password", "REDACTED", "--db=postgres://REDACTED@db/x"]
    assert container["env"][1] == {"name": "B", "valueFrom": {"secretKeyRef": {"name": "db"}}}
    assert shown[0]["metadata"]["annotations"] == {"owner": "ann@corp.example"}
    assert shown[2]["data"] == {"url": ""}
    assert shown[3:] == OBJECTS[3:]
    assert list(redacted(OBJECTS, keep_config=True))[2]["data"] == {"url": "hunter2"}


TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJodW50ZXIyIn0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({"password": "hunter2", "passwordRef": "db"}, {"password": "REDACTED", "passwordRef": "db"}),
        ({"auth": {"apiKey": "hunter2", "secretName": "db"}}, {"auth": {"apiKey": "REDACTED", "secretName": "db"}}),
        ({"clientSecret": "hunter2", "tokenPath": "/t"}, {"clientSecret": "REDACTED", "tokenPath": "/t"}),
        ({"bearerToken": {"secretKeyRef": {"key": "k"}}}, {"bearerToken": {"secretKeyRef": {"key": "k"}}}),
        ({"note": f"use {TOKEN} now"}, {"note": "use REDACTED now"}),
        ({"key": "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----"}, {"key": "REDACTED"}),
        (
            {"httpHeaders": [{"name": "Authorization", "value": "Bearer hunter2hunter2"}]},
            {"httpHeaders": [{"name": "Authorization", "value": "REDACTED"}]},
        ),
        (
            {"command": ["sh", "-c", "export DB_PASSWORD='hunter2'; run --port=80"]},
            {"command": ["sh", "-c", "export DB_PASSWORD='REDACTED'; run --port=80"]},
        ),
        (
            {"args": ["-H", "Authorization: Bearer hunter2hunter2"]},
            {"args": ["-H", "Authorization: Bearer REDACTED"]},
        ),
        ({"automountServiceAccountToken": False}, {"automountServiceAccountToken": False}),
    ],
)
def test_secrets_in_any_object(spec: dict[str, Any], shown: dict[str, Any]) -> None:
    """Fields that are named like a secret, or look like one, are gone; references to secrets stay."""
    obj = {"apiVersion": "example.com/v1", "kind": "Database", "metadata": {"name": "a"}, "spec": spec}
    assert next(redacted([obj]))["spec"] == shown


def test_copies_in_annotations_are_gone() -> None:
    """Every client that keeps the whole object in an annotation loses it; other annotations stay but for tokens."""
    notes = {
        "banzaicloud.com/last-applied": "hunter2",
        "kopf.zalando.org/last-handled-configuration": "hunter2",
        "objectset.rio.cattle.io/applied": "hunter2",
        "contact": "ann",
        "link": f"https://x/?t={TOKEN}",
    }
    obj = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "annotations": notes}}
    assert next(redacted([obj]))["metadata"]["annotations"] == {"contact": "ann", "link": "https://x/?t=REDACTED"}


def test_pseudonyms_leave_no_name() -> None:
    """No name that somebody gave is left anywhere; the server's own names are."""
    text = orjson.dumps(list(redacted(OBJECTS, pseudonyms=Pseudonyms(b"k")))).decode()
    for name in ("payments", "ledger", "ann@", "goldfinch", "corp.example", "registry"):
        assert name not in text
    for name in ("cluster-admin", "secrets", "system:serviceaccount:"):
        assert name in text


def test_answers_are_the_same() -> None:
    """Findings and who-can agree with those of the original, for names are replaced alike everywhere."""
    pseudonyms = Pseudonyms(b"k")
    before = MemorySnapshot(OBJECTS, captured=["*"])
    after = MemorySnapshot(redacted(OBJECTS, pseudonyms=pseudonyms), captured=["*"])
    assert audit(before).counts() == audit(after).counts()
    old = who_can(before, "get", "secrets", name="db", namespace="payments")
    new = who_can(after, "get", "secrets", name=pseudonyms.text("db"), namespace=pseudonyms.text("payments"))
    assert sorted(map(pseudonyms.text, subject_parts(old)["subject_name"])) == sorted(
        subject_parts(new)["subject_name"]
    )


def test_a_whole_cluster_keeps_its_findings() -> None:
    """A cluster with all the server's own objects has the same findings and defaults under other names."""
    dump = load(demo_path())
    shown = MemorySnapshot(redacted(dump.objects, pseudonyms=Pseudonyms(b"k")), captured=dump.captured)
    before, after = audit(dump.snapshot()), audit(shown)
    assert Counter(each.check for each in before.findings) == Counter(each.check for each in after.findings)
    assert before.set_aside == after.set_aside


def test_names_within_the_servers_own() -> None:
    """Names of nodes and namespaces are replaced within names that the server makes of them, and only there."""
    pseudonyms = Pseudonyms(b"k")
    pseudonyms.learn([namespace("masters"), {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker"}}])
    assert pseudonyms.text("system:masters") == "system:masters"
    assert pseudonyms.text("system:node:worker") == f"system:node:{pseudonyms.text('worker')}"
    assert pseudonyms.text("system:serviceaccounts:masters").endswith(pseudonyms.text("masters"))
    assert pseudonyms.text("worker") != "worker"


def test_keys_make_pseudonyms() -> None:
    """The same key gives the same names, another key others."""
    first, second, other = (list(redacted(OBJECTS, pseudonyms=Pseudonyms(key))) for key in (b"a", b"a", b"b"))
    assert first == second
    assert first != other


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A redacted dump can be loaded and is complete for what the original was complete for."""
    source, target, key = tmp_path / "dump.json", tmp_path / "shared.yaml", tmp_path / "key"
    source.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    key.write_text("a key")
    words = ["redact", str(source), "--to", str(target)]
    assert main([*words, "--pseudonyms", "--key-file", str(key)]) == 0
    assert "payments" not in target.read_text()
    assert load(target).captured == load(source).captured
    assert len(load(target)) == len(OBJECTS)
    assert main([*words, "--key-file", str(key)]) == 2
    key.write_text("")
    assert main([*words, "--pseudonyms", "--key-file", str(key)]) == 2
    assert "between 1 and 64" in capsys.readouterr().err


@pytest.mark.parametrize(
    "spec",
    [
        {"secret-access-key": "hunter2"},
        {"sharedKey": "hunter2", "tokens": ["hunter2"]},
        {"command": ["curl", "-H", "X-Api-Key: hunter2", "https://a/?token=hunter2&x=1"]},
        {"url": "https://a/b?x=1&access_token=hunter2"},
        {"image": "mysql:8", "args": ["-uroot", "-phunter2"]},
        {"command": ["sh", "-c", "mysql -uroot -phunter2 -e 'select 1'"]},
        {"command": ["sshpass", "-p", "hunter2", "ssh", "a"]},
        {"args": ["--pw", "hunter2", "--pw=hunter2"]},
        {"command": ["sh", "-c", "MYSQL_PWD=hunter2 mysql; curl -u me:hunter2 https://a; curl --user=me:hunter2 b"]},
        {"command": ["curl", "-u", "me:hunter2", "https://a"]},
        {"command": ["sh", "-c", 'echo "password: hunter2"; PASSWORD="two words hunter2"']},
        {"command": ["sh", "-c", "kubectl --token hunter2 get pods; snowsql --private-key-passphrase hunter2"]},
        {"command": ["sh", "-c", "echo hunter2 | docker login --password-stdin; vault login hunter2"]},
        {"command": ["sh", "-c", "htpasswd -bn me hunter2; openssl enc -k hunter2; az login -u a -p hunter2 -t b"]},
        {"command": ["sh", "-c", "aws configure set aws_secret_access_key hunter2"]},
        {"note": "proxy_set_header X-Auth hunter2;", "config": "[db]\nsecret_key = hunter2\n"},
        {"password": {"value": "hunter2"}, "tokens": [{"plain": "hunter2"}]},
        {"params": [{"name": "api_key", "value": "hunter2"}, {"key": "secret", "val": "hunter2"}]},
        {"values": "db:\n  password: hunter2\n", "mountOptions": ["username=me,password=hunter2"]},
        {"env": {"KEY": "hunter2"}, "extraEnv": [{"name": "KEY", "value": "hunter2"}, "KEY=hunter2"]},
        {"headers": [{"name": "X-Any", "value": "hunter2"}], "restuserkey": "hunter2", "sshKey": "hunter2"},
        {"connectionString": "hunter2", "webhookUrl": "https://a/hunter2", "mnemonic": "hunter2", "pat": "hunter2"},
        {"secretValue": "hunter2", "passwordHash": "hunter2", "auth": {"basic": "hunter2"}, "tokenText": "hunter2"},
        {"message": "login failed using password hunter2, then with passphrase 'correct'; the password is hunter2"},
        {"message": "retry with credentials me/hunter2 (pwd hunter2)"},
        {"command": ["sh", "-c", "htpasswd -cb file me hunter2 && rabbitmqctl add_user me hunter2; exit 0"]},
        {"command": ["htpasswd", "-b", "-c", "file", "me", "hunter2"], "args": ["x"]},
        {"command": ["/usr/sbin/rabbitmqctl", "-q", "change_password", "me", "hunter2"]},
        {"url": "https://a/b?x=1&key=hunter2&sig=hunter2", "callback": "https://a/?sig=hunter2&sv=2020"},
        {"args": ["https://hunter2@a/1", "nats://hunter2@a", "me:hunter2@tcp(a:1)/b", "jdbc:oracle:thin:me/hunter2@a"]},
        {
            "args": ["create", "secret", "generic", "a", "--from-literal=b=hunter2"],
            "x": "https://a?X-Amz-Signature=hunter2",
        },
        {"note": "<db><password>two words of hunter2</password></db>"},
        {"creds": "hunter2", "basic-auth": "me:hunter2", "licence": "hunter2", "otp": "hunter2", "seed": "hunter2"},
    ],
)
def test_credentials_as_programs_take_them(spec: dict[str, Any]) -> None:
    """Headers, queries of addresses, flags of one letter, variables of clients, fields spelled with hyphens."""
    obj = {"apiVersion": "example.com/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": spec}
    assert "hunter2" not in orjson.dumps(list(redacted([obj]))).decode()


@pytest.mark.parametrize(
    "spec",
    [
        {"args": ["-p", "zK7qP2mX9vRt4LwB8nYc"], "note": "the value is ghp_zK7qP2mX9vRt4LwB8nYcAAAA, ok"},
        {"command": ["sh", "-c", "login-to zK7qP2mX9vRt4LwB8nYc"]},
    ],
)
def test_words_that_only_a_generator_writes_are_gone(spec: dict[str, Any]) -> None:
    """Wherever they stand, and however their field is called."""
    obj = {"apiVersion": "example.com/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": spec}
    assert "zK7qP2mX9vRt4LwB8nYc" not in orjson.dumps(list(redacted([obj]))).decode()


@pytest.mark.parametrize(
    "spec",
    [
        {"image": "web@sha256:9f86d081884c7d659a2feaa0c55ad0159f86d081884c7d659a2feaa0c55ad015", "nodeName": "node-a1"},
        {"rule": "self.token=='a' || self.kind == 'PodAutoscalerV2Beta2'", "expression": "object.spec.password=='a'"},
        {"args": ["--password-file", "/etc/p", "--token-path=/etc/t"], "secretName": "token", "enableAuth": "true"},
        {
            "subjects": [
                {"kind": "User", "name": "oidc:token=ann@corp.example", "apiGroup": "rbac.authorization.k8s.io"}
            ]
        },
        {"message": 'password authentication failed; secret "app-tls" not found, credentials for a were refused'},
        {"args": ["rabbitmqctl", "list_users"], "script": "htpasswd file user; vault login -method=oidc"},
        {"secretKeyRef": {"name": "app", "key": "password"}, "serviceAccountToken": {"audience": "vault", "path": "t"}},
        {"url": "ssh://git@a/b", "imageID": "docker-pullable://nginx@sha256:9f86d081884c7d65", "a": "x:y@z"},
        {"claims": [{"name": "app-pwd-claim-5f6d7c8b9-x2z4q"}], "version": "ImplementationSpecificV1Beta1"},
    ],
)
def test_what_only_looks_like_a_credential_stays(spec: dict[str, Any]) -> None:
    """Digests, names, expressions, paths of credentials and switches."""
    obj = {"apiVersion": "example.com/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": spec}
    assert next(redacted([obj]))["spec"] == spec


def test_labels_called_like_credentials_are_gone() -> None:
    """Others stay, since selectors need them."""
    meta = {"name": "a", "labels": {"password": "hunter2", "example.com/api-token": "hunter2", "app": "web"}}
    (shared,) = redacted([{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {}}])
    assert shared["metadata"]["labels"] == {"password": "REDACTED", "example.com/api-token": "REDACTED", "app": "web"}


def test_who_asks_for_a_certificate_keeps_no_token() -> None:
    """The extra of a user is a credential where it is called so."""
    spec = {"request": "hunter2", "signerName": "a.b/c", "username": "ann", "extra": {"token": ["hunter2"]}}
    obj = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "a"}}
    shown = next(redacted([{**obj, "spec": spec}]))["spec"]
    assert shown == {"request": "", "signerName": "a.b/c", "username": "ann", "extra": {"token": ["REDACTED"]}}


def test_annotations_called_like_credentials_are_gone() -> None:
    """An annotation is a field: its name tells, and what is assigned in its text."""
    notes = {"example.com/password": "hunter2", "apiKey": "hunter2", "run": "TOKEN=hunter2 ./run", "owner": "ann"}
    obj = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "annotations": notes}}
    shown = next(redacted([obj]))["metadata"]["annotations"]
    assert "hunter2" not in str(shown)
    assert shown["owner"] == "ann"


@pytest.mark.parametrize(
    "word",
    [
        "a",
        "a-",
        "pass",
        "token.",
        "eyJaaaaaaaa-",
        "basic ",
        "a://b:",
        'key="',
        "pw='\" ",
        "?auth=",
        "jdbc:oracle:thin:",
        "jdbc:oracle:thin:a/b",
        "=a:",
        "=a:b@",
        "--from-literal=",
        "--from-literal a",
        "<password>",
        "--pw ",
        "echo ",
        "vault login ",
        "set token ",
        "htpasswd -b a ; ",
        "a1B2c3",
        "pw ",
    ],
)
def test_the_price_of_redaction_grows_with_the_text(word: str) -> None:
    """Twice the text costs about twice the time, whatever it repeats."""

    def made(size: int) -> dict[str, Any]:
        text = word * (size // len(word))
        meta = {"name": "a", "annotations": {"x": text}}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"args": [text, *text.split()]}}

    assert growth(lambda obj: list(redacted([obj])), made, 4000) < LINEAR

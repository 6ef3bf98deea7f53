"""Credentials over real TLS: the good ones of every kind, and those that somebody expired, forged, borrowed or kept."""

from __future__ import annotations

import base64
import hashlib
import hmac
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import orjson
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tests.security.served import Made, Served, authority, certificate, claims_of, serving

KNOWN = "system:authenticated"
SECRETS = "/api/v1/namespaces/kube-system/secrets"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One process for all; the audit log is at the highest level."""
    folder = tmp_path_factory.mktemp("served")
    policy = folder / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n")
    flags = ("--audit-policy-file", str(policy), "--audit-log-path", str(folder / "audit.log"))
    with serving(folder, *flags) as made:
        made.account("team", "robot")
        yield made


@pytest.fixture(scope="module")
def robot(served: Served) -> str:
    """A good token of a service account."""
    return served.token("team", "robot")


# The good ones


@pytest.mark.slow
def test_client_certificates(served: Served) -> None:
    """The common name is the user, each organization a group."""
    made = certificate(served.folder, served.clients, "/O=devs/O=ops/CN=ann")
    assert served.who(proof=made) == ("ann", ["devs", "ops", KNOWN])


def test_tokens_of_every_kind(served: Served, robot: str) -> None:
    """From the file, of an account, and of a joining node."""
    assert served.who(token="ann-token") == ("ann", ["devs", "ops", KNOWN])
    groups = ["system:serviceaccounts", "system:serviceaccounts:team", KNOWN]
    assert served.who(token=robot) == ("system:serviceaccount:team:robot", groups)
    token = bootstrap(served, "aaaaaa", groups="system:bootstrappers:workers")
    groups = ["system:bootstrappers", "system:bootstrappers:workers", KNOWN]
    assert served.who(token=token) == ("system:bootstrap:aaaaaa", groups)


def test_a_front_proxy(served: Served) -> None:
    """A proxy with a certificate of its own authority says for whom it speaks."""
    proxy = certificate(served.folder, served.proxies, "/CN=front")
    says = {"X-Remote-User": "ann", "X-Remote-Group": "devs", "X-Remote-Extra-Acme.com%2Fteam": "blue"}
    assert served.who(proof=proxy, headers=says) == ("ann", ["devs", KNOWN])


def test_nobody(served: Served) -> None:
    """Without any credential a request is anonymous, and may look at health and version alone."""
    assert served.ask("GET", "/version")[0] == 200
    assert served.ask("GET", SECRETS)[0] == 403
    assert served.who() == 403


@pytest.mark.parametrize("kind", ["certificate", "token", "token-file", "impersonation"])
def test_kubectl(served: Served, robot: str, kind: str) -> None:
    """kubectl knows who it is by each kind of credential."""
    base = ["kubectl", "--server", served.url, "--certificate-authority", str(served.folder / "made" / "ca.crt")]
    base += ["--kubeconfig", "/dev/null"]
    made = certificate(served.folder, served.clients, "/O=devs/CN=kate")
    path = served.folder / "token"
    path.write_text(robot)
    given = {
        "certificate": ([*base, f"--client-certificate={made.certificate}", f"--client-key={made.key}"], "kate"),
        "token": ([*base, "--token", "ann-token"], "ann"),
        "impersonation": ([*base, "--token", "root-token", "--as", "ann", "--as-group", "devs"], "ann"),
        "token-file": (["kubectl", "--kubeconfig", token_file(served, path)], "system:serviceaccount:team:robot"),
    }
    command, user = given[kind]
    done = subprocess.run([*command, "auth", "whoami", "-o", "json"], capture_output=True, check=True, timeout=60)
    assert orjson.loads(done.stdout)["status"]["userInfo"]["username"] == user


def token_file(served: Served, path: Path) -> str:
    """A client configuration whose token stands in a file."""
    cluster = {"server": served.url, "certificate-authority": str(served.folder / "made" / "ca.crt")}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"tokenFile": str(path)}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    written = served.folder / "by-file"
    written.write_bytes(orjson.dumps(config))
    return str(written)


def test_the_address_of_the_keys(served: Served) -> None:
    """It is that of the server, whatever a client calls it."""
    path = "/.well-known/openid-configuration"
    _, answer = served.ask("GET", path, token="root-token", headers={"Host": "evil.example"})
    assert answer["jwks_uri"] == f"{served.url}/openid/v1/jwks"


def test_whom_other_servers_may_believe(served: Served) -> None:
    """The config map for them holds the authorities of clients and proxies, and the names of headers."""
    data = served.root("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")["data"]
    assert served.clients.certificate.read_text() in data["client-ca-file"]
    assert data["requestheader-client-ca-file"] == served.proxies.certificate.read_text()
    assert {name: data[f"requestheader-{name}"] for name in ("allowed-names", "username-headers")} == {
        "allowed-names": '["front"]',
        "username-headers": '["X-Remote-User"]',
    }


# Certificates


def test_an_expired_certificate(served: Served) -> None:
    """A certificate that has ended is 401, and not the end of the handshake."""
    assert served.who(proof=certificate(served.folder, served.clients, "/O=system:masters/CN=old", days=-1)) == 401


def test_an_unknown_authority(served: Served) -> None:
    """A certificate of nobody's authority is 401, also on paths that are open to all."""
    strangers = authority(served.folder, "strangers")
    forged = certificate(served.folder, strangers, "/O=system:masters/CN=root")
    assert served.who(proof=forged) == 401
    assert served.ask("GET", "/version", proof=forged)[0] == 401


def test_an_authority_of_the_same_name(served: Served, tmp_path: Path) -> None:
    """A name is no proof: another authority that calls itself alike is unknown."""
    impostor = authority(tmp_path, "clients")
    assert served.who(proof=certificate(tmp_path, impostor, "/O=system:masters/CN=root")) == 401


def test_a_certificate_of_the_proxies(served: Served) -> None:
    """The proxies' authority vouches for no users, whatever its certificates say, with headers and without."""
    admin = certificate(served.folder, served.proxies, "/O=system:masters/CN=root")
    assert served.who(proof=admin) == 401
    assert served.who(proof=admin, headers={"X-Remote-User": "root", "X-Remote-Group": "system:masters"}) == 401


def test_a_client_is_no_proxy(served: Served) -> None:
    """A user with the name of a proxy stays a user."""
    eve = certificate(served.folder, served.clients, "/CN=front")
    says = {"X-Remote-User": "root", "X-Remote-Group": "system:masters"}
    assert served.who(proof=eve, headers=says) == ("front", [KNOWN])


def test_headers_without_a_certificate(served: Served) -> None:
    """Anybody can send a proxy's headers, and is still nobody, or whom the token names."""
    says = {"X-Remote-User": "root", "X-Remote-Group": "system:masters"}
    assert served.who(headers=says) == 403
    assert served.who(token="ann-token", headers=says) == ("ann", ["devs", "ops", KNOWN])


@pytest.mark.slow
def test_a_certificate_for_servers(served: Served) -> None:
    """A certificate that was made for servers proves nothing about a client: also that of this server."""
    assert served.who(proof=certificate(served.folder, served.clients, "/CN=root", use="server")) == 401
    own = served.folder / "made"
    assert served.who(proof=Made(own / "apiserver.crt", own / "apiserver.key")) == 401


def test_a_client_that_signs(served: Served) -> None:
    """A client's certificate signs no others, even if the chain is sent along."""
    eve = certificate(served.folder, served.clients, "/CN=eve")
    forged = certificate(served.folder, eve, "/O=system:masters/CN=root")
    chain = served.folder / "chain.crt"
    chain.write_text(forged.certificate.read_text() + eve.certificate.read_text())
    assert served.who(proof=Made(chain, forged.key)) == 401


def test_a_good_token_beside_a_bad_certificate(served: Served) -> None:
    """One good credential is enough, as on kube-apiserver."""
    old = certificate(served.folder, served.clients, "/CN=old2", days=-1)
    assert served.who(proof=old, token="ann-token") == ("ann", ["devs", "ops", KNOWN])


# Tokens


def test_unsigned(served: Served, robot: str) -> None:
    """A token that says it needs no signature has none that counts."""
    claims = claims_of(robot)
    for algorithm in ("none", "None", "NONE", ""):
        head = base64.urlsafe_b64encode(orjson.dumps({"alg": algorithm})).rstrip(b"=")
        body = base64.urlsafe_b64encode(orjson.dumps(claims)).rstrip(b"=")
        assert served.who(token=f"{head.decode()}.{body.decode()}.") == 401


def test_key_confusion(served: Served, robot: str) -> None:
    """The published key is no shared secret, in none of its forms."""
    [entry] = served.root("GET", "/openid/v1/jwks")["keys"]
    public = jwt.PyJWK(entry).key
    forms = [
        public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo),
        orjson.dumps(entry),
    ]
    for secret in forms:
        head = base64.urlsafe_b64encode(orjson.dumps({"alg": "HS256", "kid": entry["kid"]})).rstrip(b"=").decode()
        signed = f"{head}.{robot.split('.')[1]}"
        mark = base64.urlsafe_b64encode(hmac.digest(secret, signed.encode(), hashlib.sha256)).rstrip(b"=").decode()
        assert served.who(token=f"{signed}.{mark}") == 401


def test_wrongly_signed(served: Served, robot: str) -> None:
    """Another key signs nothing, under our key's identifier or with its own key along."""
    kid = jwt.get_unverified_header(robot)["kid"]
    own = rsa.generate_private_key(65537, 2048)
    inside = jwt.algorithms.RSAAlgorithm.to_jwk(own.public_key(), as_dict=True)
    claims = claims_of(robot)
    for head in ({"kid": kid}, {"kid": kid, "jwk": inside}, {"jku": f"{served.url}/x"}, {}):
        assert served.who(token=jwt.encode(claims, own, "RS256", headers=head)) == 401
    curve = ec.generate_private_key(ec.SECP256R1())
    assert served.who(token=jwt.encode(claims, curve, "ES256", headers={"kid": kid})) == 401
    first, body, mark = robot.split(".")
    assert served.who(token=f"{first}.{body}.{mark[:-4]}AAAA") == 401


def test_wrong_audience(served: Served) -> None:
    """A token for another service does not open this one."""
    assert served.who(token=served.token("team", "robot", audiences=["vault"])) == 401


def test_expired(served: Served) -> None:
    """A token whose end has come is 401: signed by the server's own key, with a time of our choice."""
    key = serialization.load_pem_private_key((served.folder / "made" / "sa.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    good = served.token("team", "robot")
    kid, claims, now = jwt.get_unverified_header(good)["kid"], claims_of(good), int(datetime.now(UTC).timestamp())
    assert served.who(token=jwt.encode(claims, key, "ES256", headers={"kid": kid})) != 401
    for change in ({"exp": now - 120}, {"nbf": now + 3600}, {"exp": None}, {"exp": "never"}):
        changed = {name: value for name, value in {**claims, **change}.items() if value is not None}
        part = ".".join(
            base64.urlsafe_b64encode(orjson.dumps(each)).rstrip(b"=").decode()
            for each in ({"alg": "ES256", "kid": kid}, changed)
        )
        mark = jwt.algorithms.ECAlgorithm(jwt.algorithms.ECAlgorithm.SHA256).sign(part.encode(), key)
        assert served.who(token=f"{part}.{base64.urlsafe_b64encode(mark).rstrip(b'=').decode()}") == 401


def test_oversized(served: Served, robot: str) -> None:
    """A token that is too long is refused: as a bad one, or by the size of the headers."""
    assert served.who(token=robot + "A" * 100_000) == 401
    assert served.who(token="A" * 900_000) == 401
    assert served.who(token="A" * 1_200_000) == 431


def test_replayed_after_the_account_is_gone(served: Served) -> None:
    """A token dies with its account, and does not wake up with another one of the same name."""
    served.account("team", "short")
    token = served.token("team", "short")
    assert served.who(token=token) != 401
    served.root("DELETE", "/api/v1/namespaces/team/serviceaccounts/short")
    assert served.who(token=token) == 401
    served.account("team", "short")
    assert served.who(token=token) == 401


@pytest.mark.parametrize("kind", ["Pod", "Secret"])
def test_replayed_after_what_it_is_bound_to(served: Served, kind: str) -> None:
    """A token that is bound to a pod or a secret dies with it."""
    name, plural = f"bound-{kind.lower()}", f"{kind.lower()}s"
    spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
    body = {"metadata": {"name": name}, **({"spec": spec} if kind == "Pod" else {})}
    served.root("POST", f"/api/v1/namespaces/team/{plural}", body)
    token = served.token("team", "robot", boundObjectRef={"kind": kind, "apiVersion": "v1", "name": name})
    assert served.who(token=token) != 401
    served.root("DELETE", f"/api/v1/namespaces/team/{plural}/{name}?gracePeriodSeconds=0")
    assert served.who(token=token) == 401


def test_replayed_after_the_secret_is_gone(served: Served) -> None:
    """A token without an end lives in its secret."""
    annotation = {"kubernetes.io/service-account.name": "robot"}
    body = {"metadata": {"name": "old", "annotations": annotation}, "type": "kubernetes.io/service-account-token"}
    served.root("POST", "/api/v1/namespaces/team/secrets", body)
    data: dict[str, Any] = {}
    while "token" not in data:  # the controller fills it
        data = served.root("GET", "/api/v1/namespaces/team/secrets/old").get("data") or {}
    token = base64.b64decode(data["token"]).decode()
    assert served.who(token=token) != 401
    served.root("DELETE", "/api/v1/namespaces/team/secrets/old")
    assert served.who(token=token) == 401


def bootstrap(served: Served, name: str, *, groups: str = "", usage: str = "true", minutes: int = 60) -> str:
    """A bootstrap token."""
    end = (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    data = {
        "token-id": name,
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": usage,
        "expiration": end,
        **({"auth-extra-groups": groups} if groups else {}),
    }
    secret = {"metadata": {"name": f"bootstrap-token-{name}"}, "type": "bootstrap.kubernetes.io/token"}
    served.root("POST", SECRETS, {**secret, "stringData": data})
    return f"{name}.0123456789abcdef"


def test_bootstrap_tokens_that_are_no_good(served: Served) -> None:
    """Expired, not for logging in, with a group that it may not give, with a wrong secret, revoked."""
    assert served.who(token=bootstrap(served, "bbbbbb", minutes=-1)) == 401
    assert served.who(token=bootstrap(served, "cccccc", usage="false")) == 401
    assert served.who(token=bootstrap(served, "dddddd", groups="system:masters")) == 401
    good = bootstrap(served, "eeeeee")
    assert served.who(token=good) == ("system:bootstrap:eeeeee", ["system:bootstrappers", KNOWN])
    assert served.who(token="eeeeee.0123456789abcdee") == 401
    served.root("DELETE", f"{SECRETS}/bootstrap-token-eeeeee")
    assert served.who(token=good) == 401


# What was never told


def test_no_credential_was_written_anywhere(served: Served, robot: str) -> None:
    """After all of this neither the audit log at its highest level, nor the log, nor the metrics hold a credential."""
    secret = "c2VjcmV0LXZhbHVl"
    body = {"metadata": {"name": "hidden"}, "data": {"k": secret}}
    served.root("POST", "/api/v1/namespaces/team/secrets", body)
    served.ask("GET", "/api/v1/secrets", token="root-token")
    served.ask("GET", f"/version?access_token={'x' * 9}", token="wrong-token-value")
    told = served.log.read_text()
    audit = (served.folder / "audit.log").read_text()
    metrics = str(served.ask("GET", "/metrics", token="root-token")[1])
    assert served.url
    assert '"hidden"' in audit
    for text in (told, audit, metrics):
        for credential in (robot, robot.split(".")[2], "ann-token", "root-token", "wrong-token-value", secret):
            assert credential not in text
        assert "0123456789abcdef" not in text
        assert base64.b64encode(b"0123456789abcdef").decode() not in text
    assert "Traceback" not in told


@pytest.mark.slow
def test_keys_of_accounts(tmp_path: Path) -> None:
    """Tokens of every key file are good; without any the TLS key's are; those that the server makes itself always."""
    others = rsa.generate_private_key(65537, 2048)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "others.pem").write_bytes(others.private_bytes(*form))
    own = authority(tmp_path, "own")
    given = certificate(tmp_path, own, "/CN=localhost", use="server")
    files = ["--tls-cert-file", str(given.certificate), "--tls-private-key-file", str(given.key)]
    tls_key = serialization.load_pem_private_key(given.key.read_bytes(), None)
    for flags, good, bad in (
        ([*files, "--service-account-key-file", str(tmp_path / "others.pem")], others, tls_key),
        (files, tls_key, others),
    ):
        folder = tmp_path / str(len(flags))
        folder.mkdir()
        with serving(folder, *flags) as served:
            trusting = served.folder / "made" / "ca.crt"
            trusting.write_bytes(own.certificate.read_bytes())
            served.account("team", "robot")
            token = served.token("team", "robot")
            assert served.who(token=token) != 401
            for key, status in ((good, False), (bad, True)):
                assert isinstance(key, rsa.RSAPrivateKey)
                assert (served.who(token=jwt.encode(claims_of(token), key, "RS256")) == 401) is status

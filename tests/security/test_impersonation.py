"""Acting as somebody else, only as far as the caller may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from simkit.cluster.cluster import Cluster
from simkit.meta.identity import Identity
from simkit.meta.message import Request

GROUP = "rbac.authorization.k8s.io"
HELPDESK = Identity("helpdesk", ("system:authenticated",))
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """Helpdesk may act as ann, as members of devs, and with the scope ``view``."""
    made = Cluster(seed=1)
    rules: list[dict[str, Any]] = [
        {"apiGroups": [""], "resources": ["users"], "resourceNames": ["ann"], "verbs": ["impersonate"]},
        {"apiGroups": [""], "resources": ["groups"], "resourceNames": ["devs"], "verbs": ["impersonate"]},
        {
            "apiGroups": ["authentication.k8s.io"],
            "resources": ["userextras/scopes"],
            "resourceNames": ["view"],
            "verbs": ["impersonate"],
        },
    ]
    made.create({"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": "helpdesk"}, "rules": rules})
    for name, role, subject in (("helpdesk", "helpdesk", "helpdesk"), ("ann", "cluster-admin", "ann")):
        made.create(
            {
                "apiVersion": f"{GROUP}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name},
                "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "User", "name": subject, "apiGroup": GROUP}],
            }
        )
    return made


def act(cluster: Cluster, headers: Mapping[str, str | tuple[str, ...]], who: Identity = HELPDESK) -> Any:
    request = Request.of("POST", WHO, {})
    sent = {name.lower(): (value,) if isinstance(value, str) else value for name, value in headers.items()}
    request = Request("POST", WHO, {}, {**request.headers, **sent}, request.body)
    response = cluster.perform(request, identity=who)
    return response.object["status"]["userInfo"] if response.status == 201 else response.status


def test_one_key_written_in_two_ways(cluster: Cluster) -> None:
    """Values of one key of extra are all asked for and all taken, however the key is written."""
    taken = {"Impersonate-User": "ann", "Impersonate-Extra-scopes": "view", "Impersonate-Extra-%73copes": "view"}
    assert act(cluster, taken)["extra"] == {"scopes": ["view", "view"]}
    assert act(cluster, {**taken, "Impersonate-Extra-%73copes": "edit"}) == 403


def test_names_that_no_account_has(cluster: Cluster) -> None:
    """Whoever may act as the accounts of a namespace may not act as users who are only called like one."""
    ask = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    for name, resource in (("prod:robot", "serviceaccounts"), ("Prod:robot", "users"), ("prod:a:b", "users")):
        user = f"system:serviceaccount:{name}"
        response = cluster.perform(Request.of("POST", ask, {}, headers={"Impersonate-User": user}), identity=HELPDESK)
        assert response.object["message"].startswith(f"{resource} ")


def test_allowed_impersonations(cluster: Cluster) -> None:
    """User, group and extra that the caller may take; the caller's own groups and extra are gone."""
    assert act(cluster, {"Impersonate-User": "ann"}) == {"username": "ann", "groups": ["system:authenticated"]}
    taken = {"Impersonate-User": "ann", "Impersonate-Group": "devs", "Impersonate-Extra-scopes": "view"}
    assert act(cluster, taken) == {
        "username": "ann",
        "groups": ["devs", "system:authenticated"],
        "extra": {"scopes": ["view"]},
    }


@pytest.mark.parametrize(
    "headers",
    [
        {"Impersonate-User": "bob"},
        {"Impersonate-User": "ANN"},
        {"Impersonate-User": "ann", "Impersonate-Group": "system:masters"},
        {"Impersonate-User": "ann", "Impersonate-Group": ("devs", "system:masters")},
        {"Impersonate-User": "ann", "Impersonate-Uid": "7"},
        {"Impersonate-User": "ann", "Impersonate-Extra-Scopes": ("view", "edit")},
        {"Impersonate-User": "ann", "Impersonate-Extra-Other": "view"},
        {"Impersonate-User": "ann", "Impersonate-Extra-scopes%2fx": "view"},
        {"Impersonate-User": "system:serviceaccount:kube-system:admin"},
        {"Impersonate-User": "system:anonymous"},
    ],
)
def test_refused_impersonations(cluster: Cluster, headers: Mapping[str, str | tuple[str, ...]]) -> None:
    """Everything that is taken must be allowed, each on its own."""
    assert act(cluster, headers) == 403


def test_rights_of_the_taken_do_not_help_to_take_more(cluster: Cluster) -> None:
    """Though ann may do everything, whoever acts as ann takes no more than helpdesk may."""
    assert act(cluster, {"Impersonate-User": "ann", "Impersonate-Group": "system:masters"}) == 403
    request = Request.of("GET", "/api/v1/secrets", headers={"impersonate-user": "ann"})
    assert cluster.perform(request, identity=HELPDESK).status == 200


def test_service_accounts_need_a_right_of_their_own(cluster: Cluster) -> None:
    """To act as any user does not include service accounts, which are asked about in their namespace."""
    everybody = [{"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}]
    trial = cluster.fork()
    role = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": "helpdesk"}}
    trial.apply({**role, "rules": everybody})
    assert act(trial, {"Impersonate-User": "bob"})["username"] == "bob"
    assert act(trial, {"Impersonate-User": "system:serviceaccount:kube-system:admin"}) == 403


def test_repeated_user(cluster: Cluster) -> None:
    """Only the first user header counts, for the question and for the answer."""
    assert act(cluster, {"Impersonate-User": ("ann", "root")})["username"] == "ann"
    assert act(cluster, {"Impersonate-User": ("root", "ann")}) == 403


def test_incomplete(cluster: Cluster) -> None:
    """Groups without a user are refused, even for those who may do everything."""
    root = Identity("root", ("system:masters",))
    assert act(cluster, {"Impersonate-Group": "devs"}, root) == 500
    assert act(cluster, {"Impersonate-User": ""}, root)["username"] == "root"


@pytest.mark.parametrize(
    ("header", "key"), [("a%2Fb", "a/b"), ("A.B", "a.b"), ("100%", "100%"), ("%zz%2f", "%zz%2f"), ("", "")]
)
def test_keys_of_extra(cluster: Cluster, header: str, key: str) -> None:
    """The key is in percent form; one that is not throughout is taken as it stands, for the question as for the answer."""
    root = Identity("root", ("system:masters",))
    taken = act(cluster, {"Impersonate-User": "ann", f"Impersonate-Extra-{header}": "v"}, root)
    assert taken["extra"] == {key: ["v"]}

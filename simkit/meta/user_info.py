"""User information: an identity as reviews, audit events, admission and CEL expressions show it.

References
----------
``k8s.io/api/authentication/v1`` (``UserInfo``), release 1.30.
"""

from __future__ import annotations

from typing import Any

from simkit.meta.identity import Identity


def user_fields(identity: Identity) -> dict[str, Any]:
    """All fields of an identity as a ``UserInfo``, including empty ones.

    Examples
    --------
    >>> user_fields(Identity("ann", ("dev",)))
    {'username': 'ann', 'uid': '', 'groups': ['dev'], 'extra': {}}
    """
    extra = {name: list(values) for name, values in identity.extra.items()}
    return {"username": identity.user, "uid": identity.uid, "groups": list(identity.groups), "extra": extra}


def user_info(identity: Identity) -> dict[str, Any]:
    """An identity as a ``UserInfo``, without its empty fields.

    Examples
    --------
    >>> user_info(Identity("ann", ("dev",)))
    {'username': 'ann', 'groups': ['dev']}
    """
    return {name: value for name, value in user_fields(identity).items() if value}

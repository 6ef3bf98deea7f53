"""User information in reviews and audit events.

References
----------
``k8s.io/api/authentication/v1`` (``UserInfo``), release 1.30.
"""

from __future__ import annotations

from typing import Any

from simkit.meta.identity import Identity


def user_info(identity: Identity) -> dict[str, Any]:
    """An identity as a ``UserInfo``, without its empty fields.

    Examples
    --------
    >>> user_info(Identity("ann", ("dev",)))
    {'username': 'ann', 'groups': ['dev']}
    """
    info: dict[str, Any] = {"username": identity.user, "uid": identity.uid, "groups": list(identity.groups)}
    info["extra"] = {name: list(values) for name, values in identity.extra.items()}
    return {name: value for name, value in info.items() if value}

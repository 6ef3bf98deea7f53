"""The runtime configuration of a fork without some APIs, as after their removal."""

from __future__ import annotations

from collections.abc import Sequence

from simkit.meta.errors import SimkitError
from simkit.schema.catalogue import Catalogue
from simkit.schema.runtimeconfig import parse


def runtime_config_disabling(catalogue: Catalogue, elements: Sequence[str]) -> dict[str, bool]:
    """The settings of ``--runtime-config`` that disable versions, groups or resources.

    Parameters
    ----------
    elements
        A version (``policy/v1beta1``), a group (``policy``), or a resource of a version
        (``storage.k8s.io/v1beta1/csistoragecapacities``).

    Raises
    ------
    SimkitError
        For what the server does not serve to begin with.
    """
    settings: dict[str, bool] = {}
    for element in elements:
        group = catalogue.group(element)
        if group is not None and element:
            settings |= {f"{element}/{version}": False for version in group.versions}
        else:
            settings |= dict.fromkeys(parse(element), False)
    _check(catalogue, settings)
    return settings


def _check(catalogue: Catalogue, settings: dict[str, bool]) -> None:
    versions = {each.api_version for each in catalogue.resources()}
    resources = {f"{each.api_version}/{each.resource}" for each in catalogue.resources()}
    for key in settings:
        if key not in versions | resources:
            served = ", ".join(sorted(version for version in versions if version.startswith(key.partition("/")[0])))
            hint = f"; of that group: {served}" if served else ""
            raise SimkitError(f"release {catalogue.release} does not serve {key!r}{hint}")

"""The document of ``/version``."""

from __future__ import annotations

from collections.abc import Mapping

from simkit.meta.behaviour import applies, serving
from simkit.schema.behaviour import default_behaviour
from simkit.schema.releases import git_version


def of_release(name: str) -> Mapping[str, str]:
    """The version information of a release, such as ``1.30``; commit and build date are empty.

    Examples
    --------
    >>> of_release("1.30")["gitVersion"]
    'v1.30.14'
    """
    major, minor = name.split(".")[:2]
    with serving(default_behaviour(name)):
        emulates = applies("emulated-versions")
    emulated = {
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
    }
    return {
        "major": major,
        "minor": minor,
        **(emulated if emulates else {}),
        "gitVersion": git_version(name),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "",
        "goVersion": "",
        "compiler": "cpython",
        "platform": "linux/amd64",
    }

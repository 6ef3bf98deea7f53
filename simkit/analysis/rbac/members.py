"""The members of groups, which Kubernetes does not store, read from files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simkit.analysis.rbac.subject import parse_subject
from simkit.language.yaml.small_files import value_of_file
from simkit.meta.errors import SimkitError


def members_of_files(paths: str | Path | Iterable[str | Path]) -> Mapping[str, tuple[str, ...]]:
    """The members of groups in tables, as all questions take them in ``members=``.

    Parameters
    ----------
    paths
        YAML or JSON files, each a mapping from the name of a group to a list of subjects. Later ones add to earlier
        ones.

    Returns
    -------
    Mapping
        Group name to subjects, each once.

    Raises
    ------
    SimkitError
        For a file that cannot be read or is no such table; it names the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
    ...     _ = file.write("devs: [ann, sa:ci/runner]")
    ...     file.flush()
    ...     members_of_files(file.name)
    {'devs': ('ann', 'sa:ci/runner')}
    """
    found: dict[str, dict[str, None]] = {}
    for path in [paths] if isinstance(paths, str | Path) else paths:
        for group, subjects in _table(Path(path), value_of_file(Path(path))).items():
            found.setdefault(str(group), {}).update(dict.fromkeys(_checked(Path(path), one) for one in subjects))
    return {group: tuple(subjects) for group, subjects in found.items()}


def _table(path: Path, value: Any) -> Mapping[Any, list[Any]]:
    if not isinstance(value, dict) or not all(isinstance(each, list) for each in value.values()):
        raise SimkitError(f"{path}: write a list of subjects for each group, as in devs: [user:ann, sa:ci/runner]")
    return value


def _checked(path: Path, subject: Any) -> str:
    try:
        parse_subject(str(subject))
    except SimkitError as wrong:
        raise SimkitError(f"{path}: {wrong}") from None
    return str(subject)

"""Files of stages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from simkit.meta import datasets
from simkit.meta.domain import API_DOMAIN
from simkit.meta.errors import SimkitError
from simkit.simulation.stages.query import Query
from simkit.simulation.stages.stage import Stage, StageSpec, compiled_expression
from simkit.simulation.stages.template.evaluation import parsed

GROUP: Final = f"kwok.x-{API_DOMAIN}"
API_VERSION: Final = f"{GROUP}/v1alpha1"
BUNDLED: Final = ("pod-fast", "pod-general", "node-fast", "node-heartbeat")
"""The names of the stages that are part of simkit."""
_MOST_BYTES: Final = 4 * 1024 * 1024


def read_stages(source: str | Path) -> list[Stage]:
    """The stages of a file or folder, or of simkit itself by name.

    Parameters
    ----------
    source
        A path, or one of the names in ``BUNDLED``. Documents of other kinds in a file are left out.

    Raises
    ------
    SimkitError
        For what cannot be read, or is not a stage.

    Examples
    --------
    >>> [each.name for each in read_stages("pod-fast")]
    ['pod-ready', 'pod-complete', 'pod-delete']
    """
    path = datasets.path(f"stages/{source}.yaml") if str(source) in BUNDLED else Path(source)
    if not path.exists():
        raise SimkitError(f"{source} is neither a file nor one of {', '.join(BUNDLED)}")
    files = sorted(each for each in path.rglob("*.y*ml")) if path.is_dir() else [path]
    found = [stage for each in files for stage in _stages_in(each)]
    if not found:
        raise SimkitError(f"{source} has no stages ({API_VERSION})")
    return found


def _stages_in(path: Path) -> list[Stage]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SimkitError(f"{path} is longer than {_MOST_BYTES:,} bytes")
        documents = list(yaml.load_all(path.read_text(encoding="utf-8"), Loader=_loader()))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SimkitError(f"{path} cannot be read: {error}") from error
    return [stage_of(each, str(path)) for each in documents if isinstance(each, dict) and each.get("kind") == "Stage"]


@cache
def _loader() -> Any:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def stage_of(document: Mapping[str, Any], where: str = "the stage") -> Stage:
    """The stage that a document says. Raises SimkitError for one that is wrong."""
    name = str((document.get("metadata") or {}).get("name", ""))
    if document.get("apiVersion") != API_VERSION:
        raise SimkitError(f"{where}: stage {name!r} has the version {document.get('apiVersion')}, not {API_VERSION}")
    try:
        made = Stage(name=name, spec=StageSpec.model_validate(document.get("spec") or {}))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise SimkitError(f"{where}: stage {name!r}: spec.{place}: {first['msg']}") from error
    try:
        _check(made)
    except SimkitError as error:
        raise SimkitError(f"{where}: stage {name!r}: {error}") from error
    return made


def _check(stage: Stage) -> None:
    """Raise SimkitError for an expression or template that cannot be compiled."""
    spec = stage.spec
    for requirement in spec.selector.match_expressions if spec.selector is not None else ():
        requirement.check()
    for expression in (spec.weight_from, spec.delay.duration_from, spec.delay.jitter_from):
        if expression is not None and expression.cel is not None:
            compiled_expression(expression.cel.expression)
        elif expression is not None:
            Query(expression.jq.expression if expression.jq is not None else expression.expression_from)
    for step in stage.steps:
        for part in (step.patch, step.apply):
            if part is not None:
                parsed(part.template.strip())

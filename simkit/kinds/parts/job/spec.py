"""Validation of the spec of jobs and of job templates.

Follows ``pkg/apis/batch/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.job.pod_failure_policy import validate_failure_policy
from simkit.kinds.parts.job.success_policy import validate_success_policy
from simkit.kinds.parts.pod.template import validate_template
from simkit.kinds.parts.validation.fields import validate_domain_path, validate_nonnegative
from simkit.kinds.parts.workload.template_owner import validate_nonnegative_fields
from simkit.meta.fielderror import FieldError, invalid_value, required, too_long_text, unsupported
from simkit.meta.objects import Object, at

_COUNTS: Final = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
MODES: Final = ("NonIndexed", "Indexed")
_MANY: Final = 100_000
_MOST_FAILED: Final = 10_000
_LONGEST_MANAGER: Final = 63
_ENDING: Final = ("OnFailure", "Never")


def validate_job_spec(path: str, spec: Object) -> Iterator[FieldError]:
    """All errors of the spec of a job, its selector left out."""
    yield from validate_nonnegative_fields(path, spec, (*_COUNTS, "backoffLimitPerIndex"))
    failed = spec.get("maxFailedIndexes")
    yield from validate_nonnegative(f"{path}.maxFailedIndexes", failed)
    if failed is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if spec.get("managedBy") is not None:
        yield from _validate_manager(f"{path}.managedBy", spec["managedBy"])
    yield from _validate_mode(path, spec)
    if spec.get("podFailurePolicy") is not None:
        yield from validate_failure_policy(f"{path}.podFailurePolicy", spec)
    if spec.get("successPolicy") is not None:
        yield from validate_success_policy(f"{path}.successPolicy", spec)
    yield from _validate_replacement(f"{path}.podReplacementPolicy", spec)
    yield from validate_template(f"{path}.template", spec.get("template") or {})
    yield from _validate_restart(f"{path}.template.spec.restartPolicy", spec)


def _validate_manager(path: str, name: str) -> Iterator[FieldError]:
    yield from validate_domain_path(path, name)
    if len(name.encode()) > _LONGEST_MANAGER:
        yield too_long_text(path, _LONGEST_MANAGER)


def _validate_mode(path: str, spec: Object) -> Iterator[FieldError]:
    mode = spec.get("completionMode")
    if mode not in (None, *MODES):
        yield unsupported(f"{path}.completionMode", mode, MODES)
    if mode == "Indexed":
        yield from _validate_indexed(path, spec)
    if mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield invalid_value(f"{path}.{name}", spec[name], "requires indexed completion mode")


def _validate_indexed(path: str, spec: Object) -> Iterator[FieldError]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    if completions is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism is not None and parallelism > _MANY:
        text = f"must be less than or equal to {_MANY} when completion mode is Indexed"
        yield invalid_value(f"{path}.parallelism", parallelism, text)
    failed, per_index = spec.get("maxFailedIndexes"), spec.get("backoffLimitPerIndex")
    if completions is not None and failed is not None and failed > completions:
        text = "must be less than or equal to completions"
        yield invalid_value(f"{path}.maxFailedIndexes", failed, text)
    if failed is not None and failed > _MANY:
        yield invalid_value(f"{path}.maxFailedIndexes", failed, f"must be less than or equal to {_MANY}")
    if completions is not None and completions > _MANY and per_index is not None:
        yield from _validate_large(path, spec)


def _validate_large(path: str, spec: Object) -> Iterator[FieldError]:
    failed, parallelism = spec.get("maxFailedIndexes"), spec.get("parallelism")
    when = f"when completions are above {_MANY} and used with backoff limit per index"
    if failed is None:
        yield required(f"{path}.maxFailedIndexes", f"must be specified when completions is above {_MANY}")
    for name, value in (("parallelism", parallelism), ("maxFailedIndexes", failed)):
        if value is not None and value > _MOST_FAILED:
            yield invalid_value(f"{path}.{name}", value, f"must be less than or equal to {_MOST_FAILED} {when}")


def _validate_replacement(path: str, spec: Object) -> Iterator[FieldError]:
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return
    allowed = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    if policy not in allowed:
        yield unsupported(path, policy, allowed)


def _validate_restart(path: str, spec: Object) -> Iterator[FieldError]:
    policy = at(spec, "template", "spec", "restartPolicy") or ""
    if policy in ("", "Always"):
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in _ENDING:
        yield unsupported(path, policy, _ENDING)
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield invalid_value(path, policy, 'only "Never" is supported when podFailurePolicy is specified')

"""Templates of Go: ``-o go-template=...`` and ``--template=...``.

Upstream: k8s.io/cli-runtime/pkg/printers/template.go, release 1.32.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from simkit.meta.objects import at
from simkit.notebook.kubectl.client import KubectlError
from simkit.simulation.stages.template.evaluation import render
from simkit.simulation.stages.template.functions import BUILT_IN
from simkit.simulation.stages.template.syntax import TemplateError


def go_template_text(template: str, value: Any) -> str:
    """The text that a template of Go makes of a value. Raises KubectlError for one that cannot be read or executed.

    The functions are those of Go, ``exists`` and ``base64decode``.

    Examples
    --------
    >>> go_template_text("{{range .items}}{{.name}} {{end}}", {"items": [{"name": "a"}, {"name": "b"}]})
    'a b '
    """
    try:
        return render(template, value, _FUNCTIONS)
    except TemplateError as error:
        data = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        raise KubectlError(
            f"Error executing template: {error}. Printing more information for debugging the template:\n"
            f"\ttemplate was:\n\t\t{template}\n\traw data was:\n\t\t{data}"
        ) from None


def _exists(value: Any, *path: Any) -> bool:
    return at(value, *path) is not None


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError) as error:
        raise TemplateError(f"base64 decode failed: {error}") from None


_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {**BUILT_IN, "exists": _exists, "base64decode": _decoded}

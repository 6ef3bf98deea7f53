"""Descriptions of types, fields and operations, read from the Python package ``kubernetes`` if it is installed.

The tables of this project hold facts, no texts. The package carries the texts of the API's documentation with its
models. Their files are read, not imported, when a description is first asked for, and what was read is kept. Where the
package is not installed, the descriptions of kinds say how to install it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import util
from pathlib import Path
from typing import Any, Final, NamedTuple

from simkit.meta.distribution import install_hint

_PACKAGE: Final = "kubernetes"
HOW_TO_INSTALL: Final = (
    "Descriptions are read from the Python package kubernetes, which is not installed here. "
    f"Install it with: {install_hint('descriptions')}"
)
_MAP: Final = re.compile(r"^    attribute_map\b.*?= \{(.*?)^    \}", re.MULTILINE | re.DOTALL)
_PAIR: Final = re.compile(r"""['"](\w+)['"]: ['"]([^'"]+)['"]""")
_STRING: Final = r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_FIELD: Final = re.compile(rf"^    (\w+): .*?\bdescription={_STRING}", re.MULTILINE)
"""A field of a model, from release 37 of the package on."""
_GETTER: Final = re.compile(r'"""Gets the (\w+) of this .*?\n\n(.*?)\n\s+:return:', re.DOTALL)
"""The documentation of a property, in releases up to 36."""
_CLASS: Final = re.compile(r'^class \w+\(.*?\):\n    """(.*?)(?:Attributes:|""")', re.MULTILINE | re.DOTALL)
_PARAGRAPHS: Final = re.compile(r"(?<=[.:)])  (?=\S)")


class Texts(NamedTuple):
    """The description of a type, and those of its fields by their JSON names."""

    type: str
    fields: Mapping[str, str]


NONE: Final = Texts("", {})


@cache
def source() -> str:
    """The release of the package with the descriptions; empty if it is not installed."""
    if not _models():
        return ""
    from importlib.metadata import version  # with the package email and more, a megabyte

    return version(_PACKAGE)


@cache
def texts(definition: str) -> Texts:
    """The descriptions of a definition, such as ``io.k8s.api.apps.v1.DeploymentSpec``; empty if unknown.

    A version that the package does not have is described as the type of the same name in one that it has.
    """
    models = _models()
    for name in _names(definition):
        if name in models:
            return _read(models[name].read_text(encoding="utf-8"))
    return NONE


def text(definition: str, field: str) -> str:
    """The description of one field; empty if unknown."""
    return texts(definition).fields.get(field, "")


@cache
def _folder() -> Path | None:
    """The folder of the package; None if it is not installed."""
    found = util.find_spec(_PACKAGE)
    places = (found.submodule_search_locations if found is not None else None) or ()
    return next(map(Path, places), None)


def package_file(path: str) -> Path | None:
    """A file of the package; None if there is none."""
    folder = _folder()
    file = folder / path if folder is not None else None
    return file if file is not None and file.is_file() else None


@cache
def _models() -> Mapping[str, Path]:
    """The files of the package's models by class name, in lower case."""
    folder = _folder()
    files = (folder / "client" / "models").glob("*.py") if folder is not None else ()
    return {file.stem.replace("_", ""): file for file in files}


def _names(definition: str) -> Iterator[str]:
    """The possible class names of a definition: with its group, without it, and of other versions.

    Examples
    --------
    >>> list(_names("io.k8s.api.apps.v1beta1.Scale"))
    ['appsv1beta1scale', 'v1beta1scale', 'appsv1scale', 'v1scale', 'appsv2scale', 'v2scale']
    """
    package, _, kind = definition.rpartition(".")
    package, _, version = package.rpartition(".")
    group = package.rpartition(".")[2]
    for each in dict.fromkeys((version, "v1", "v2")):
        yield f"{group}{each}{kind}".lower()
        yield f"{each}{kind}".lower()


def _read(content: str) -> Texts:
    """The descriptions in the file of a model."""
    names = _MAP.search(content)
    json_names = dict(_PAIR.findall(names[1])) if names else {}
    found = {name: ast.literal_eval(text) for name, text in _FIELD.findall(content)}
    found |= {name: text for name, text in _GETTER.findall(content) if name not in found}
    described = {json_names.get(name, name): _clean(text) for name, text in found.items()}
    about = _CLASS.search(content)
    own = _clean(about[1]) if about else ""
    return Texts("" if own.startswith("NOTE:") else own, {name: text for name, text in described.items() if text})


def _clean(text: str) -> str:
    """A description in the form of the API: the package's generator joins paragraphs."""
    plain = text.replace("# noqa: E501", "").strip()
    return _PARAGRAPHS.sub("\n\n", " ".join(plain.splitlines()) if "\n" in plain else plain)


# Operations, of which the package documents a method for each but those of watches

_METHOD: Final = re.compile(r'"""(\w+)(?:  # noqa: E501)?\n\n {8}(\S.*?)(?:  # noqa: E501)?\n')
"""The documentation of a method: its name, and what its operation does."""
_CAPITAL: Final = re.compile(r"([A-Z])")


def described_operation(operation: Mapping[str, Any], tag: str) -> dict[str, Any]:
    """An operation with its description, if it is known, by its id and its tag, such as ``apps_v1``."""
    words = "".join(part[:1].upper() + part[1:] for part in tag.split("_"))  # which the package leaves out of the id
    about = _methods(tag).get(operation["operationId"].replace(words, "", 1).lower())
    return {"description": about, **operation} if about else dict(operation)


@cache
def _methods(tag: str) -> Mapping[str, str]:
    """The descriptions of all methods of a group version, by their names without underscores."""
    name = _CAPITAL.sub(r"_\1", tag).lower().lstrip("_")
    file = package_file(f"client/api/{name}_api.py")
    found = _METHOD.findall(file.read_text(encoding="utf-8")) if file is not None else ()
    return {method.replace("_", ""): text for method, text in found if not text.startswith(":")}

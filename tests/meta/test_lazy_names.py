"""Packages that import their names when they are first used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import simkit

PACKAGES = [
    "simkit",
    "simkit.analysis",
    *(
        f"simkit.analysis.{name}"
        for name in (
            "admission",
            "causes",
            "escalation",
            "findings",
            "least_privilege",
            "plan",
            "plots",
            "prove",
            "upgrade",
        )
    ),
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_of_a_stub_exists(package: str) -> None:
    """What a type checker promises is there at run time, and is no module that hides a function of the same name."""
    module = importlib.import_module(package)
    for name in module.__all__:
        value = getattr(module, name)
        assert not hasattr(value, "__path__") or package == "simkit"


def test_a_module_does_not_hide_the_function_of_its_name() -> None:
    """The import system sets imported submodules as attributes of their package."""
    importlib.import_module("simkit.analysis.causes.cause")
    importlib.import_module("simkit.analysis.plan.greedy")
    assert callable(simkit.analysis.causes)
    assert callable(simkit.analysis.plan)


def test_one_question_does_not_import_the_others() -> None:
    """Asking who can do something needs neither graphs nor pictures."""
    asked = (
        "import sys, simkit; from simkit import analysis; analysis.who_can(simkit.Cluster().snapshot(), 'get', 'pods');"
        "print([name for name in ('networkx', 'matplotlib', 'simkit.analysis.escalation.find.graph')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_wrong_name_says_what_may_be_meant() -> None:
    """The error names a near one, or where the name is."""
    with pytest.raises(AttributeError, match="did you mean who_can"):
        getattr(simkit.analysis, "who_cann")  # noqa: B009 - a type checker knows that it is wrong
    with pytest.raises(AttributeError, match=r"write simkit\.analysis\.audit"):
        getattr(simkit, "audit")  # noqa: B009 - likewise


def test_completion_offers_the_public_names() -> None:
    """What a package imports for itself is not offered."""
    assert [name for name in dir(simkit) if not name.startswith("__")] == simkit.__all__

"""The price list of what does not come in a request: certificates, kubeconfigs, answers of others, archives, annotations."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from simkit.engine.authn.x509_chain import load_authorities
from simkit.engine.egress.kubeconfig import load_kubeconfig
from simkit.engine.egress.webhook import BadReview, review
from simkit.logic.workloads.rollout import REVISION, revision_of
from simkit.snapshot.load import load
from tests.security.certificate_chains import same_name_chain
from tests.security.prices import LINEAR, growth

_CHAIN = same_name_chain(1)[0]


def _archive(count: int) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as target:
        for number in range(count):
            content = b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n%d"}}' % number
            member = tarfile.TarInfo(f"{number}.json")
            member.size = len(content)
            target.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _answer(response: bytes) -> bytes:
    return b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":' + response + b"}"


READERS: dict[str, tuple[Callable[[Any], Any], Callable[[int], Any], int]] = {
    "bundle of certificates": (load_authorities, lambda n: _CHAIN * n, 100),
    "answer, one text": (review, lambda n: _answer(b'{"patch":"' + b"a" * n + b'"}'), 1_000_000),
    "answer, depth": (review, lambda n: _answer(b"[" * n), 100_000),
    "answer, digits": (review, lambda n: _answer(b"1" * n), 100_000),
    "answer, warnings": (review, lambda n: _answer(b'{"warnings":[' + b'"a",' * n + b'"a"]}'), 50_000),
    "archive": (load, _archive, 300),
    "annotation with a revision": (
        revision_of,
        lambda n: {"metadata": {"annotations": {REVISION: "9" * n}}},
        300_000,
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_twice_the_input_costs_about_twice_as_much(reader: str) -> None:
    """Whoever answers, configures or is loaded chooses a size, and nothing that costs more than it."""
    act, make, size = READERS[reader]

    def tried(given: Any) -> None:
        with suppress(ValueError, BadReview):
            act(given)

    assert growth(tried, make, size) < LINEAR


def test_a_kubeconfig_of_many_contexts(tmp_path: Path) -> None:
    """The contexts of a configuration are read once."""

    def made(count: int) -> Path:
        names = range(count)
        text = "apiVersion: v1\nkind: Config\ncurrent-context: c0\n"
        text += "clusters:\n" + "".join(f"- {{name: c{n}, cluster: {{server: 'https://a:{n}'}}}}\n" for n in names)
        text += "contexts:\n" + "".join(f"- {{name: c{n}, context: {{cluster: c{n}, user: c{n}}}}}\n" for n in names)
        text += "users:\n" + "".join(f"- {{name: c{n}, user: {{token: t}}}}\n" for n in names)
        file = tmp_path / f"{count}.yaml"
        file.write_text(text)
        return file

    assert growth(load_kubeconfig, made, 200) < LINEAR

"""The built-in shell beside dash: the same scripts print the same, and end with the same exit code."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simkit.simulation.kubelet.process import STDOUT, Container, Process
from simkit.simulation.kubelet.shell import script_program
from simkit.simulation.shell.files import Files

_DASH = shutil.which("dash")
needs_dash = pytest.mark.skipif(_DASH is None, reason="compares with dash, which this machine does not have")
_SCRIPTS = Path(__file__).with_name("shell_scripts.txt").read_text("utf-8").removesuffix("\n").split("\n%%\n")[1:]
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/root"}


def dash(script: str, folder: Path) -> tuple[int, str]:
    """The exit code of a script in dash, and what it prints."""
    assert _DASH is not None
    ran = subprocess.run(
        ["sh", "-c", script],
        executable=_DASH,
        cwd=folder,
        env=_ENVIRONMENT,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        preexec_fn=_heed_interrupts,
        timeout=20,
    )
    return ran.returncode, ran.stdout.decode()


def _heed_interrupts() -> None:
    """A shell cannot trap what was ignored when it began, as interrupts are in the background of another shell."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def process(
    script: str, *, shell: str = "", until: float = 100.0, started: float = 0.0, spec: Mapping[str, Any] | None = None
) -> Process:
    """A script in the folder ``/work`` of a container, after some time; of the built-in shell, or of one by its name."""
    files = Files()
    files.make_folder("/work")
    container = Container({}, dict(spec or {}), started=started, environment=_ENVIRONMENT, files=files)
    text = f"cd /work\n{script}"
    made = Process(script_program([shell, "-c", text] if shell else text, fails=True)(container), started)
    made.advance(started + until)
    return made


def printed(made: Process) -> str:
    """What a process has printed."""
    return b"".join(each.data for each in made.printed if each.stream == STDOUT).decode()


def built_in(script: str, shell: str = "") -> tuple[int, str]:
    """The exit code of a script here, and what it prints."""
    made = process(script, shell=shell)
    assert made.ended is not None
    return made.ended[1], printed(made)


@needs_dash
@pytest.mark.parametrize("script", _SCRIPTS)
def test_the_same_as_dash(script: str, tmp_path: Path) -> None:
    """Functions, here-documents, jobs, traps, conditions, arithmetic, ``read``, options, expansions and patterns."""
    assert built_in(script, "sh") == dash(script, tmp_path)


_NAMES = st.sampled_from(["x", "y", "z"])
_LETTERS = st.text("ab *?.", min_size=1, max_size=4)


def _quoted(text: str) -> str:
    return f"'{text}'"


def _words(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    expansions = st.tuples(
        _NAMES, st.sampled_from([":-", "-", ":+", "+", "#", "##", "%", "%%"]), st.text("ab*?", max_size=3)
    )
    numbers = st.tuples(_NAMES, st.sampled_from(["+", "*", "<", "==", "&&", "||", "|"]), st.integers(0, 9))
    plain = st.one_of(
        st.text("ab", min_size=1, max_size=3),
        _LETTERS.map(_quoted),
        _NAMES.map("${}".format),
        expansions.map(lambda each: "${" + "".join(each) + "}"),
        numbers.map(lambda each: f"$((n{each[0]} {each[1]} {each[2]}))"),
        inner.map(lambda each: f"$( {each}\n)"),
        st.sampled_from(["$#", "$1", '"$@"', "$*", '"$*"', "$?"]),
    )
    return st.one_of(plain, plain.filter(lambda each: each[0] == "$").map(lambda each: f'"{each}"'))


def _commands(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    words = st.lists(_words(inner), min_size=1, max_size=3).map(" ".join)
    condition = st.one_of(inner, st.sampled_from(["true", "false", '[ -n "$x" ]', '[ "$x" = a ]']))
    return st.one_of(
        words.map("echo {}".format),
        words.map("printf '<%s>' {}".format),
        st.tuples(_NAMES, _words(inner)).map("=".join),
        st.tuples(condition, inner, inner).map(lambda each: f"if {each[0]}\nthen {each[1]}\nelse {each[2]}\nfi"),
        st.tuples(_NAMES, words, inner).map(lambda each: f"for {each[0]} in {each[1]}\ndo {each[2]}\ndone"),
        st.tuples(_words(inner), words, inner, inner).map(
            lambda each: f"case {each[0]} in\na*|b) {each[2]}\n;;\n*) {each[3]}\n;;\nesac"
        ),
        st.tuples(inner, st.sampled_from(["&&", "||", "|", "\n", ";"]), inner).map(
            lambda each: f"{{ {each[0]}\n}} {each[1]} {{ {each[2]}\n}}"
        ),
        inner.map(lambda each: f"( {each}\n)"),
        inner.map(lambda each: f"{{ {each}\n}} > out{len(each)}; cat out{len(each)}"),
        inner.map(lambda each: f"! {{ {each}\n}}"),
        inner.map(lambda each: f"{{ {each}\n}} & wait $!"),
        st.tuples(inner, words).map(lambda each: f"f() {{ {each[0]}\n}}\nf {each[1]}"),
        st.tuples(inner, _NAMES).map(lambda each: f"while read {each[1]}\ndo {each[0]}\ndone <<E\na b\n ${each[1]}\nE"),
        st.sampled_from(["false", "true", "set -- a 'b c'", "exit 3", "break", "return 4 2>/dev/null"]),
        st.sampled_from(["trap 'echo end $?' EXIT", "set -e", "set +e", "IFS=a", "unset x", "cat", "set -f"]),
    )


_SIMPLE = st.sampled_from(["echo $x", "false", "x=ab", 'y="a  b"', "echo $y", "cat", ":", 'echo "$x" b'])


@needs_dash
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.recursive(_SIMPLE, _commands, max_leaves=8), min_size=1, max_size=4).map("\n".join))
def test_generated_scripts(tmp_path_factory: pytest.TempPathFactory, script: str) -> None:
    """Whatever is put together of these parts does the same."""
    assert built_in(script, "sh") == dash(script, tmp_path_factory.mktemp("dash"))


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("x=abcabc; echo ${x:1:2} ${x: -2} ${x/b/-} ${x//b/-}", "bc bc a-cabc a-ca-c\n"),
        ("cat <<< hi; function f { echo $1; }; f a; echo b &> out; cat out", "hi\na\nb\n"),
        ("[[ abc == a* && x != y ]] && echo yes; [[ a1 =~ ^[a-z][0-9]$ ]] && echo re", "yes\nre\n"),
        ("set -o pipefail; false | true; echo $?", "1\n"),
        ("while true; do date -u +%s; sleep 5; done | head -n 3", "0\n5\n10\n"),
        ("timeout 5 sleep 10; echo $? $(date +%s)", "143 5\n"),
        ("sleep 30 & p=$!; kill $p; wait $p; echo $? $(date +%s)", "143 0\n"),
        ("x=$(sleep 100 > /dev/null 2>&1 & echo $!); kill -0 $x && echo there; date +%s", "there\n0\n"),
        ("(sleep 3; echo late) & echo early; wait; date +%s", "early\nlate\n3\n"),
        ("yes | head -n 2; seq 3 | while read n; do sleep 1; echo $n; done; date +%s", "y\ny\n1\n2\n3\n3\n"),
        ("sleep 50 & sleep 60 & jobs -p > j; wc -l < j; kill %1 %2; wait; jobs; echo done", "2\ndone\n"),
        ("echo a > f; tail -f f & sleep 1; kill $!; wait; echo end", "a\nend\n"),
        (
            "mkdir -p d/e; echo 1 > d/a.x; : > d/e/b.x; find d -name '*.x' -exec cat {} \\;; find d -empty",
            "1\nd/e/b.x\n",
        ),
        (
            "mkdir d; echo 1 > d/a; echo 2 > d/b; find d -type f -exec cat {} +; find d ! -name a -delete; find d",
            "1\n2\nd\nd/a\n",
        ),
        (
            "mkdir -p d/e/f; find d -maxdepth 1 -mindepth 1; find d -what 3 2>&1; echo $?",
            "d/e\nfind: unrecognized: -what\n1\n",
        ),
        ("timeout 9 nc -l -p 80; date +%s", "9\n"),
        (
            "seq 3 | head -n -1; seq 5 | tail -n 2; printf 'a\\nb' | tac; printf 'a b\\nc' | wc",
            "1\n2\n4\n5\nba\n        1         3         5\n",
        ),
        (
            "cat /dev/null; echo x | tee /dev/null; cp /dev/null f; [ -c /dev/null ] && wc -c < f; seq 100001 | wc -l",
            "x\n0\n100001\n",
        ),
        ("exec 2>&1; ls nothing; echo x >&2", "ls: nothing: No such file or directory\nx\n"),
    ],
)
def test_beyond_dash(script: str, expected: str) -> None:
    """What busybox and bash know besides, and scripts in which time passes."""
    assert built_in(script) == (0, expected)

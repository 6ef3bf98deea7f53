"""The small shell beside dash: scripts print the same and end with the same exit code, or are refused aloud."""

from __future__ import annotations

import shutil
import signal
import string
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simkit.simulation.kubelet.process import STDERR, STDOUT, Container, Process
from simkit.simulation.kubelet.shell import script_program
from simkit.simulation.shell.commands import COMMANDS
from simkit.simulation.shell.files import Files
from simkit.simulation.shell.script import HINT
from simkit.simulation.shell.script_files import NOT_FOUND

pytestmark = pytest.mark.slow

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
    """Functions, here-documents, jobs, traps, conditions, ``read``, options, expansions and patterns."""
    assert built_in(script, "sh") == dash(script, tmp_path)


_NAMES = st.sampled_from(["x", "y", "z"])
_LETTERS = st.text("ab *?.", min_size=1, max_size=4)


def _quoted(text: str) -> str:
    return f"'{text}'"


def _words(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    expansions = st.tuples(_NAMES, st.sampled_from([":-", "-", ":+", "+"]), st.text("ab*?", max_size=3))
    plain = st.one_of(
        st.text("ab", min_size=1, max_size=3),
        _LETTERS.map(_quoted),
        _NAMES.map("${}".format),
        expansions.map(lambda each: "${" + "".join(each) + "}"),
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
        st.sampled_from(["trap 'echo end $?' EXIT", "set -e", "set +e", "unset x", "cat", "set -f"]),
    )


_SIMPLE = st.sampled_from(["echo $x", "false", "x=ab", 'y="a  b"', "echo $y", "cat", ":", 'echo "$x" b'])


@needs_dash
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.recursive(_SIMPLE, _commands, max_leaves=8), min_size=1, max_size=4).map("\n".join))
def test_generated_scripts(tmp_path_factory: pytest.TempPathFactory, script: str) -> None:
    """Whatever is put together of these parts does the same, or is refused."""
    made = process(script, shell="sh")
    assert made.ended is not None
    assert refused(made) or (made.ended[1], printed(made)) == dash(script, tmp_path_factory.mktemp("dash"))


def refused(made: Process) -> bool:
    """True if a script ended at something that the shell does not have, and said so."""
    told = b"".join(each.data for each in made.printed if each.stream == STDERR).decode()
    return made.ended is not None and made.ended[1] in (2, NOT_FOUND) and (HINT in told or "syntax error" in told)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("while true; do date -u +%s; sleep 5; done | head -n 3", "0\n5\n10\n"),
        ("sleep 30 & p=$!; kill $p; wait $p; echo $? $(date +%s)", "143 0\n"),
        ("(sleep 3; echo late) & echo early; wait; date +%s", "early\nlate\n3\n"),
        ("printf '1\\n2\\n' | while read n; do sleep 1; echo $n; done; date +%s", "1\n2\n2\n"),
        ("trap 'echo heard' USR1; (sleep 2; kill -USR1 $$) & wait; date +%s", "heard\n2\n"),
        ("sleep 50 & kill -0 $! && echo runs; kill $!; wait; kill -0 $! 2>/dev/null || echo over", "runs\nover\n"),
        ("x=$(sleep 4; echo done) ; echo $x $(date +%s)", "done 4\n"),
        ("exec 3>out; echo a >&3; exec 3>&-; cat out", "a\n"),
        ("printf 'a\\nb' | tail -n 1; printf '4\\n5\\n' | tail -n +2; echo abc | head -c 3", "b5\nabc"),
        ("printf 'b 2\\na 10\\n' > f; sort f; sort -r f | grep a; grep -qx 'a 10' f && echo yes", "a 10\nb 2\na 10\nyes\n"),
        ("mkdir -p d/e; echo 1 > d/e/f; cp -r d g; mv g/e/f h; cat h; ls d g; rm -r d; [ -e d ] || echo gone", "1\nd:\ne\n\ng:\ne\ngone\n"),
        ("echo abc | tr a-c A-C | tr -d B", "AC\n"),
        ("printf abc | sha256sum | head -c 8; env A=1 env | grep ^A; env B=2 sh -c 'echo $B'", "ba7816bfA=1\n2\n"),
    ],
)  # fmt: skip
def test_commands_and_time(script: str, expected: str) -> None:
    """Time passes as commands say, and commands write what those of Linux write."""
    assert built_in(script) == (0, expected)


_UNKNOWN = {
    "commands": (
        "awk 1", "sed s/a/b/", "find .", "xargs echo", "cut -c1", "uniq", "tee f", "ln -s a b", "stat f", "ps", "mount",
        "basename a", "jobs", "alias a=b", "type ls", "ulimit -n", "umask 077", "hash", "getopts a x", "let x=1",
        "declare x=1", "readonly x=1", "source ./f", ". ./f", "eval echo a", "command -v eval", "local x=1", "seq 3", "unheard-of", "./run.py", "PATH=/nowhere; ls",
    ),
    "options": (
        "ls -l", "grep -o a", "sort -k2", "head -n -1", "tail -f f", "tail -c 1 -n 1 f", "tail -n 1k f", "wc", "wc -lw", "date -d tomorrow",
        "date +%V", "id -un", "cp -a a b", "mkdir -m 700 d", "chmod u+s f", "env -i", "set -f", "set -o noglob", "set -m",
        "read x -t 1", "read", "cd -P .", "pwd -P", "local -r x=1", "local x=1", "export 1x=2", "export -p", "command -V ls", "exec -a x ls", "exec set -e", "env trap 'x' EXIT",
        "command -v --x", "kill %1",
        "kill -STOP 1", "wait %1", "trap 'x' ERR", "trap 'if' EXIT", "nc -l 80", "curl https://a", "curl -L a", "wget -c a", "tar czf - .",
        "tr -c a b", "tr -s a", "tr '[:upper:]' a", "set -x", "set -o pipefail", "grep -i a f", "grep -E a f", "grep 'a.*' f", "curl -d a b", "grep -n a f", "test a -nt b", "test a -a b", "[ ( a ) ]".replace("(", "'('").replace(")", "')'"),
        "printf '%q' a", "printf '%5.1f' 1", "printf '%d' 010", "printf '\\x41'", "echo -e a", "echo 'a\\tb'", "grep -c a f g",
        "grep 'a\\|b' f", "grep 'a{2}' f", "sort -nu", "sha256sum -c f", "hostname x", "sleep -x", "bash -O extglob -c :",
    ),
    "expansions": (
        "echo {a,b}", "echo {1..3}", "echo $'a'", 'echo $"a"', "x=abc; echo ${x:1}", "echo $((1+1))", 'echo "$((1+1))"', "x=a; echo ${x#a} ${x%%a}", "x=a; echo ${#x}", "echo *", "echo [ab]", "x='*'; echo $x",
        "echo `echo a`", "IFS=: read x < f", "for IFS in a; do :; done", "unset IFS", "cat <<E\n`echo a`\nE\n", "x=a; echo ${x/a/b}", "echo ${!x}",
        "echo ${x^}", "echo ${x@Q}", "echo ${x[0]}", "echo $[1]", "echo $-", "echo ~", "echo ~nobody", "x=~", "echo $RANDOM",
        "echo $HOSTNAME", "echo $((x++))", "echo $((2**3))", "echo $((x=1))", "echo $((1?2:3))", "echo $((1&&0))",
        "echo $((1,2))", "echo $((010))", "echo $((0x10))", "x=y; y=1; echo $((x))", "echo $((9223372036854775807+1))",
        'echo "${x:-"a"}"', "echo ${@:-a}", "set -- a; echo ${@#a}", "IFS=': '; x='a : b'; echo $x", "echo */", "echo [[=a=]]*",
        "x='a\\b*'; echo $x", "x=\u00e9; case $x in ?) :;; esac", "echo $(< f)", "cat < <(echo a)", "echo `echo \\`echo\\``",
        "cat /dev/zero", "echo a > /dev/tcp/a/80", "cat /proc/self/status", "cat f >> f", "cat < d",
        "exec 3> f; echo a > f; echo b >&3", "{ echo a >> f; echo b; } > f", "test -e /dev/tty", "ls /proc",
    ),
    "constructs": (
        "[[ a ]]", "((1))", "a=(1 2)", "a[0]=1", "x+=1", "cat <<< x", "cat <(echo a)", "echo a > >(cat)", "function f { :; }",
        "echo a &> f", "echo a >& f", "echo a |& cat", "exec {fd}> f", "exec 3<> f", "for ((i=0;i<2;i++)); do :; done",
        "select x in a; do :; done", "time true", "coproc cat", "cat <<A\na\\\nA\nA\n", "case a in a) :;& b) :;; esac", "export() { :; }", "\\f() { :; }",
        "x=1 export y", "f() { :; }; x=1 f", "f() { :; }; x=1; f > out; break", "return 3", "x=$(echo a) > f",
    ),
}  # fmt: skip
"""What other shells and programs have, by kind."""


@pytest.mark.parametrize("script", [script for scripts in _UNKNOWN.values() for script in scripts])
@pytest.mark.parametrize(
    "around", ["{}", "( {} ) || echo no", "x=$( {}\n); echo $x", "if {}\nthen :; fi; exit 0", "{} | cat", "! {}"]
)
def test_what_the_shell_does_not_have_ends_the_program(script: str, around: str) -> None:
    """Nothing around it hides that: a script that went on would give a wrong answer with exit code 0."""
    files = "echo b > f; mkdir d; echo '#!/usr/bin/python3' > run.py; chmod +x run.py\n"
    made = process(files + around.format(script), shell="sh")
    assert refused(made)


_OPTIONS = {
    "bash": "ceilsuo", "cat": "u", "chmod": "R", "command": "v", "cp": "rR", "curl": "sSfIowm", "date": "u",
    "grep": "Fvqcx", "head": "nc", "hostname": "i", "id": "ugG", "kill": "s", "ls": "1aA", "mkdir": "p", "mv": "f",
    "nc": "zvw", "read": "r", "rm": "rRf", "set": "euo", "sort": "rnu", "tail": "nc", "tar": "cxmpofC", "tr": "d",
    "wc": "lwc", "wget": "qzOT",
}  # fmt: skip
_OPTIONS |= dict.fromkeys(("sh", "dash", "ash"), _OPTIONS["bash"])
_WITHOUT = {"echo", "test", "[", "true", "false", ":", "break", "continue", "exit", "return", "shift"}
"""Commands that take such words as any others, or demand a number."""


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - _WITHOUT))
def test_every_option_that_a_command_does_not_have_is_refused(command: str) -> None:
    """So that each command has the options of this table and no others."""
    letters = set("0123456789" + string.ascii_letters) - set(_OPTIONS.get(command, ""))
    letters -= set(string.digits) if command in ("head", "tail", "kill") else set()
    for option in ("-unheard-of", *sorted(letters)):
        assert refused(process(f"{command} -{option} a b || echo no; exit 0", shell="sh")), option

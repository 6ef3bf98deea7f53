"""Scripts of containers that would compute, grow or nest without end: each step is short, and memory has a limit."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import pytest

from simkit.simulation.kubelet import process as process_module
from simkit.simulation.kubelet.process import KILLED, Container, Process, forever
from simkit.simulation.kubelet.shell import script_program
from simkit.simulation.shell.braces import spread
from simkit.simulation.shell.commands import COMMANDS
from simkit.simulation.shell.files import FileError, Files
from simkit.simulation.shell.machine import LOOK_UP, Machine, Run, Write
from simkit.simulation.shell.marks import Mark
from simkit.simulation.shell.paths import ROOT
from simkit.simulation.shell.reading import shared_out
from simkit.simulation.shell.shells import run_script, session
from simkit.simulation.shell.tree import Text
from simkit.simulation.shell.user_files import User, UserFiles
from tests.security.prices import LINEAR, growth


def told(script: str, effects: int = 2000, *, bash: bool = False) -> tuple[str, int | None]:
    """The error output of a script, and its exit code; None if it would go on."""
    machine, errors = Machine(hostname="h", bash=bash), b""
    run = session(machine, run_script(machine, script))
    try:
        effect = next(run)
        for _ in range(effects):
            errors += effect.data if isinstance(effect, Write) and effect.stream == "stderr" else b""
            machine.shared.now += effect if isinstance(effect, float) else 0.0
            effect = run.send(b"")
    except StopIteration as end:
        return errors.decode(), int(end.value)
    return errors.decode(), None


@pytest.mark.parametrize(
    "script",
    [
        "x=a; while true; do x=$x$x; done",
        'x=a; while true; do x="$x$x"; done',
        "x='a b'; while true; do x=\"$x $x\"; done",
        "x=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; for i in 1 2 3 4 5 6 7 8 9 a b c d e f; do x=$x$x; done; "
        + "; ".join(f"y{number}=$x" for number in range(100)),
    ],
)
def test_variables_that_grow_without_end(script: str) -> None:
    """What a script holds has a limit, at which it ends."""
    assert told(script) == ("sh: out of memory\n", 2)


_LONG = "x" * 2000


@pytest.mark.parametrize(
    ("script", "complaint", "code"),
    [
        (f"while :; do a+=({_LONG}{{1..100}}); done", "out of memory", 2),
        (f"declare -A m; while :; do for k in {{1..100}}; do m[$k$RANDOM]={_LONG}; done; done", "out of memory", 2),
        ("echo {1..1000000000}", "Argument list too long", 126),
        ("echo " + "{a,b}" * 60, "Argument list too long", 126),
        ("echo " + "{a," * 5000 + "b" + "}" * 5000, "Argument list too long", 126),
        (f"mapfile a < <(yes {_LONG})", "out of memory", 2),
        (f"read -d : x < <(yes {_LONG})", "out of memory", 2),
        ("x=x; echo $((x))", "expression recursion level exceeded", 1),
        (
            "a=b+b b=c+c c=d+d d=e+e e=f+f f=g+g g=h+h h=i+i i=j+j j=k+k k=l+l l=1; a=$((a))",
            "expression recursion level exceeded",
            1,
        ),
        (f"x=$(yes {_LONG})", "out of memory", 2),
    ],
)
def test_what_only_bash_has_is_bounded(script: str, complaint: str, code: int) -> None:
    """Arrays, braces, lines of commands and expressions in variables end with an error."""
    assert told(script, 500_000, bash=True) == (f"bash: {complaint}\n", code)


@pytest.mark.parametrize("word", [lambda count: "{" * count + "a,b" + "}" * count, lambda count: "{a,b" * count])
def test_braces_cost_their_number(word: Callable[[int], str]) -> None:
    """Braces in braces are looked at once."""
    assert growth(lambda text: spread((Text(text, False),)), word, 2000) < LINEAR


@pytest.mark.parametrize(
    "script",
    [
        "echo 'sh /f' > /f; sh /f",
        "echo 'x=$(sh /f); exit 2' > /f; sh /f",
        "echo " + "$(echo " * 3000 + "x" + ")" * 3000 + " >&2; exit 2",
    ],
)
def test_scripts_that_run_themselves(script: str) -> None:
    """They end where they are nested too deep, also where another part of the process has raised Python's own limit."""
    usual = sys.getrecursionlimit()
    try:
        for limit in (usual, 20_000):
            sys.setrecursionlimit(limit)
            errors, code = told(script)
            assert (errors.splitlines()[0], code) == ("sh: nested too deep", 2)
    finally:
        sys.setrecursionlimit(usual)


@pytest.mark.parametrize(
    "script",
    [
        "while true; do :; done",
        "while true; do echo a | cat | cat > /dev/null; done",
        "echo 'sh /f | sh /f' > /f; sh /f",
        "x=3; until false; do x=$((x*x)); done",
    ],
)
def test_scripts_without_end_turn_back(script: str) -> None:
    """Whoever drives them is asked again and again, after a few commands each time."""
    machine = Machine(hostname="h")
    run: Run = session(machine, run_script(machine, script))
    effect = next(run)
    for _ in range(50):
        before = machine.shared.steps
        machine.shared.now += effect if isinstance(effect, float) else 0.0
        effect = run.send(b"")
        assert machine.shared.steps - before <= LOOK_UP


def test_patterns_that_lead_to_more_and_more_paths() -> None:
    """Each part of such a pattern multiplies the paths."""
    assert told("echo " + "/*/.." * 12) == ("sh: Argument list too long\n", 126)
    assert told("x=" + "a" * 60_000 + "; y=$x$x$x$x$x$x; echo " + "$y " * 100) == ("sh: Argument list too long\n", 126)


@pytest.mark.parametrize("script", ["_OPTPOS=100; getopts ab o -a", "OPTIND=-5; getopts ab o -a"])
def test_places_of_options_that_are_none(script: str) -> None:
    """A script may write anything into the variables by which ``getopts`` knows where it is."""
    assert told(f"{script}; exit $?") == ("", 0)


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("y=${x//a/$x}", "sh: out of memory\n"),
        ("case $x$x in a) ;; esac", "sh: out of memory\n"),
        ("p=%9999s; for i in 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5; do p=$p$p; done; printf $p", "printf: out of memory\n"),
        ("echo $x | xargs -I a echo $x", "xargs: out of memory\n"),
        ("> /f; find /f -exec echo {} $x$x ';' -exec echo $x$x {} +", "sh: Argument list too long\n"),
    ],
)
def test_words_that_would_become_more_than_a_command_may_have(script: str, complaint: str) -> None:
    """They are counted before they are made."""
    errors, _ = told("x=a; for i in 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0; do x=$x$x; done; " + script, 20_000)
    assert errors == complaint


@pytest.mark.parametrize(
    "words",
    [
        lambda count: ["echo", *["-n"] * count],
        lambda count: ["nohup", *["-n"] * count],
        lambda count: ["env", *["-i"] * count],
        lambda count: ["set", *["-a"] * count],
        lambda count: ["sh", *["-a"] * count, "/nowhere"],
        lambda count: ["timeout", *["-q"] * count],
        lambda count: ["expr", *["1", "+"] * count, "1"],
        lambda count: ["test", *["a", "-o"] * count, "a"],
        lambda count: ["find", "/nowhere", *["-empty"] * count],
        lambda count: ["printf", "%s", *["a"] * count],
    ],
)
def test_many_words_cost_their_number(words: Callable[[int], list[str]]) -> None:
    """Words are taken from the front without a move of all others."""

    def perform(given: list[str]) -> None:
        for _ in COMMANDS[given[0]](Machine(hostname="h"), given):
            pass

    assert growth(perform, words, 40_000) < LINEAR


@pytest.mark.parametrize(
    "line", [lambda count: "a " * count, lambda count: f"b{' ' * count}a", lambda count: ";" * count]
)
def test_a_line_that_is_shared_out_costs_its_length(line: Callable[[int], str]) -> None:
    """Names and separators may be as many as letters, and blanks may stand between others."""

    def share(text: str) -> None:
        assert len(shared_out(Machine(environment={"IFS": " ;"}), text, ["x"] * len(text), raw=True)) == len(text)

    assert growth(share, line, 20_000) < LINEAR


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ("truncate -s 999999999999 /tmp/a", ("truncate: /tmp/a: No space left on device\n", 1)),
        ("echo a | nl -w 999999999999", ("nl: invalid line number field width: '999999999999'\n", 1)),
        ("yes | paste -s", ("paste: out of memory\n", 1)),
        ("seq 100000 > /f; sed -n ':x; r /f\nbx' /f", ("sed: out of memory\n", 1)),
        ("awk 'BEGIN { exit 1e999 }'", ("", 255)),
        ("awk 'BEGIN { exit log(-1) }'", ("", 0)),
        ("echo a | awk '{ print $1e999; print $log(-1) }'", ("", 0)),
        ("echo a | awk '{ $1e999 = 1 }'", ("awk: trying to access out of range field\n", 2)),
        ("echo a | awk '{ NF = 1e999 }'", ("awk: NF set to a wrong value\n", 2)),
        ("awk 'BEGIN { printf \"%*d\", 1e999, 3 }'", ("awk: width is too large\n", 2)),
        ("awk 'BEGIN { printf \"%.*f%d%c%x\", log(-1), 1e999, 1e999, 1e999, 1e999 }'", ("", 0)),
        ("awk 'BEGIN { printf \"%c\", 55296 }'", ("", 0)),
        (f"awk 'BEGIN {{ print 0x{'f' * 400} }}'", ("", 0)),
    ],
)
def test_numbers_beyond_every_size(script: str, answer: tuple[str, int]) -> None:
    """A width, a size, a place or a code may be written with any number of digits."""
    assert told(script, 20_000) == answer


_FULL = "No space left on device"


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("yes | sort", "sort: out of memory"),
        ("yes abc | sort -n", "sort: out of memory"),
        ("yes | tac", "tac: out of memory"),
        ("yes | tail -n 1", "tail: out of memory"),
        ("yes | tail -c 1", "tail: out of memory"),
        ("yes | uniq -c", "uniq: out of memory"),
        ("yes | wc -l", "wc: out of memory"),
        ("yes | xargs echo > /dev/null", "xargs: out of memory"),
        ("yes | xargs -I a echo a > /dev/null", "xargs: out of memory"),
        ("yes | md5sum", "md5sum: out of memory"),
        ("yes | sha256sum - -", "sha256sum: out of memory"),
        ("yes | base64", "base64: out of memory"),
        ("yes | gzip > /f", "gzip: out of memory"),
        ("yes | tar x", "tar: out of memory"),
        ("yes | head -n -1", "head: out of memory"),
        ("yes | dd of=/f", "dd: out of memory"),
        ("seq 999999999999 | sort", "sort: out of memory"),
        ("head -c 999999999999 /dev/zero | sort", "sort: out of memory"),
        ("head -c 60000000 /dev/zero > /f; md5sum < /f > /dev/null; cat /f /f | md5sum", "md5sum: out of memory"),
        ("yes > /f", f"sh: {_FULL}"),
        ("yes >> /f", f"sh: {_FULL}"),
        ("yes | cat > /f", f"sh: {_FULL}"),
        ("yes | tee /f > /dev/null", f"tee: /f: {_FULL}"),
        ("seq 999999999999 > /f", f"sh: {_FULL}"),
        ("head -c 999999999999 /dev/zero > /f", f"sh: {_FULL}"),
        ("dd if=/dev/zero of=/f bs=1G count=999999999", f"dd: /dev/zero: {_FULL}"),
        ("dd if=/dev/zero of=/f", f"dd: /dev/zero: {_FULL}"),
        ("x=$(yes); exit 1", "sh: out of memory"),
        ("x=$(seq 999999999999)", "sh: out of memory"),
        ("x=`cat /dev/zero`", "sh: out of memory"),
    ],
)
def test_input_and_output_without_end(script: str, complaint: str) -> None:
    """Commands that hold all of their input end once it is more than the files of a container may hold."""
    errors, code = told(script, 80_000)
    assert errors == f"{complaint}\n"
    assert code


@pytest.mark.parametrize("script", ["yes | head -c 5", "yes | head -n 5", "yes | dd count=1", "head -c 5 /dev/zero"])
def test_what_is_wanted_of_an_endless_input_is_taken(script: str) -> None:
    """The commands end, and with them who writes."""
    assert told(script, 200)[1] == 0


def test_a_file_that_grows_costs_what_is_added() -> None:
    """Neither the file nor the sizes of all others are looked at again."""

    def write(parts: int) -> None:
        files = Files({f"/etc/{number}": "x" for number in range(1000)})
        for _ in range(parts):
            files.write("/f", b"x" * 1000, append=True)
        assert len(files.read("/f")) == parts * 1000

    assert growth(write, lambda count: count, 10_000) < LINEAR


def test_room_that_was_given_back() -> None:
    """A file that is removed or cut makes room, and a copy of the tree grows by itself."""
    files = Files()
    for _ in range(3):
        files.write("/f", bytes(60 << 20))
        files.remove("/f")
    files.write("/f", b"a")
    files.write("/f", b"b", append=True)
    copy = files.fork()
    copy.write("/f", b"c", append=True)
    assert (files.read("/f"), copy.read("/f")) == (b"ab", b"abc")


def test_records_of_many_lines_cost_their_number() -> None:
    """Each is taken from the front without a move of all others."""

    def read(lines: int) -> None:
        assert told(
            f"seq {lines} > /f; awk 'BEGIN {{ while ((getline x < \"/f\") > 0) n++; exit n != {lines} }}'", 10**6
        ) == (
            "",
            0,
        )

    assert growth(read, lambda count: count, 5_000) < LINEAR


def test_files_without_end() -> None:
    """A tree has a number of paths, and each of them a length."""
    files = Files()
    for number in range(20_000 - len(ROOT)):
        files.make_folder(f"/d{number}")
    with pytest.raises(FileError, match="No space left on device"):
        files.make_folder("/one-more")
    with pytest.raises(FileError, match="File name too long"):
        files.write("/" + "d/" * 3000 + "f", b"")


def _process(script: str) -> Process:
    return Process(script_program(script)(Container({}, {})), 0.0, takes_input=True)


def test_a_program_runs_for_a_moment_at_a_time() -> None:
    """A look at a program that computes without end is over soon, and the next one goes on."""
    process = _process("while true; do :; done")
    for _ in range(3):
        start = time.process_time()
        process.advance(1e9, within=0.001)
        assert time.process_time() - start < 1  # it was for ever
        assert process.next_time is not None
        assert process.ended is None


def test_input_that_nobody_reads() -> None:
    """A program whose input waits is killed before it holds all memory."""
    process = _process("sleep 100000")
    for _ in range(90):
        process.feed(bytes(1 << 20), 1.0)
    assert process.ended == (1.0, KILLED)


def test_output_that_is_kept() -> None:
    """Of the output of a program the last megabytes are kept."""
    process = _process("x=" + "a" * 60_000 + "; while true; do echo $x; sleep 1; done")
    for moment in range(600):
        process.advance(float(moment))
    assert process.dropped > 0
    assert sum(len(each.data) for each in process.printed) < 20 << 20


def test_lines_of_a_large_input_cost_their_number() -> None:
    """Each line is taken from what is left, which is not copied."""
    process = _process("while read x; do :; done")
    process.feed(b"\n" * 1_000_000, 1.0)
    for moment in range(1, 4):
        process.advance(float(moment))
    assert len(process._given) < 1_000_000


def test_programs_that_read_nothing_hold_no_more_together_than_some_hundred_megabytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each may hold 80 MiB of input, and hundreds of them held as many times as much."""
    monkeypatch.setattr(process_module, "_MUCH", 10)
    monkeypatch.setattr(process_module, "_MOST_TOGETHER", 1000)
    made = [Process(forever(Container({}, {})), 0.0, takes_input=True) for _ in range(3)]
    made[0].feed(b"x" * 600, 0.0)
    made[1].feed(b"x" * 600, 0.0)
    assert [each.ended for each in made] == [None, (0.0, KILLED), None]
    made[2].feed(b"x" * 300, 0.0)
    made[1].feed(b"x" * 10_000, 0.0)
    assert made[2].ended is None


def test_many_closed_folders_cost_their_number() -> None:
    """What lies in folders that a user may not enter is left out in one pass, and its neighbours are not."""

    def made(count: int) -> UserFiles:
        tree = Files({f"/d{number}/f": "x" for number in range(count)} | {"/d0-b": "y"})
        for number in range(count):
            tree.set_mark(f"/d{number}", Mark(0o700))
        return UserFiles(tree, User(5))

    def look(files: UserFiles) -> None:
        found = files.tree("/")
        assert "/d0-b" in found
        assert not any(each.endswith("/f") for each in found)

    assert growth(look, made, 3000) < LINEAR

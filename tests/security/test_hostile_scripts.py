"""Scripts of containers that would compute, grow or nest without end: each step is short, and memory has a limit."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from simkit.simulation.kubelet import process as process_module
from simkit.simulation.kubelet.process import KILLED, STDERR, Container, Process, forever
from simkit.simulation.kubelet.shell import script_program
from simkit.simulation.shell.commands import COMMANDS
from simkit.simulation.shell.files import FileError, Files
from simkit.simulation.shell.kernel import Kernel, Read
from simkit.simulation.shell.machine import BLANKS, Failed, Machine
from simkit.simulation.shell.paths import ROOT, Mark
from simkit.simulation.shell.user_files import User, UserFiles
from tests.security.prices import LINEAR, growth


def told(script: str, seconds: float = 1000.0) -> tuple[str, int | None]:
    """The last line of the error output of a script, and its exit code; None if it would go on."""
    made = Process(script_program(script)(Container({}, {})), 0.0)
    for _ in range(60):  # each time so many steps
        made.advance(seconds)
    errors = b"".join(each.data for each in made.printed if each.stream == STDERR).decode()
    return errors.splitlines()[-1] if errors else "", None if made.ended is None else made.ended[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "x=a; while true; do x=$x$x; done",
        'x=a; while true; do x="$x$x"; done',
        "x='a b'; while true; do x=\"$x $x\"; done",
        "x=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; for i in 1 2 3 4 5 6 7 8 9 a b c d e f; do x=$x$x; done; "
        + "; ".join(f"y{number}=$x" for number in range(100)),
        "x=$(while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done)",
    ],
)
def test_what_a_script_holds_has_a_limit(script: str) -> None:
    """Variables and the output of substitutions."""
    assert told(script) == ("sh: out of memory", 2)


@pytest.mark.parametrize(
    "script",
    [
        "echo 'sh /f' > /f; sh /f",
        "f() { f; }; f",
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
            assert ("nested too deep" in errors, code) == (True, 2)
    finally:
        sys.setrecursionlimit(usual)


@pytest.mark.parametrize(
    "script",
    [
        "while true; do :; done",
        "while true; do echo a | cat | cat > /dev/null; done",
        "x=3; until false; do x=$(echo $x); done",
    ],
)
def test_scripts_without_end_turn_back(script: str) -> None:
    """A look at a program that computes without end is over soon, and the next one goes on."""
    process = _process(script)
    for _ in range(3):
        process.advance(1e9, within=0.001)  # it was for ever
        assert process.next_time is not None
        assert process.ended is None


@pytest.mark.slow
def test_too_many_commands_side_by_side() -> None:
    """A shell that starts itself again and again is refused."""
    assert told("f() { f | f & }; f; sleep 10", 5.0)[1] is None
    assert told("while :; do sleep 99999 & done")[0] == "sh: Resource temporarily unavailable"


@pytest.mark.slow
def test_words_have_a_limit() -> None:
    """Those of one command together."""
    assert told("x=" + "a" * 60_000 + "; y=$x$x$x$x$x$x; echo " + "$y " * 100) == ("sh: Argument list too long", 126)


def test_patterns_cost_letters_times_letters() -> None:
    """Many asterisks do not multiply."""
    letters = "x=a; for i in 1 2 3 4 5 6 7 8 9 0 1 2; do x=$x$x; done; "
    assert told(f"{letters}case $x in {'*a' * 50}b) ;; esac; exit 3")[1] == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        lambda count: ["echo", *["a"] * count],
        lambda count: ["sh", *["-e"] * count, "/nowhere"],
        lambda count: ["printf", "%s", *["a"] * count],
        lambda count: ["env", *["A=1"] * count],
    ],
)
def test_many_words_cost_their_number(words: Callable[[int], list[str]]) -> None:
    """Words are taken from the front without a move of all others."""

    def perform(given: list[str]) -> None:
        try:
            for _ in COMMANDS[given[0]](Machine(Kernel(), commands=COMMANDS), given):
                pass
        except Failed:
            pass

    assert growth(perform, words, 2000) < LINEAR


@pytest.mark.parametrize("line", [lambda count: "a " * count, lambda count: f"b{' ' * count}"])
def test_a_line_that_is_shared_out_costs_its_length(line: Callable[[int], str]) -> None:
    """Names and separators may be as many as letters, and blanks may stand between others."""

    def share(text: str) -> None:
        machine = Machine(Kernel(), commands=COMMANDS, variables={"IFS": BLANKS})
        run = COMMANDS["read"](machine, ["read", "-r", *["x"] * 100])
        assert next(run) == Read()
        with pytest.raises(StopIteration):
            run.send(text.encode() + b"\n")

    assert growth(share, line, 1000) < LINEAR


_FULL = "No space left on device"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("while :; do printf %9999s; done | sort", "sort: out of memory"),
        ("while :; do printf %9999s; done | tail -n 1", "tail: out of memory"),
        ("while :; do printf %9999s; done | wc -l", "wc: out of memory"),
        ("while :; do printf %9999s; done | sha256sum", "sha256sum: out of memory"),
        ("while :; do printf %9999s; done | tar x", "tar: out of memory"),
        ("while :; do printf %9999s; done > /f", f"printf: {_FULL}"),
        ("while :; do printf %9999s; done | cat > /f", f"cat: {_FULL}"),
        ("printf '%99999999999s' a", "printf: width is too large"),
    ],
)
def test_input_and_output_without_end(script: str, complaint: str) -> None:
    """Commands that hold all of their input end once it is more than the files of a container may hold."""
    assert told(f"set -e; {script}", 1e6)[0] == complaint


@pytest.mark.slow
def test_a_file_that_grows_costs_what_is_added() -> None:
    """Neither the file nor the sizes of all others are looked at again."""

    def write(parts: int) -> None:
        files = Files({f"/etc/{number}": "x" for number in range(1000)})
        for _ in range(parts):
            files.write("/f", b"x" * 1000, append=True)
        assert len(files.read("/f")) == parts * 1000

    assert growth(write, lambda count: count, 500) < LINEAR


def test_room_that_was_given_back() -> None:
    """A file that is removed or cut makes room."""
    files = Files()
    for _ in range(3):
        files.write("/f", bytes(60 << 20))
        files.remove("/f")
    files.write("/f", b"a")
    files.write("/f", b"b", append=True)
    assert files.read("/f") == b"ab"


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


def test_input_that_nobody_reads() -> None:
    """A program whose input waits is killed before it holds all memory."""
    process = _process("sleep 100000")
    for _ in range(90):
        process.feed(bytes(1 << 20), 1.0)
    assert process.ended == (1.0, KILLED)


@pytest.mark.slow
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


@pytest.mark.slow
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

    assert growth(look, made, 200) < LINEAR

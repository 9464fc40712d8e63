"""The command `smelt` of the package, which is `python -m smelt`."""

import os
import subprocess
import sys
from pathlib import Path

from conftest import GOLDEN

import smelt


def command(*words, **options):
    return subprocess.run([sys.executable, "-m", "smelt", *words], capture_output=True, text=True, **options)


def test_version_is_the_packages():
    assert command("--version").stdout == f"smelt {smelt.__version__}\n"


def test_unknown_command_is_an_error_of_usage():
    result = command("fly")
    assert result.returncode == 2
    assert result.stderr.startswith("error: ")


def test_plan_of_the_command_is_one_of_the_package(tmp_path):
    plan = tmp_path / "gpt2.plan"
    assert command("compile", str(GOLDEN), "--mode=infer", "-o", str(plan)).returncode == 0
    assert "logits" in smelt.load(plan).entries


def test_ranks_are_processes_of_the_command():
    result = command("launch", "-n", "2", "--", "smelt", "--version")
    assert result.returncode == 0
    assert (result.stdout + result.stderr).count(f"smelt {smelt.__version__}") == 2


def test_ranks_import_nothing_of_the_current_directory(tmp_path):
    for name in ("smelt", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the current directory')")
    start = "import sys; sys.path.pop(0); from smelt.__main__ import main; main()"  # as the console script does
    package = str(Path(smelt.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, "-c", start, "launch", "-n", "2", "--", "smelt", "--version"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": package},
    )
    assert result.returncode == 0, result.stderr
    assert (result.stdout + result.stderr).count(f"smelt {smelt.__version__}") == 2


def test_words_need_not_be_utf8(tmp_path):
    directory = os.fsencode(tmp_path) + b"/\xff"
    result = subprocess.run([sys.executable, "-m", "smelt", "compile", directory], capture_output=True)
    assert result.returncode == 1
    assert result.stderr.startswith(b"error: ")
    assert directory in result.stderr


def test_signals_end_the_command():
    main = """
import signal, sys
import smelt.__main__ as command
command.command_line = lambda *_: [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGPIPE)] != [signal.SIG_DFL] * 2
command.main()
"""
    assert subprocess.run([sys.executable, "-c", main]).returncode == 0

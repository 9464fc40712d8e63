"""What people see while a call takes long."""

import sys
import time

import pytest

from smelt import progress


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(progress, "_DELAY", 0.05)
    monkeypatch.setattr(progress, "_PERIOD", 0.01)


def shown(capsys, seconds):
    with progress.Progress("compiling gpt2"):
        time.sleep(seconds)
    return capsys.readouterr().err


@pytest.fixture
def without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


def test_a_long_call_is_shown_and_wiped_out(capsys, monkeypatch, without_tqdm):
    monkeypatch.setenv("SMELT_PROGRESS", "1")
    text = shown(capsys, 0.3)
    assert "\rcompiling gpt2: 00:00" in text and text.endswith("\r")


def test_nobody_looks(capsys, monkeypatch, without_tqdm):
    monkeypatch.delenv("SMELT_PROGRESS", raising=False)
    assert shown(capsys, 0.2) == ""  # stderr is no terminal here
    monkeypatch.setenv("SMELT_PROGRESS", "0")
    assert shown(capsys, 0.2) == ""


def test_a_short_call_shows_nothing(capsys, monkeypatch, without_tqdm):
    monkeypatch.setenv("SMELT_PROGRESS", "1")
    monkeypatch.setattr(progress, "_DELAY", 5)
    assert shown(capsys, 0.05) == ""


def test_tqdm_is_used_where_it_is(capsys, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setenv("SMELT_PROGRESS", "1")
    assert "compiling gpt2: 00:00" in shown(capsys, 0.3)


def test_an_error_ends_it(capsys, monkeypatch, without_tqdm):
    monkeypatch.setenv("SMELT_PROGRESS", "1")
    with pytest.raises(ValueError), progress.Progress("loading weights"):
        time.sleep(0.1)
        raise ValueError
    assert "loading weights" in capsys.readouterr().err


def test_the_step_of_a_compilation_is_shown(capsys, monkeypatch, without_tqdm):
    monkeypatch.setenv("SMELT_PROGRESS", "1")
    with progress.compilation("compiling gpt2") as running:
        running.begin("emit")
        with progress.compilation("compiling model.ir") as inner:  # a part of it
            inner.begin("simplify")
            time.sleep(0.2)
    text = capsys.readouterr().err
    assert "compiling gpt2: 00:00, pass simplify" in text and "model.ir" not in text
    assert progress.current_compilation() is None

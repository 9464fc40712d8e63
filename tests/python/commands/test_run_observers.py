"""What a run leaves for TensorBoard, and its page in a browser while it goes on."""

import json
import pathlib
import shutil
import subprocess

import pytest
from browser import Browser
from conftest import SMELT

GPT2 = pathlib.Path(__file__).resolve().parents[2] / "goldens" / "gpt2"
TEXT = "In the beginning was the word, and the word was made of bytes. " * 60
OPTIONS = ["--data", "text.txt", "--data-format", "bytes", "--batch", "2", "--length", "16", "--eval-every", "5"]


def train(directory, *options):
    """Trains in the directory, whose run is `run`."""
    (directory / "text.txt").write_text(TEXT)
    command = [SMELT, "train", str(GPT2), "--from-scratch", "--run-dir", "run", *OPTIONS, *options]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return directory / "run"


def events(run, kind):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == kind]


def test_tensorboard_reads_the_events_of_a_resumed_run(tmp_path):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run = train(tmp_path, "--steps", "10", "--sample-every", "10", "--sample-tokens", "4")
    train(tmp_path, "--steps", "20", "--resume")
    found = reader.EventAccumulator(str(run / "events"), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    steps, evaluations = events(run, "step"), events(run, "evaluation")
    losses = [(event.step, event.value) for event in found.Scalars("train/loss")]
    assert losses == [(step["step"], pytest.approx(step["loss"], rel=1e-6)) for step in steps] and len(losses) == 20
    shown = [(event.step, event.value) for event in found.Scalars("eval/perplexity")]
    assert shown == [(each["step"], pytest.approx(each["perplexity"], rel=1e-6)) for each in evaluations]
    assert found.Scalars("train/learning_rate")[0].value == pytest.approx(steps[0]["learning_rate"])
    assert [event.step for event in found.Tensors("sample")] == [10]


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_the_page_of_a_run_follows_it(tmp_path):
    (tmp_path / "run").mkdir()
    server = subprocess.Popen([SMELT, "watch", "run", "--port", "0"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().split()[0]
        with Browser(url, tmp_path / "profile") as page:
            page.wait("document.getElementById('head').textContent.includes('run')")
            assert page.value("document.querySelectorAll('#loss svg').length") == 0, "there is no step yet"
            train(tmp_path, "--steps", "10", "--sample-every", "10", "--sample-tokens", "4")
            page.wait("document.getElementById('head').textContent.includes('10 steps')")
            for section in ("loss", "rate", "memory"):
                assert page.value(f"document.querySelectorAll('#{section} svg').length") > 0, section
            assert "Step 10" in page.value("document.getElementById('samples').textContent")
            assert "perplexity" in page.value("document.getElementById('events').textContent")
            train(tmp_path, "--steps", "12", "--resume")
            page.wait("document.getElementById('head').textContent.includes('12 steps')")
    finally:
        server.terminate()
        assert server.wait(20) == 0


def test_a_run_that_cannot_be_watched_is_said(tmp_path):
    done = subprocess.run([SMELT, "watch", "nowhere"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "'nowhere' is no directory: expected the --run-dir of a run" in done.stderr

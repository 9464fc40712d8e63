"""The page of `smelt serve` in a browser."""

import json
import math
import os
import pathlib
import re
import shutil

import pytest
import transformers as tf
from browser import Browser
from conftest import LLAMA

pytestmark = pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")


@pytest.fixture
def page(served, tmp_path):
    url, _ = served
    with Browser(url + "/", tmp_path / "profile") as browser:
        browser.wait("document.title === 'tiny - smelt serve'")
        browser.wait("!document.getElementById('chat').disabled")
        yield browser


def fill(page, **values):
    for name, value in values.items():
        page.value(f"document.getElementById('{name}').value = {json.dumps(str(value))}")


def click(page, name):
    page.value(f"document.getElementById('{name}').click()")


def ask(page, text):
    """Sends a text and waits for the end of the answer."""
    fill(page, prompt=text)
    click(page, "run")
    page.wait("document.getElementById('stop').disabled")


def texts(page, kind):
    return page.value(f"[...document.querySelectorAll('.message.{kind}')].map(each => each.textContent)")


def counts(page):
    return page.value("document.getElementById('counts').textContent")


def test_a_chat_goes_on(page):
    fill(page, max_tokens=12, temperature=0)
    ask(page, "Hello")
    first = texts(page, "assistant")
    ask(page, "And then?")
    assert texts(page, "user") == ["Hello", "And then?"]
    answers = texts(page, "assistant")
    assert len(answers) == 2 and answers[:1] == first and not texts(page, "fault")
    sent = page.value("messages.map(each => each.role)")
    assert sent == ["user", "assistant", "user", "assistant"]
    assert " new tokens, the first after " in counts(page)


def test_speed_and_numbers_of_tokens(page):
    fill(page, max_tokens=20, temperature=0)
    ask(page, "Hello")
    shown = counts(page)
    assert "20 new tokens" in shown and "tokens/s" in shown and "tokens of the prompt" in shown


def test_a_token_under_the_pointer_shows_its_probabilities(page):
    fill(page, max_tokens=8, temperature=0)
    ask(page, "ab")
    assert page.value("document.getElementById('tip').hidden")
    page.move_pointer_to(".token")
    page.wait("!document.getElementById('tip').hidden")
    rows = page.value("[...document.querySelectorAll('#tip tr')].map(row => [row.className, "
                      "row.cells[0].textContent, parseFloat(row.cells[1].textContent)])")
    chosen = [row for row in rows if row[0] == "sampled"]
    assert json.loads(chosen[0][1]) == page.value("document.querySelector('.token').textContent")
    probabilities = [row[2] for row in rows]
    assert len(rows) == 5 and probabilities == sorted(probabilities, reverse=True)
    assert chosen[0] == rows[0], "temperature 0 takes the most probable token"
    assert all(0 <= each <= 100 for each in probabilities) and math.fsum(probabilities) <= 100.5
    if os.environ.get("SMELT_SCREENSHOT"):
        page.screenshot(pathlib.Path(os.environ["SMELT_SCREENSHOT"]))
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
    page.wait("document.getElementById('tip').hidden")


def test_the_text_of_the_page_is_the_text_of_the_answer(page):
    """Characters of several bytes, which are several tokens of the tokenizer of bytes."""
    fill(page, max_tokens=40, temperature=1.5, seed=3)
    click(page, "completion")
    ask(page, "é")
    with_scores = page.value("document.querySelectorAll('.message')[1].textContent")
    click(page, "probabilities")
    ask(page, "é")
    assert page.value("document.querySelectorAll('.message')[1].textContent") == with_scores
    assert page.value("document.querySelectorAll('.token').length") == 0


def test_an_answer_is_stopped(page):
    """Greedy, as an answer of random tokens may begin with the end token."""
    fill(page, max_tokens=200, temperature=0, prompt="Hello")
    click(page, "run")
    page.wait("document.querySelector('.message.assistant').textContent.length > 0")
    click(page, "stop")
    page.wait("!document.getElementById('run').disabled")
    assert not texts(page, "fault")


def test_a_refusal_is_shown(page):
    fill(page, max_tokens=100000)
    ask(page, "Hello")
    [fault] = texts(page, "fault")
    assert "max_tokens" in fault or "100000" in fault, fault


def test_without_a_template_there_is_no_chat(saved, serving, tmp_path):
    from test_tokenizer_files import byte_tokenizer

    made = byte_tokenizer(["<s>", "</s>"])
    directory, _ = saved(tf.LlamaForCausalLM, tf.LlamaConfig(**{**LLAMA, "vocab_size": made.get_vocab_size()}))
    tf.PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>").save_pretrained(directory)
    with Browser(serving(directory) + "/", tmp_path / "profile") as page:
        page.wait("document.title === 'tiny - smelt serve'")
        page.wait("document.getElementById('chat').parentElement.title !== ''")
        assert page.value("document.getElementById('chat').disabled && document.getElementById('completion').checked")
        fill(page, max_tokens=5)
        ask(page, "ab")
        assert not texts(page, "fault") and re.search(r"\b[1-5] new token", counts(page))  # the end token may be drawn

"""examples/asyncio_server.py with several clients: each gets its own tokens, and one that leaves is cancelled."""

import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import pytest

import smelt
from conftest import GOLDEN

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "asyncio_server.py"
PROMPTS = [[3, 1, 4], [1, 5, 9, 2, 6], [5, 3, 5], [8, 9, 7, 9], [3, 2]]


@pytest.fixture(scope="module")
def port():
    command = [sys.executable, str(EXAMPLE), str(GOLDEN), "--port", "0", "--slots", "3", "--length", "48"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "SMELT_PROGRESS": "0"})
    try:
        said = server.stdout.readline()
        yield int(re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", said)[1])
    finally:
        server.kill()
        server.wait()


def send(port, body, method="POST"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, "/", body if isinstance(body, str) else json.dumps(body))
    return connection, connection.getresponse()


def counts(port):
    return json.loads(send(port, "", "GET")[1].read())


def told(port, body):
    """The status, and all lines of the reply."""
    connection, response = send(port, body)
    lines = [json.loads(line) for line in response.read().splitlines()]
    connection.close()
    return response.status, lines


def test_each_client_gets_what_it_gets_alone(port):
    options = dict(max_new_tokens=8, do_sample=True, seed=4)
    session = smelt.compile(GOLDEN, mode="infer", max={"B": 3, "T": 48}).session()
    expected = [session.generate([prompt], **options)[0] for prompt in PROMPTS]
    found = [None] * len(PROMPTS)

    def ask(number):
        found[number] = told(port, {"prompt": PROMPTS[number], **options})

    clients = [threading.Thread(target=ask, args=(number,)) for number in range(len(PROMPTS))]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    for (status, lines), ids in zip(found, expected):
        assert status == 200
        assert [id for line in lines for id in line["ids"]] == ids
        assert [line["finish"] for line in lines[:-1]] == [None] * (len(lines) - 1)
        assert lines[-1]["finish"] in ("stop", "length")


def test_clients_that_leave_are_cancelled(port):
    before = counts(port)
    body = json.dumps({"prompt": [1], "max_new_tokens": 47, "eos_token_id": None})
    leavers = [http.client.HTTPConnection("127.0.0.1", port) for _ in range(40)]
    for leaver in leavers:
        leaver.request("POST", "/", body)
    for leaver in leavers:
        leaver.close()
    limit = time.monotonic() + 30
    while sum((now := counts(port))[end] - before[end] for end in ("ended", "cancelled")) < len(leavers):
        assert time.monotonic() < limit
    assert now["running"] + now["waiting"] == 0
    assert now["cancelled"] - before["cancelled"] >= 10, "at least those that wait for a slot"
    assert told(port, {"prompt": [1], "max_new_tokens": 2})[0] == 200


WRONG = {
    "no JSON": ("{", "no JSON"),
    "no object": ([1], "a JSON object"),
    "no prompt": ({}, "a JSON object with a prompt"),
    "no token": ({"prompt": [999]}, "vocabulary"),
    "a text": ({"prompt": "a"}, "no tokenizer"),
    "an option": ({"prompt": [1], "max_tokens": 3}, "max_tokens"),
    "self": ({"prompt": [1], "self": 3}, "self"),
    "too long": ({"prompt": [1], "max_new_tokens": 300}, "48"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_requests_get_a_message(port, name):
    body, message = WRONG[name]
    status, lines = told(port, body)
    assert status == 400 and message in lines[0]["error"]


def test_other_methods_and_large_bodies(port):
    assert send(port, "", "PUT")[1].status == 400
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.putrequest("POST", "/")
    connection.putheader("Content-Length", str(2 << 20))
    connection.endheaders()
    assert "at most" in json.loads(connection.getresponse().read())["error"]

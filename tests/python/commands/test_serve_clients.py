"""`smelt serve` for other programs: OpenAI's client, and the requests of lm-evaluation-harness, against transformers."""

import json
import urllib.request

import pytest
import torch
import transformers


def post(url, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def log_likelihood(model, context, continuation):
    """Its sum, and whether each token of the continuation is the most probable one."""
    with torch.no_grad():
        logits = model(torch.tensor([context + continuation])).logits[0].double()
    rows = torch.log_softmax(logits, -1)[len(context) - 1 : -1]
    chosen = torch.tensor(continuation)
    return rows.gather(1, chosen[:, None]).sum().item(), bool((rows.argmax(-1) == chosen).all())


def parsed(choice, context_length):
    """What lm-evaluation-harness reads of a choice (LocalCompletionsAPI.parse_logprobs)."""
    scores = choice["logprobs"]["token_logprobs"][context_length:-1]
    best = choice["logprobs"]["top_logprobs"][context_length:-1]
    return sum(scores), all(score == max(top.values()) for score, top in zip(scores, best))


def test_loglikelihood_of_lm_evaluation_harness(served):
    url, model = served
    contexts = [[3, 1, 4, 1, 5, 9, 2, 6], [65], list(range(40, 90))]
    continuations = [[5, 3, 5], [97, 98, 99, 100], [7]]
    with torch.no_grad():  # one that is greedy
        continuations[2] = [int(model(torch.tensor([contexts[2]])).logits[0, -1].argmax())]
    body = {
        "model": "tiny",
        "prompt": [context + more for context, more in zip(contexts, continuations)],
        "temperature": 0,
        "max_tokens": 1,
        "logprobs": 1,
        "seed": 1234,
        "echo": True,
    }
    choices = post(url, "/v1/completions", body)["choices"]
    for choice, context, more in zip(choices, contexts, continuations):
        score, is_greedy = parsed(choice, len(context))
        wanted, wanted_greedy = log_likelihood(model, context, more)
        assert score == pytest.approx(wanted, abs=1e-4)
        assert is_greedy == wanted_greedy


def test_generate_until_of_lm_evaluation_harness(served):
    url, model = served
    prompt = list(b"Question: 1 + 1 = ")
    body = {
        "prompt": [prompt],
        "model": "tiny",
        "max_tokens": 8,
        "temperature": 0,
        "stop": ["\n\n\n", "</s>"],
        "seed": 1234,
    }
    found = post(url, "/v1/completions", body)["choices"][0]["token_ids"]
    wanted = model.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=8)[0].tolist()[len(prompt) :]
    assert found == wanted


def test_tokens_are_those_of_the_tokenizer(served, tmp_path):
    url, _ = served
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    text = "<s>a café</s>"
    found = post(url, "/tokenize", {"prompt": text, "return_token_strs": True})
    assert found["tokens"] == tokenizer(text).input_ids
    assert found["token_strs"] == tokenizer.convert_ids_to_tokens(found["tokens"])
    assert post(url, "/detokenize", {"tokens": found["tokens"]})["prompt"] == tokenizer.decode(found["tokens"])
    messages = [{"role": "user", "content": "x"}]
    chat = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=False)
    assert post(url, "/tokenize", {"messages": messages})["tokens"] == chat


def test_openais_client(served):
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=served[0] + "/v1", api_key="none", max_retries=0)
    whole = client.completions.create(model="tiny", prompt="ab", max_tokens=4, echo=True, logprobs=2, best_of=3, seed=1)
    assert whole.choices[0].text.startswith("ab")
    assert whole.choices[0].logprobs.token_logprobs[0] is None
    assert len(whole.choices[0].logprobs.tokens) == 2 + len(whole.choices[0].token_ids)

    options = dict(model="tiny", input="Hi", instructions="Be brief.", max_output_tokens=9, temperature=0)
    response = client.responses.create(**options)
    assert response.status in ("completed", "incomplete")
    assert response.usage.output_tokens <= 9
    streamed, last = "", None
    for event in client.responses.create(**options, stream=True):
        last = event
        if event.type == "response.output_text.delta":
            streamed += event.delta
    assert streamed == response.output_text
    assert last.response.output_text == streamed
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(**options, previous_response_id="resp-1")
    assert refused.value.body["param"] == "previous_response_id"



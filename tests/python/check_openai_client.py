"""Asks a running `smelt serve` through OpenAI's own client: completions, streams, log-probabilities and errors.

Usage: python3 check_openai_client.py http://127.0.0.1:PORT
Exit code 0: all as expected; 1: not; 77: the package openai is not installed. The model must take text.
"""
import sys


def check(held, what):
    if not held:
        sys.exit(f"not as expected: {what}")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        import openai
    except ImportError as error:
        print(f"skipped: {error}", file=sys.stderr)
        return 77
    client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
    name = client.models.list().data[0].id

    whole = client.completions.create(model=name, prompt="ab", max_tokens=12, seed=3, n=2, logprobs=2)
    check(len(whole.choices) == 2, whole)
    check(whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens, whole.usage)
    check(len(whole.choices[0].logprobs.token_logprobs) == len(whole.choices[0].token_ids), whole.choices[0])

    ids = [[], []]
    for part in client.completions.create(model=name, prompt="ab", max_tokens=12, seed=3, n=2, stream=True,
                                          stream_options={"include_usage": True}):
        for choice in part.choices:
            ids[choice.index] += choice.token_ids
    check(ids == [choice.token_ids for choice in whole.choices], ids)

    for expected, options in ((openai.BadRequestError, {"presence_penalty": 3}),
                              (openai.NotFoundError, {"model": "other"})):
        try:
            client.completions.create(**{"model": name, "prompt": "a", **options})
            check(False, f"no {expected.__name__}")
        except expected as error:
            check(error.body["param"] in options, error.body)
    try:
        client.chat.completions.create(model=name, messages=[{"role": "user", "content": "a"}])
        check(False, "no BadRequestError")
    except openai.BadRequestError as error:
        check("/v1/completions" in error.body["message"], error.body)
    print("openai's client: as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())

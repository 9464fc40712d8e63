"""Post-training in one process: a batch writes samples, a rule rewards them, and a trainer learns from the best.

    python3 examples/post_training.py --rounds 8

In each round the batch takes the trainer's weights between two steps, without files, and writes samples with them. The
reward of a sample is the share of its tokens that are larger by one than the token before. The trainer then makes an
update on the best quarter of the samples (expert iteration). The model is small, begins with random weights, and learns
to count in seconds.
"""

import argparse

import numpy

import smelt

WORDS, LENGTH, NEW = 24, 16, 12  # token ids; tokens of a row; new tokens of a sample
SPEC = {
    "family": "llama",
    "vocab_size": WORDS,
    "hidden": 64,
    "max_positions": LENGTH,
    "decoder": {"layers": 2, "heads": 4, "ffn": 128},
}
IGNORED = -100  # the label of a token that is not learned: those of the prompt and padding


def reward(prompt, ids):
    """The share of new tokens that are larger by one than the token before."""
    text = prompt + ids
    return sum(after == before + 1 for before, after in zip(text[len(prompt) - 1 :], ids)) / len(ids)


def samples_of(batch, prompts, seed):
    """A sample for each prompt, with its reward: [(reward, prompt, new tokens)]."""
    options = dict(max_new_tokens=NEW, do_sample=True, top_k=0, seed=seed, eos_token_id=None)
    results = batch.generate(prompts, **options)
    return [(reward(prompt, result.ids), prompt, result.ids) for prompt, result in zip(prompts, results)]


def rows_of(samples):
    """Samples as rows of ids and labels."""
    ids = numpy.zeros((len(samples), LENGTH), numpy.int32)
    labels = numpy.full((len(samples), LENGTH), IGNORED, numpy.int32)
    for row, (_, prompt, new) in enumerate(samples):
        end = len(prompt) + len(new)
        ids[row, :end] = prompt + new
        labels[row, len(prompt) : end] = new
    return {"input_ids": ids, "labels": labels}


def post_train(rounds, count, rate, seed=0):
    """Runs the rounds, and yields the mean reward, the loss and the version of the weights of each."""
    random = numpy.random.default_rng(seed)
    trainer = smelt.compile(SPEC, mode="train", max={"B": count // 4, "T": LENGTH}, clip=1.0).session(seed=seed)
    writer = smelt.compile(SPEC, mode="infer", max={"B": 16, "T": LENGTH}).session()
    with smelt.Batch(writer, most_waiting=count) as batch:
        for number in range(1, rounds + 1):
            batch.update_weights(trainer, version=number)
            prompts = [[int(word)] for word in random.integers(0, WORDS - NEW, count)]
            samples = sorted(samples_of(batch, prompts, number), key=lambda sample: sample[0], reverse=True)
            best = rows_of(samples[: count // 4])
            for _ in range(4):
                loss = trainer.step(lr=rate, **best).loss
            yield float(numpy.mean([sample[0] for sample in samples])), loss, batch.counts["weights_version"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="default: 20")
    parser.add_argument("--samples", type=int, default=256, help="samples of a round; default: 256")
    parser.add_argument("--lr", type=float, default=2e-3, help="learning rate; default: 0.002")
    given = parser.parse_args()
    for mean, loss, version in post_train(given.rounds, given.samples, given.lr):
        print(f"version {version}: mean reward {mean:.3f}, loss on the best {loss:.3f}", flush=True)


if __name__ == "__main__":
    main()

"""Fine-tunes a Hugging Face BERT with Smelt inside a loop that knows nothing of it.

    pip install torch transformers && pip install ./compiler/python
    python examples/finetune_bert.py [--eager] [--steps 60]

The model is small and random, the task is made up: does a sentence hold more words of the first half of the vocabulary
than of the second? One line is Smelt's, `model.compile(backend="smelt", ...)`; with --eager it is left out, and the losses
are the same.
"""

import argparse

import torch
import transformers

import smelt
from smelt.torch.backend import smelt_backend

WORDS = 100


def sentences(rows, generator):
    """Of 8 to 24 words, with padding behind them."""
    lengths = torch.randint(8, 25, (rows,), generator=generator)
    ids = torch.randint(1, WORDS, (rows, int(lengths.max())), generator=generator)
    mask = (torch.arange(ids.shape[1]) < lengths[:, None]).long()
    first = ((ids < WORDS // 2) * mask).sum(1)
    return {"input_ids": ids * mask, "attention_mask": mask, "labels": (2 * first > lengths).long()}


def make_model():
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=WORDS, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    return transformers.BertForSequenceClassification(config)


def accuracy(model, generator):
    batch = sentences(200, generator)
    labels = batch.pop("labels")
    with torch.no_grad():
        return (model(**batch).logits.argmax(-1) == labels).float().mean().item()


def train(model, steps, generator):
    """Somebody else's loop."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
    for step in range(steps):
        loss = model(**sentences(16, generator)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if step % 10 == 0 or step == steps - 1:
            print(f"step {step:4d}  loss {loss.item():.6f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eager", action="store_true", help="without Smelt")
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    model = make_model()
    if not arguments.eager:
        # To PyTorch the number of labels is a size of its own.
        model.compile(backend=smelt_backend, dynamic=True, options={"max": {"B": 200, "T": 32, "labels": 200}})
    generator = torch.Generator().manual_seed(1)
    train(model, arguments.steps, generator)
    print(f"accuracy {accuracy(model, generator):.3f} ({'PyTorch' if arguments.eager else 'Smelt ' + smelt.__version__})")


if __name__ == "__main__":
    main()

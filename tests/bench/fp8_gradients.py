"""Gradients of a Llama in fp8: Smelt's and torchao's (float8, scales by tensor), each against PyTorch's in fp32.

    pip install torchao
    python3 tests/bench/fp8_gradients.py [--hidden 256] [--layers 4] [--target cpu]

Prints a line for each way: the signal-to-noise ratio of all gradients together, and of the worst matrix, in decibels.
torchao emulates its matmuls on a CPU. Smelt's gradients are the difference that a step of SGD with a rate of 1 makes.
"""

import argparse
import tempfile

import numpy
import smelt
import torch
import transformers
from torchao.float8 import Float8LinearConfig, convert_to_float8_training


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def model_of(options):
    torch.manual_seed(options.seed)
    config = transformers.LlamaConfig(
        vocab_size=512, hidden_size=options.hidden, intermediate_size=3 * options.hidden,
        num_hidden_layers=options.layers, num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=128,
        tie_word_embeddings=False, initializer_range=0.05, attn_implementation="eager")
    return transformers.LlamaForCausalLM(config)


def gradients_of(model, ids):
    model.zero_grad()
    model(input_ids=ids, labels=ids).loss.backward()
    return {name: p.grad.double().numpy() for name, p in model.named_parameters()}


def torchao_gradients(options, state, ids, autocast):
    model = model_of(options)
    model.load_state_dict(state)
    config = Float8LinearConfig(emulate=options.target == "cpu")
    convert_to_float8_training(model, config=config, module_filter_fn=lambda _, name: name != "lm_head")
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        return gradients_of(model, ids)


def weights_of(session):
    return {name: numpy.array(numpy.from_dlpack(x), numpy.float64) for name, x in session.state_dict().items()}


def smelt_gradients(options, directory, ids, precision, **more):
    plan = smelt.compile(directory, mode="train", precision=precision, target=options.target, optimizer="sgd", clip=0,
                         weight_decay=0, max={"B": ids.shape[0], "T": ids.shape[1]}, **more)
    session = plan.session()
    before = weights_of(session)
    numbers = ids.numpy().astype(numpy.int32)
    session.step(lr=1.0, input_ids=numbers, labels=numbers)
    after = weights_of(session)
    return {name: before[name] - after[name] for name in before}


def decibels(found, exact):
    noise = sum(float(((found[n] - exact[n]) ** 2).sum()) for n in exact)
    return 10 * numpy.log10(sum(float((exact[n] ** 2).sum()) for n in exact) / noise)


def report(name, found, exact):
    matrices = [n for n in exact if exact[n].ndim == 2 and "layers" in n]
    worst = min(matrices, key=lambda n: decibels({n: found[n]}, {n: exact[n]}))
    print(f"{name:24} all {decibels(found, exact):5.1f} dB, worst matrix "
          f"{decibels({worst: found[worst]}, {worst: exact[worst]}):5.1f} dB ({worst})", flush=True)


def main():
    options = arguments()
    model = model_of(options)
    ids = torch.randint(0, 512, (4, 128))
    exact = gradients_of(model, ids)
    report("torchao float8", torchao_gradients(options, model.state_dict(), ids, False), exact)
    report("torchao float8, bf16", torchao_gradients(options, model.state_dict(), ids, True), exact)
    with tempfile.TemporaryDirectory() as directory:
        model.save_pretrained(directory)
        report("smelt bf16", smelt_gradients(options, directory, ids, "bf16"), exact)
        report("smelt fp8", smelt_gradients(options, directory, ids, "fp8", fp8_weights=["*proj*"]), exact)


main()

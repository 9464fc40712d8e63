"""How far AdamW's losses in 16 bits are off on a golden directory, for Smelt and for PyTorch's autocast beside it, over
copies whose weights differ by less than one rounding: one number of one copy says little where training is sensitive.

    python3 tests/python/adamw_spread.py DIR --precision fp16 --copies 20 [--target native] [--smelt build/smelt]

The reference is PyTorch in float64 on the same copy. Needs torch, transformers and safetensors.
"""
import argparse, json, os, re, shutil, statistics, subprocess, tempfile
import torch, transformers
from safetensors.torch import load_file, save_file

DTYPES = dict(fp16=(torch.float16, 1024.0), bf16=(torch.bfloat16, 1.0))  # and the loss scale


def copy_with_noise(source, path, seed):
    shutil.copytree(source, path)
    weights = load_file(f"{source}/model.safetensors")
    noise = torch.Generator().manual_seed(seed)
    for name, w in weights.items():
        if seed and w.dtype == torch.float32:
            weights[name] = w * (1 + 2e-4 * torch.randn(w.shape, generator=noise))
    os.chmod(f"{path}/model.safetensors", 0o644)
    os.chmod(f"{path}/golden.json", 0o644)
    save_file(weights, f"{path}/model.safetensors", metadata=dict(format="pt"))


def train(cls, path, inputs, adamw, dtype, scale=1.0):
    """The losses of as many steps as the golden file has, each before its update."""
    model = cls.from_pretrained(path, dtype=dtype, attn_implementation="eager").eval()
    steps, options = len(adamw["losses"]), {k: adamw[k] for k in ("lr", "betas", "eps", "weight_decay")}
    optimizer, losses = torch.optim.AdamW(model.parameters(), **options), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(**inputs).loss
        (loss * scale).backward()
        for p in model.parameters():
            if p.grad is not None: p.grad /= scale
        optimizer.step()
        losses.append(float(loss))
    return losses


def smelt_error(args, path):
    found = subprocess.run([args.smelt, "verify", path, "--precision", args.precision, "--target", args.target],
                           capture_output=True, text=True)
    errors = [float(e) for e in re.findall(r"loss of AdamW step \d+ +(\S+)", found.stdout)]
    return max(errors) if errors else exit(found.stderr or found.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--precision", choices=DTYPES, default="fp16")
    parser.add_argument("--copies", type=int, default=20)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--smelt", default="build/smelt")
    args = parser.parse_args()
    golden = json.load(open(f"{args.directory}/golden.json"))
    cls = getattr(transformers, golden["architecture"])
    tensors = load_file(f"{args.directory}/golden.safetensors")
    inputs = {k[6:]: v if v.is_floating_point() else v.long() for k, v in tensors.items() if k.startswith("input.")}
    wide = {k: v.double() if v.is_floating_point() else v for k, v in inputs.items()}
    dtype, scale = DTYPES[args.precision]
    smelt, pytorch = [], []
    for seed in range(args.copies):  # the first one is the directory itself
        with tempfile.TemporaryDirectory() as scratch:
            path = f"{scratch}/model"
            copy_with_noise(args.directory, path, seed)
            reference = train(cls, path, wide, golden["adamw"], torch.float64)
            with torch.autocast("cpu", dtype=dtype, cache_enabled=False):
                mixed = train(cls, path, inputs, golden["adamw"], torch.float32, scale)
            golden["adamw"]["losses"] = reference
            json.dump(golden, open(f"{path}/golden.json", "w"))
            pytorch.append(max(abs(a / b - 1) for a, b in zip(mixed, reference)))
            smelt.append(smelt_error(args, path))
    for name, errors in (("smelt", smelt), ("pytorch", pytorch)):
        print(f"{name:8s} as given {errors[0]:.1e}, median {statistics.median(errors):.1e},",
              "all", " ".join(f"{e:.1e}" for e in sorted(errors)))


if __name__ == "__main__":
    main()

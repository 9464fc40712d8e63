"""Records directories with an adapter that PEFT wrote: a model of another directory, adapter_config.json and
adapter_model.safetensors beside it, and in float64 the logits, the loss, the gradients of what the adapter trains and
the losses of ten AdamW steps. `smelt verify DIR` compares.

Usage: python3 tests/goldens/record_adapters.py MODELS OUT     (PyTorch, transformers and PEFT; runs on a CPU)
MODELS holds the directories named below; OUT gets one for each case.
"""
import contextlib
import json
import os
import shutil
import sys

import peft
import torch
import transformers
from safetensors.torch import load_file, save_file

CASES = {  # directory of the model, settings of the adapter
    "gpt2-lora": ("gpt2", dict(r=4, lora_alpha=8, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True, bias="all")),
    "llama-lora": ("llama", dict(r=6, lora_alpha=9, target_modules="all-linear", use_rslora=True,
                                 rank_pattern={"down_proj": 3}, alpha_pattern={"layers.1.self_attn.q_proj": 16})),
}
ADAMW = dict(lr=1e-3, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.1)


@contextlib.contextmanager
def float64_everywhere():
    """transformers casts softmax, norms and losses to float32 by name; in here that name means float64."""
    f32, to_float, default = torch.float32, torch.Tensor.float, torch.get_default_dtype()
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.float32 = torch.float = f32
        torch.Tensor.float = to_float
        torch.set_default_dtype(default)


def base_model(path, dtype):
    return transformers.AutoModelForCausalLM.from_pretrained(path, dtype=dtype, attn_implementation="eager").eval()


def write_adapter(model_path, settings, out, seed):
    """An adapter whose matrices are all random, as if it had been trained."""
    torch.manual_seed(seed)
    config = peft.LoraConfig(task_type="CAUSAL_LM", init_lora_weights=False, **settings)
    model = peft.get_peft_model(base_model(model_path, torch.float32), config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.add_(0.05 * torch.randn(parameter.shape))
                if "lora_B" in name:  # so that numbers of 8 bits stay close
                    parameter.mul_(0.25)
    model.peft_config["default"].base_model_name_or_path = os.path.basename(model_path)
    model.save_pretrained(out)
    os.remove(f"{out}/README.md")


def double_model(model_path, adapter_path):
    """Read in float32, as files are, and then widened."""
    model = peft.PeftModel.from_pretrained(base_model(model_path, torch.float32), adapter_path, is_trainable=True)
    return model.double().eval()


def file_names(model, adapter_path):
    """Parameter of the model -> its name in the adapter's file, found by value."""
    stored = load_file(f"{adapter_path}/adapter_model.safetensors")
    names = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            plain = name.replace(".default", "")
            same = [k for k, v in stored.items() if v.shape == parameter.shape and torch.equal(v.double(), parameter.detach())]
            names[name] = plain if plain in same else same[0]
    return names


def adamw_losses(model, inputs):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], **ADAMW)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = model(**inputs).loss
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def record(name, models, out, seed):
    source, settings = CASES[name]
    path, model_path = f"{out}/{name}", f"{models}/{source}"
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    write_adapter(model_path, settings, path, seed)
    for file in ("config.json", "generation_config.json", "model.safetensors"):
        shutil.copyfile(f"{model_path}/{file}", f"{path}/{file}")
    model = double_model(model_path, path)
    vocabulary = model.config.vocab_size
    ids = torch.randint(3, vocabulary, (3, 17), generator=torch.Generator().manual_seed(seed + 1))
    inputs = dict(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids.masked_fill(ids % 7 == 0, -100))
    names = file_names(model, path)
    with float64_everywhere():
        result = model(**inputs)
        result.loss.backward()
        tensors = {f"grad.{names[n]}": p.grad.contiguous() for n, p in model.named_parameters() if p.requires_grad}
        loss, logits = float(result.loss.detach()), result.logits.detach()
        losses = adamw_losses(model, inputs)
    tensors = {k: v.to(torch.float32) for k, v in tensors.items()}
    tensors |= {f"input.{k}": v.to(torch.int32) for k, v in inputs.items()}
    tensors["output.logits"] = logits.to(torch.float32).contiguous()
    save_file(tensors, f"{path}/golden.safetensors")
    meta = dict(name=name, seed=seed, peft=peft.__version__, transformers=transformers.__version__, torch=torch.__version__,
                loss=loss, adamw=dict(ADAMW, decay="all parameters", losses=losses))
    with open(f"{path}/golden.json", "w") as file:
        json.dump(meta, file, indent=1)
    print(name, loss, losses[-1], flush=True)


if __name__ == "__main__":
    for place, case in enumerate(CASES):
        record(case, sys.argv[1], sys.argv[2], 400 + place)

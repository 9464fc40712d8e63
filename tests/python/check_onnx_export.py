"""Exports small random models of Hugging Face to ONNX with PyTorch's exporter, imports them with smelt.onnx, and compares the
first output with PyTorch's at sizes that were not exported.

    PYTHONPATH=build/python python tests/python/check_onnx_export.py [NAME...]     # needs torch, transformers, onnx

Prints a line a model: nodes, launches, seconds to import and compile, and the largest relative error.
"""

import sys
import tempfile
import time
import warnings

import numpy
import onnx
import torch
import transformers as tf

import smelt.onnx

WIDTHS = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
TEXT = dict(WIDTHS, vocab_size=99, max_position_embeddings=64)
DECODER = dict(TEXT, use_cache=False)
GROUPED = dict(DECODER, num_key_value_heads=2)
SMALL_BART = dict(
    d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
    encoder_ffn_dim=48, decoder_ffn_dim=48, vocab_size=99, max_position_embeddings=64, use_cache=False,
)  # fmt: skip
SMALL_T5 = dict(d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=99, use_cache=False)
IMAGE = dict(WIDTHS, image_size=32, patch_size=8)

# By name: the class, its configuration, and what goes in.
MODELS = {
    "albert": (tf.AlbertModel, dict(TEXT, embedding_size=16), "text"),
    "bart": (tf.BartModel, SMALL_BART, "pair"),
    "bert": (tf.BertModel, TEXT, "text"),
    "bloom": (tf.BloomForCausalLM, dict(hidden_size=32, n_layer=2, n_head=4, vocab_size=99, use_cache=False), "text"),
    "clip_text": (tf.CLIPTextModel, TEXT, "text"),
    "deberta_v2": (
        tf.DebertaV2Model,
        dict(TEXT, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8),
        "text",
    ),
    "deit": (tf.DeiTModel, IMAGE, "image"),
    "distilbert": (
        tf.DistilBertModel,
        dict(dim=32, n_layers=2, n_heads=4, hidden_dim=48, vocab_size=99, max_position_embeddings=64),
        "text",
    ),
    "electra": (tf.ElectraModel, dict(TEXT, embedding_size=16), "text"),
    "falcon": (
        tf.FalconForCausalLM,
        dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=99, use_cache=False),
        "text",
    ),
    "gemma2": (tf.Gemma2ForCausalLM, dict(GROUPED, head_dim=8), "text"),
    "gemma3": (tf.Gemma3ForCausalLM, dict(GROUPED, head_dim=8), "text"),
    "gpt2": (tf.GPT2LMHeadModel, dict(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64, use_cache=False), "text"),
    "gpt_neox": (tf.GPTNeoXForCausalLM, DECODER, "text"),
    "llama": (tf.LlamaForCausalLM, GROUPED, "text"),
    "marian": (tf.MarianModel, dict(SMALL_BART, pad_token_id=98), "pair"),
    "mistral": (tf.MistralForCausalLM, dict(GROUPED, sliding_window=8), "text"),
    "modernbert": (tf.ModernBertModel, dict(TEXT, pad_token_id=0), "text"),
    "olmo2": (tf.Olmo2ForCausalLM, DECODER, "text"),
    "opt": (
        tf.OPTForCausalLM,
        dict(WIDTHS, ffn_dim=48, vocab_size=99, max_position_embeddings=64, word_embed_proj_dim=32, use_cache=False),
        "text",
    ),
    "phi": (tf.PhiForCausalLM, DECODER, "text"),
    "phi3": (tf.Phi3ForCausalLM, dict(DECODER, pad_token_id=0), "text"),
    "qwen2": (tf.Qwen2ForCausalLM, GROUPED, "text"),
    "qwen3": (tf.Qwen3ForCausalLM, dict(GROUPED, head_dim=8), "text"),
    "resnet": (tf.ResNetModel, dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1]), "image"),
    "roberta": (tf.RobertaModel, TEXT, "text"),
    "swin": (
        tf.SwinModel,
        dict(image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4),
        "image",
    ),
    "t5": (tf.T5ForConditionalGeneration, SMALL_T5, "pair"),
    "t5_encoder": (tf.T5EncoderModel, SMALL_T5, "text"),
    "vit": (tf.ViTModel, IMAGE, "image"),
    "wav2vec2": (
        tf.Wav2Vec2Model,
        dict(WIDTHS, vocab_size=99, conv_dim=(8, 8), conv_stride=(5, 2), conv_kernel=(10, 3),
             num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2),
        "sound",
    ),
    "xlm_roberta": (tf.XLMRobertaModel, TEXT, "text"),
}  # fmt: skip
BOUNDS = {"batch": 4, "length": 40, "target": 20}


def inputs_of(kind, batch, length):
    if kind == "image":
        return {"pixel_values": torch.randn(batch, 3, 32, 32)}
    if kind == "sound":
        return {"input_values": torch.randn(batch, 400)}
    mask = torch.ones(batch, length, dtype=torch.long)
    if length > 3:
        mask[0, length - 2 :] = 0
    inputs = {"input_ids": torch.randint(3, 98, (batch, length)), "attention_mask": mask}
    return inputs if kind == "text" else {**inputs, "decoder_input_ids": torch.randint(3, 98, (batch, min(length, 13)))}


class FirstOutput(torch.nn.Module):
    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *arrays):
        return self.model(**dict(zip(self.names, arrays)))[0]


def exported(model, kind, path):
    inputs = inputs_of(kind, 2, 7)
    sizes = {"input_ids": {0: "batch", 1: "length"}, "decoder_input_ids": {0: "batch", 1: "target"}}
    sizes["attention_mask"] = sizes["input_ids"]
    torch.onnx.export(
        FirstOutput(model, list(inputs)).eval(),
        tuple(inputs.values()),
        path,
        input_names=list(inputs),
        output_names=["y"],
        dynamic_axes={name: sizes.get(name, {0: "batch"}) for name in inputs},
        dynamo=False,
        opset_version=17,
    )
    return onnx.load(path)


def largest_error(model, session, kind):
    errors = []
    for batch, length in [(2, 7), (1, 1), (3, 31), (4, 33)]:
        inputs = inputs_of(kind, batch, length)
        with torch.no_grad():
            expected = model(**inputs)[0].numpy()
        given = {name: array.numpy() for name, array in inputs.items() if name in session.model.inputs}
        errors.append(numpy.linalg.norm(session.run(given)["y"] - expected) / numpy.linalg.norm(expected))
    return max(errors)


def check(name):
    cls, config, kind = MODELS[name]
    torch.manual_seed(0)
    model = cls(cls.config_class(**config, attn_implementation="eager")).eval()
    with tempfile.TemporaryDirectory() as place:
        proto = exported(model, kind, f"{place}/model.onnx")
        begun = time.perf_counter()
        compiled = smelt.onnx.compile_model(proto, max=BOUNDS, no_plan_cache=True)
    seconds = time.perf_counter() - begun
    error = largest_error(model.eval(), compiled.session(), kind)
    steps = compiled.plan.entries["main"]["steps"]
    print(
        f"{name:<12} {len(proto.graph.node):>5} nodes {steps:>4} launches {seconds:5.2f} s  error {error:.1e}",
        flush=True,
    )
    return error < 1e-5


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    results = [check(name) for name in sys.argv[1:] or MODELS]
    print(f"{sum(results)} of {len(results)} agree with PyTorch")
    sys.exit(not all(results))

"""The models of Hugging Face in PyTorch's own benchmarks of torch.compile (pytorch/benchmarks/dynamo/huggingface_models_list.txt,
huggingface.py), each with its configuration of published size, its batch and its length, and initial weights; and a
second list of models of images, sound and diffusion."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Optional

import torch
import transformers

Inputs = dict[str, torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Model:
    """A class of transformers with the fields of its configuration that differ from their defaults."""

    cls: str
    batch: int
    length: int = 128
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    decoder_ids: bool = False
    """Whether forward is given the decoder's tokens, too."""
    inputs: Optional[Callable[["Model", Any, torch.Generator, int], Inputs]] = None
    """Inputs of models that do not read text alone."""


DYNAMO = {
    "AlbertForMaskedLM": Model("AlbertForMaskedLM", 8, 512),
    "AlbertForQuestionAnswering": Model("AlbertForQuestionAnswering", 8, 512),
    "AllenaiLongformerBase": Model(
        "LongformerForMaskedLM",
        8,
        1024,
        {"attention_window": [512] * 12, "vocab_size": 50265, "max_position_embeddings": 4098, "type_vocab_size": 1,
         "layer_norm_eps": 1e-5, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2},
    ),  # fmt: skip
    "BartForCausalLM": Model("BartForCausalLM", 8, 1024),
    "BartForConditionalGeneration": Model("BartForConditionalGeneration", 4, 1024),
    "BertForMaskedLM": Model("BertForMaskedLM", 32, 512),
    "BertForQuestionAnswering": Model("BertForQuestionAnswering", 32, 512),
    "BlenderbotForCausalLM": Model("BlenderbotForCausalLM", 32),
    "BlenderbotForConditionalGeneration": Model("BlenderbotForConditionalGeneration", 16, decoder_ids=True),
    "BlenderbotSmallForCausalLM": Model("BlenderbotSmallForCausalLM", 256),
    "BlenderbotSmallForConditionalGeneration": Model("BlenderbotSmallForConditionalGeneration", 128, decoder_ids=True),
    "CamemBert": Model(
        "CamembertForMaskedLM",
        32,
        512,
        {"vocab_size": 32005, "max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
    ),
    "DebertaV2ForMaskedLM": Model("DebertaV2ForMaskedLM", 8, 512),
    "DebertaV2ForQuestionAnswering": Model("DebertaV2ForQuestionAnswering", 8, 512),
    "DistilBertForMaskedLM": Model("DistilBertForMaskedLM", 256),
    "DistilBertForQuestionAnswering": Model("DistilBertForQuestionAnswering", 512),
    "DistillGPT2": Model("GPT2LMHeadModel", 32, 512, {"n_layer": 6}),
    "ElectraForCausalLM": Model("ElectraForCausalLM", 64, 512),
    "ElectraForQuestionAnswering": Model("ElectraForQuestionAnswering", 128, 512),
    "GPT2ForSequenceClassification": Model("GPT2ForSequenceClassification", 8, 1024, {"pad_token_id": 0}),
    "GPTJForCausalLM": Model("GPTJForCausalLM", 1),
    "GPTJForQuestionAnswering": Model("GPTJForQuestionAnswering", 1),
    "GPTNeoForCausalLM": Model("GPTNeoForCausalLM", 32),
    "GPTNeoForSequenceClassification": Model("GPTNeoForSequenceClassification", 32, 128, {"pad_token_id": 0}),
    "GoogleFnet": Model("FNetForMaskedLM", 32, 512),
    "LayoutLMForMaskedLM": Model("LayoutLMForMaskedLM", 32, 512),
    "LayoutLMForSequenceClassification": Model("LayoutLMForSequenceClassification", 32, 512),
    "M2M100ForConditionalGeneration": Model("M2M100ForConditionalGeneration", 64, decoder_ids=True),
    "MBartForCausalLM": Model("MBartForCausalLM", 8, 1024),
    "MBartForConditionalGeneration": Model("MBartForConditionalGeneration", 4, 1024),
    "MT5ForConditionalGeneration": Model("MT5ForConditionalGeneration", 32, decoder_ids=True),
    "MegatronBertForCausalLM": Model("MegatronBertForCausalLM", 16, 512),
    "MegatronBertForQuestionAnswering": Model("MegatronBertForQuestionAnswering", 16, 512),
    "MobileBertForMaskedLM": Model("MobileBertForMaskedLM", 256),
    "MobileBertForQuestionAnswering": Model("MobileBertForQuestionAnswering", 256),
    "OPTForCausalLM": Model("OPTForCausalLM", 4, 2048),
    "PLBartForCausalLM": Model("PLBartForCausalLM", 16, 1024),
    "PLBartForConditionalGeneration": Model("PLBartForConditionalGeneration", 8, 1024),
    "PegasusForCausalLM": Model("PegasusForCausalLM", 128),
    "PegasusForConditionalGeneration": Model("PegasusForConditionalGeneration", 64, decoder_ids=True),
    "RobertaForCausalLM": Model("RobertaForCausalLM", 32, 512, {"pad_token_id": 0}),
    "RobertaForQuestionAnswering": Model("RobertaForQuestionAnswering", 32, 512, {"pad_token_id": 0}),
    "T5ForConditionalGeneration": Model("T5ForConditionalGeneration", 8, 1024, decoder_ids=True),
    "T5Small": Model("T5ForConditionalGeneration", 8, 1024, decoder_ids=True),
    "TrOCRForCausalLM": Model("TrOCRForCausalLM", 64, 256),
    "XGLMForCausalLM": Model("XGLMForCausalLM", 32),
    "XLNetLMHeadModel": Model("XLNetLMHeadModel", 16, 512),
    "YituTechConvBert": Model("ConvBertForMaskedLM", 32, 512),
}


def images(model: Model, config: Any, generator: torch.Generator, batch: int) -> Inputs:
    size = getattr(config, "image_size", 224)
    return {"pixel_values": torch.randn(batch, config.num_channels, size, size, generator=generator)}


def waveform(model: Model, config: Any, generator: torch.Generator, batch: int) -> Inputs:
    return {"input_values": torch.randn(batch, model.length, generator=generator)}


def speech(model: Model, config: Any, generator: torch.Generator, batch: int) -> Inputs:
    features = torch.randn(batch, config.num_mel_bins, 2 * config.max_source_positions, generator=generator)
    return {"input_features": features, "decoder_input_ids": _ids(config.vocab_size, batch, model.length, generator)}


def text_and_images(model: Model, config: Any, generator: torch.Generator, batch: int) -> Inputs:
    text = _ids(config.text_config.vocab_size, batch, config.text_config.max_position_embeddings, generator)
    return {"input_ids": text, **images(model, config.vision_config, generator, batch)}


OTHERS = {
    "Wav2Vec2": Model("Wav2Vec2ForSequenceClassification", 16, 80000, inputs=waveform),
    "HuBERT": Model("HubertForSequenceClassification", 16, 80000, inputs=waveform),
    "CLIP": Model("CLIPModel", 32, inputs=text_and_images),
    "Swin": Model("SwinForImageClassification", 32, inputs=images),
    "Whisper": Model("WhisperForConditionalGeneration", 8, inputs=speech),
    "ConvNeXt": Model("ConvNextForImageClassification", 32, inputs=images),
    "ViT": Model("ViTForImageClassification", 32, inputs=images),
}

MODELS = {**DYNAMO, **OTHERS}


def make(model: Model, device: str, layers: Optional[int] = None) -> torch.nn.Module:
    """The model with initial values; layers: fewer of them, to try what can be compiled."""
    cls = getattr(transformers, model.cls)
    config = cls.config_class(**model.config)
    if layers:
        _shorten(config, layers)
    torch.manual_seed(0)
    with torch.device(device):
        made = cls(config).to(device)  # some have tensors that are made in the host's memory
    made.config.use_cache = False
    return made


def _shorten(config: Any, layers: int) -> None:
    names = ("num_hidden_layers", "encoder_layers", "decoder_layers", "num_layers", "num_decoder_layers", "n_layer", "n_layers")
    for name in names:
        if getattr(config, name, 0):
            setattr(config, name, layers)
    if getattr(config, "attention_types", None):
        config.attention_types = [[["global", "local"], layers // 2]]
        config.attention_layers = config.expand_attention_types_params(config.attention_types)
    if isinstance(getattr(config, "attention_window", None), list):
        config.attention_window = config.attention_window[:layers]


def inputs_of(name: str, config: Any, labels: bool, batch: Optional[int] = None) -> Inputs:
    """One batch in the host's memory, as the benchmarks make it: random tokens without a mask, random labels."""
    model, generator = MODELS[name], torch.Generator().manual_seed(1)
    rows = batch or model.batch
    if model.inputs:
        made = model.inputs(model, config, generator, rows)
        return {**made, **(_class_labels(config, made, rows, generator) if labels else {})}
    ids = _ids(config.vocab_size, rows, model.length, generator)
    if model.cls.startswith("Roberta"):
        ids = torch.zeros_like(ids)
    if "Bart" in model.cls:
        ids[:, -1] = config.eos_token_id
    made = {"input_ids": ids, **({"decoder_input_ids": ids.clone()} if model.decoder_ids else {})}
    return {**made, **(_text_labels(model, config, rows, generator) if labels else {})}


def _ids(count: int, rows: int, length: int, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(0, count, (rows, length), generator=generator)


def _text_labels(model: Model, config: Any, rows: int, generator: torch.Generator) -> Inputs:
    if model.cls.endswith("QuestionAnswering"):
        return {
            name: torch.randint(0, model.length, (rows,), generator=generator)
            for name in ("start_positions", "end_positions")
        }
    if model.cls.endswith("SequenceClassification"):
        return {"labels": torch.zeros(rows, dtype=torch.int64)}
    return {"labels": _ids(config.vocab_size, rows, model.length, generator)}


def _class_labels(config: Any, made: Inputs, rows: int, generator: torch.Generator) -> Inputs:
    if "decoder_input_ids" in made:
        return {"labels": _ids(config.vocab_size, *made["decoder_input_ids"].shape, generator)}
    if "input_ids" in made:
        return {}
    return {"labels": torch.randint(0, config.num_labels, (rows,), generator=generator)}

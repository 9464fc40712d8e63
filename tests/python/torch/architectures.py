"""Small random models of Hugging Face's architectures, and inputs for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import torch
import transformers

WORDS = 99
LABELS = 7
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
TEXT = dict(SMALL, vocab_size=WORDS, max_position_embeddings=64)
SPECIAL = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)
WITHOUT_DROPOUT = (
    "hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout", "activation_dropout",
    "resid_pdrop", "embd_pdrop", "attn_pdrop", "dropout_rate", "hidden_dropout", "classifier_dropout", "layerdrop",
    "encoder_layerdrop", "decoder_layerdrop", "drop_path_rate", "final_dropout", "feat_proj_dropout", "summary_last_dropout",
    "embedding_dropout", "mlp_dropout", "emb_pdrop", "classifier_dropout_prob", "activation_dropout_prob", "seq_classif_dropout",
    "qa_dropout", "embeddings_dropout", "pooler_dropout", "stochastic_depth_rate", "attention_probs_dropout", "mask_time_prob",
    "apply_spec_augment",
)  # fmt: skip


@dataclass
class Architecture:
    model: str
    config: dict
    inputs: str = "tokens"
    """Which of the functions below makes a batch."""
    config_class: str = ""
    static_loss: bool = False
    """The batch of its loss is a constant: its code asks for len() of a tensor."""

    def make(self) -> torch.nn.Module:
        """With weights that are large enough for every part to count."""
        torch.manual_seed(0)
        model_class = getattr(transformers, self.model)
        config_class = getattr(transformers, self.config_class) if self.config_class else model_class.config_class
        config = config_class(**self.config)
        _without_dropout(config)
        model = model_class(config)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.mul_(2.0)
                else:
                    parameter.add_(0.1 * torch.randn_like(parameter))
        return model.eval()

    def batch(self, rows: int, length: int, labels: bool = False) -> dict:
        generator = torch.Generator().manual_seed(1000 * rows + length)
        return INPUTS[self.inputs](generator, rows, length, labels)

    def dynamic_shapes(self, batch: dict) -> dict:
        is_static = self.static_loss and "return_loss" in batch
        return {
            name: {i: "BT"[i] for i in range(is_static, min(value.dim(), 2 if self.has_length(name) else 1))}
            for name, value in batch.items()
            if isinstance(value, torch.Tensor)
        }

    @staticmethod
    def has_length(name: str) -> bool:
        return name not in ("pixel_values", "input_features", "class_labels", "spectrogram")


def _without_dropout(config) -> None:
    for part in (config, *(getattr(config, n, None) for n in ("text_config", "vision_config", "decoder", "encoder"))):
        for name in WITHOUT_DROPOUT:
            if hasattr(part, name) and not callable(getattr(part, name)):
                setattr(part, name, False if name == "apply_spec_augment" else 0.0)


# ---- batches


def tokens(generator, rows, length, labels, extra=()):
    ids = torch.randint(3, WORDS, (rows, length), generator=generator)
    mask = torch.ones_like(ids)
    mask[0, length - length // 3 :] = 0
    batch = {"input_ids": ids.masked_fill(mask == 0, 0), "attention_mask": mask}
    if labels:
        given = torch.randint(3, WORDS, (rows, length), generator=generator)
        batch["labels"] = given.masked_fill(mask == 0, -100)
    return batch


def classes(generator, rows, length, labels):
    batch = tokens(generator, rows, length, False)
    if labels:
        batch["labels"] = torch.randint(0, LABELS, (rows,), generator=generator)
    return batch


def answers(generator, rows, length, labels):
    """Where an answer begins and ends; beyond the end, which is counted by no loss, in the first row."""
    batch = tokens(generator, rows, length, False)
    if labels:
        for name in ("start_positions", "end_positions"):
            batch[name] = torch.randint(0, length, (rows,), generator=generator)
            batch[name][0] = length + 3
    return batch


def pairs(generator, rows, length, labels):
    """Of an encoder and a decoder, whose own tokens are made of the labels in the model."""
    return tokens(generator, rows, length, True)


def images(generator, rows, length, labels):
    batch = {"pixel_values": torch.randn(rows, 3, 32, 32, generator=generator)}
    if labels:
        batch["labels"] = torch.randint(0, LABELS, (rows,), generator=generator)
    return batch


def speech(generator, rows, length, labels):
    batch = {"input_values": torch.randn(rows, 400 + 16 * length, generator=generator)}
    if labels:
        batch["labels"] = torch.randint(0, LABELS, (rows,), generator=generator)
    return batch


def spectrograms(generator, rows, length, labels):
    ids = torch.randint(3, WORDS, (rows, length), generator=generator)
    batch = {"input_features": torch.randn(rows, 8, 60, generator=generator), "decoder_input_ids": ids}
    if labels:
        batch["labels"] = torch.randint(3, WORDS, (rows, length), generator=generator)
    return batch


def images_and_texts(generator, rows, length, labels):
    batch = tokens(generator, rows, length, False)
    batch["pixel_values"] = torch.randn(rows, 3, 32, 32, generator=generator)
    if labels:
        batch["return_loss"] = True
    return batch


INPUTS: dict[str, Callable] = {
    "tokens": tokens,
    "classes": classes,
    "answers": answers,
    "pairs": pairs,
    "images": images,
    "speech": speech,
    "spectrograms": spectrograms,
    "images_and_texts": images_and_texts,
}


# ---- the table

GPT = dict(n_embd=32, n_layer=2, n_head=4, vocab_size=WORDS, n_positions=64, **SPECIAL)
GROUPED = dict(TEXT, num_key_value_heads=2, **SPECIAL)
VISION = dict(SMALL, image_size=32, patch_size=8, num_labels=LABELS)
BART = dict(
    d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
    encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=WORDS, max_position_embeddings=64, decoder_start_token_id=2,
    forced_eos_token_id=None, **SPECIAL,
)  # fmt: skip
T5 = dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=WORDS, decoder_start_token_id=0)
SPEECH = dict(
    SMALL, vocab_size=WORDS, num_labels=LABELS, conv_dim=(8, 8), conv_kernel=(10, 3), conv_stride=(5, 2), num_feat_extract_layers=2,
    num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4,
)  # fmt: skip
TWO = dict(
    projection_dim=16,
    text_config=dict(SMALL, vocab_size=WORDS, max_position_embeddings=64, **SPECIAL),
    vision_config=dict(SMALL, image_size=32, patch_size=8),
)

A = Architecture
ARCHITECTURES = {
    "albert": A("AlbertForMaskedLM", dict(TEXT, embedding_size=16)),
    "bart": A("BartForConditionalGeneration", BART, "pairs"),
    "bert": A("BertForMaskedLM", TEXT),
    "bloom": A("BloomForCausalLM", dict(hidden_size=32, n_layer=2, n_head=4, vocab_size=WORDS, **SPECIAL)),
    "clip": A("CLIPModel", TWO, "images_and_texts", "CLIPConfig", static_loss=True),
    "deberta-v2": A("DebertaV2ForMaskedLM", dict(TEXT, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8)),
    "deit": A("DeiTForImageClassification", VISION, "images"),
    "distilbert": A("DistilBertForMaskedLM", dict(dim=32, n_layers=2, n_heads=4, hidden_dim=64, vocab_size=WORDS, max_position_embeddings=64)),
    "electra": A("ElectraForMaskedLM", dict(TEXT, embedding_size=16)),
    "falcon": A("FalconForCausalLM", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=WORDS, **SPECIAL)),
    "gemma": A("GemmaForCausalLM", dict(GROUPED, head_dim=8)),
    "gemma2": A("Gemma2ForCausalLM", dict(GROUPED, head_dim=8, sliding_window=8)),
    "gemma3": A("Gemma3ForCausalLM", dict(GROUPED, head_dim=8, sliding_window=8), config_class="Gemma3TextConfig"),
    "gpt2": A("GPT2LMHeadModel", GPT),
    "gpt-neox": A("GPTNeoXForCausalLM", dict(TEXT, **SPECIAL)),
    "hubert": A("HubertForSequenceClassification", SPEECH, "speech"),
    "llama": A("LlamaForCausalLM", GROUPED),
    "marian": A("MarianMTModel", BART, "pairs"),
    "mistral": A("MistralForCausalLM", dict(GROUPED, sliding_window=8)),
    "mixtral": A("MixtralForCausalLM", dict(GROUPED, num_local_experts=4)),
    "modernbert": A("ModernBertForMaskedLM", dict(TEXT, local_attention=8, global_attn_every_n_layers=2, **SPECIAL, cls_token_id=1, sep_token_id=2)),
    "olmo2": A("Olmo2ForCausalLM", GROUPED),
    "opt": A("OPTForCausalLM", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, word_embed_proj_dim=32, vocab_size=WORDS, max_position_embeddings=64, **SPECIAL)),
    "phi": A("PhiForCausalLM", dict(TEXT, **SPECIAL)),
    "phi3": A("Phi3ForCausalLM", GROUPED),
    "qwen2": A("Qwen2ForCausalLM", GROUPED),
    "qwen3": A("Qwen3ForCausalLM", dict(GROUPED, head_dim=8)),
    "qwen3-moe": A("Qwen3MoeForCausalLM", dict(GROUPED, head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, decoder_sparse_step=1)),
    "roberta": A("RobertaForMaskedLM", dict(TEXT, max_position_embeddings=66, **SPECIAL)),
    "siglip": A("SiglipModel", dict(text_config=TWO["text_config"], vision_config=TWO["vision_config"]), "images_and_texts", "SiglipConfig"),
    "swin": A("SwinForImageClassification", dict(image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4, num_labels=LABELS), "images"),
    "t5": A("T5ForConditionalGeneration", T5, "pairs"),
    "vit": A("ViTForImageClassification", VISION, "images"),
    "wav2vec2": A("Wav2Vec2ForSequenceClassification", SPEECH, "speech"),
    "whisper": A("WhisperForConditionalGeneration", dict(BART, num_mel_bins=8, max_source_positions=30, max_target_positions=64), "spectrograms"),
    "xlm-roberta": A("XLMRobertaForMaskedLM", dict(TEXT, max_position_embeddings=66, **SPECIAL)),
}  # fmt: skip

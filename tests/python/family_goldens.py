"""Small models of families beside those of variant_goldens.py; what tests/goldens/ keeps of them is recorded from here.
A module for the recorder of goldens: MODELS=family_goldens SEED=700 in its environment and tests/python in PYTHONPATH.

Usage: python3 tests/python/family_goldens.py DIR...     gives the outputs of recorded heads without `logits` their names
"""
import sys

import torch
import transformers as tf
from safetensors.torch import load_file, save_file

IDS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)
DECODER = dict(vocab_size=35, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=21,
               max_position_embeddings=64)
BART = dict(vocab_size=29, d_model=20, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
            decoder_attention_heads=4, encoder_ffn_dim=23, decoder_ffn_dim=21, max_position_embeddings=24,
            activation_function="relu")
BERT = dict(vocab_size=31, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=25,
            max_position_embeddings=20)


def masked(rows, length, places):
    """Rows of which all but the first end earlier, or have padding inside."""
    mask = torch.ones(rows, length, dtype=torch.long)
    for row in range(1, rows):
        if places == "right":
            mask[row, length - 2 * row:] = 0
        elif places == "inside":
            mask[row, 4:4 + row] = 0
    return mask


def text(rows, length, vocabulary, places="inside", padding=None):
    def draw(random):
        ids, mask = torch.randint(3, vocabulary, (rows, length), generator=random), masked(rows, length, places)
        labels = ids.masked_fill(mask == 0, -100)
        return dict(input_ids=ids if padding is None else ids.masked_fill(mask == 0, padding), attention_mask=mask, labels=labels)
    return draw


def translation(rows, source, target, vocabulary, padding):
    def draw(random):
        labels = torch.randint(3, vocabulary, (rows, target), generator=random)
        labels[0, target - 2:] = -100
        mask = masked(rows, source, "right")
        ids = torch.randint(3, vocabulary, (rows, source), generator=random).masked_fill(mask == 0, padding)
        return dict(input_ids=ids, attention_mask=mask, labels=labels)
    return draw


def classes(rows, length, vocabulary, count):
    def draw(random):
        return dict(input_ids=torch.randint(3, vocabulary, (rows, length), generator=random),
                    attention_mask=masked(rows, length, "right"), labels=torch.randint(0, count, (rows,), generator=random))
    return draw


def images(rows, side, count):
    return lambda random: dict(pixel_values=torch.randn(rows, 3, side, side, generator=random),
                               labels=torch.randint(0, count, (rows,), generator=random))


def beginning(length):
    return lambda x: dict(input_ids=x["input_ids"][:, :length], attention_mask=torch.ones_like(x["input_ids"][:, :length]))


def source(x):
    return dict(input_ids=x["input_ids"], attention_mask=x["attention_mask"])


def decoder(name, model, config, **changes):
    return name, model, config(**(DECODER | IDS | changes)), text(3, 15, 35), dict(prompt=beginning(5), new=4)


def without_text(*arguments, **changes):
    """Of a length at which no caches are built."""
    name, model, config, inputs, _ = decoder(*arguments, **changes)
    return name, model, config, inputs, {}


def encoder_decoder(name, model, config, padding, **changes):
    return name, model, config(**(BART | changes)), translation(3, 11, 7, 29, padding), dict(
        prompt=source, std=0.05, new=3, steps=600)


def decoders():
    yield decoder("phi", tf.PhiForCausalLM, tf.PhiConfig, num_key_value_heads=1,
                  rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5))
    yield decoder("phi3", tf.Phi3ForCausalLM, tf.Phi3Config, num_key_value_heads=1, original_max_position_embeddings=64)
    yield without_text("phi3-longrope", tf.Phi3ForCausalLM, tf.Phi3Config, num_key_value_heads=1,
                  max_position_embeddings=48, original_max_position_embeddings=12,
                  rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=1.0,
                                       original_max_position_embeddings=12, factor=4.0,
                                       short_factor=[1.0, 1.1, 1.3, 1.6], long_factor=[1.5, 2.0, 3.0, 4.5]))
    yield decoder("gemma3", tf.Gemma3ForCausalLM, tf.Gemma3TextConfig, num_key_value_heads=1, head_dim=10,
                  query_pre_attn_scalar=7, sliding_window=5, layer_types=["sliding_attention", "full_attention"],
                  rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=10000.0),
                                       full_attention=dict(rope_type="linear", rope_theta=1000000.0, factor=8.0)))
    yield decoder("olmo2", tf.Olmo2ForCausalLM, tf.Olmo2Config, num_key_value_heads=1)
    yield decoder("granite", tf.GraniteForCausalLM, tf.GraniteConfig, num_key_value_heads=1, embedding_multiplier=3.0,
                  logits_scaling=2.0, residual_multiplier=0.7, attention_multiplier=0.3)
    yield decoder("cohere", tf.CohereForCausalLM, tf.CohereConfig, num_key_value_heads=1, logit_scale=0.6)
    yield decoder("glm4", tf.Glm4ForCausalLM, tf.Glm4Config, num_key_value_heads=1, head_dim=8,
                  rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5))
    yield decoder("glm", tf.GlmForCausalLM, tf.GlmConfig, num_key_value_heads=1, head_dim=8, pad_token_id=0,
                  rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5))
    yield decoder("stablelm", tf.StableLmForCausalLM, tf.StableLmConfig, num_key_value_heads=1, use_qkv_bias=True,
                  rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5))
    yield decoder("llama-yarn", tf.LlamaForCausalLM, tf.LlamaConfig, num_key_value_heads=1,
                  rope_parameters=dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, beta_fast=4.0, beta_slow=0.5,
                                       original_max_position_embeddings=16, mscale=0.8, mscale_all_dim=0.3,
                                       truncate=False))


def encoder_decoders():
    yield encoder_decoder("mbart", tf.MBartForConditionalGeneration, tf.MBartConfig, 1, pad_token_id=1, bos_token_id=0,
                          eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None, scale_embedding=True)
    yield encoder_decoder("m2m-100", tf.M2M100ForConditionalGeneration, tf.M2M100Config, 1, pad_token_id=1, bos_token_id=0,
                          eos_token_id=2, decoder_start_token_id=2, encoder_layerdrop=0.0, decoder_layerdrop=0.0)
    yield encoder_decoder("pegasus", tf.PegasusForConditionalGeneration, tf.PegasusConfig, 0, pad_token_id=0,
                          eos_token_id=1, decoder_start_token_id=0, forced_eos_token_id=None, scale_embedding=True)
    yield "mt5", tf.MT5ForConditionalGeneration, tf.MT5Config(
        vocab_size=29, d_model=20, d_kv=6, d_ff=28, num_layers=1, num_decoder_layers=1, num_heads=3,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1), translation(3, 11, 7, 29, 0), dict(
        prompt=source, std=0.05, new=2, steps=1200)


def encoders():
    yield "camembert", tf.CamembertForMaskedLM, tf.CamembertConfig(**BERT, pad_token_id=1, type_vocab_size=1), text(
        3, 13, 31, "right", 1), {}
    yield "electra", tf.ElectraForMaskedLM, tf.ElectraConfig(**BERT, embedding_size=14), text(3, 13, 31), {}
    yield "electra-classes", tf.ElectraForSequenceClassification, tf.ElectraConfig(**BERT, embedding_size=14, num_labels=3), classes(
        4, 13, 31, 3), {}
    yield "albert", tf.AlbertForMaskedLM, tf.AlbertConfig(**BERT, embedding_size=14, hidden_act="gelu_new"), text(3, 13, 31), {}
    yield "albert-classes", tf.AlbertForSequenceClassification, tf.AlbertConfig(**BERT, embedding_size=14, num_labels=3), classes(
        4, 13, 31, 3), {}
    image = dict(image_size=21, patch_size=7, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=31)
    yield "deit", tf.DeiTForImageClassification, tf.DeiTConfig(**image, num_labels=5), images(3, 21, 5), {}


# ---------------------------------------------------------------- heads
SMALL = dict(vocab_size=23, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=20,
             max_position_embeddings=20)
DISTIL = dict(vocab_size=23, dim=16, n_layers=1, n_heads=2, hidden_dim=20, max_position_embeddings=20)
PARTS = (("start_logits", "end_logits"), ("prediction_logits", "seq_relationship_logits"))


def with_logits(model):
    """The class under its own name, whose outputs without `logits` have all of their numbers there, one after another."""
    def forward(self, *arguments, **options):
        output = model.forward(self, *arguments, **options)
        parts = [output[name] for names in PARTS for name in names if name in output]
        output.logits = torch.cat([part.reshape(-1) for part in parts])
        return output
    return type(model.__name__, (model,), dict(forward=forward))


def with_names(directory):
    """Divides the recorded numbers of with_logits() between the outputs."""
    path = f"{directory}/golden.safetensors"
    tensors = load_file(path)
    logits, ids = tensors.pop("output.logits"), tensors["input.input_ids"]
    relation = 2 * len(ids) if "input.next_sentence_label" in tensors else 0
    names = PARTS[1] if relation else PARTS[0]
    sizes = [len(logits) - relation, relation] if relation else [len(logits) // 2] * 2
    shapes = [(*ids.shape, -1), (len(ids), 2)] if relation else [ids.shape] * 2
    for name, part, shape in zip(names, logits.split(sizes), shapes):
        tensors[f"output.{name}"] = part.reshape(shape).contiguous()
    save_file(tensors, path)


def token_classes(random):
    x = text(3, 9, 23, "right")(random)
    x["labels"] = torch.randint(0, 5, (3, 9), generator=random).masked_fill(x["attention_mask"] == 0, -100)
    return x


def spans(random):
    """One answer begins after the text, so that it does not count."""
    x = text(4, 9, 23, "right")(random)
    del x["labels"]
    return x | dict(start_positions=torch.tensor([2, 0, 11, 1]), end_positions=torch.tensor([5, 0, 3, 4]))


def choices(random):
    """The gradient of the bias is 0 but for rounding, which is small beside the gradients of large weights."""
    x = {name: value.reshape(2, 3, 9) for name, value in text(6, 9, 23)(random).items()}
    return x | dict(labels=torch.tensor([2, 0]))


def pretraining(random):
    x = text(3, 9, 23, "right")(random)
    return x | dict(labels=x["labels"].masked_fill(x["labels"] % 3 > 0, -100), next_sentence_label=torch.tensor([1, 0, 1]))


def heads():
    roberta = SMALL | dict(pad_token_id=1, bos_token_id=0, eos_token_id=2)
    yield "bert-tokens", tf.BertForTokenClassification, tf.BertConfig(**SMALL, num_labels=5), token_classes, {}
    yield "roberta-tokens", tf.RobertaForTokenClassification, tf.RobertaConfig(**roberta, num_labels=5), token_classes, {}
    yield "distilbert-tokens", tf.DistilBertForTokenClassification, tf.DistilBertConfig(**DISTIL, num_labels=5), token_classes, {}
    yield "bert-spans", with_logits(tf.BertForQuestionAnswering), tf.BertConfig(**SMALL), spans, {}
    yield "roberta-spans", with_logits(tf.RobertaForQuestionAnswering), tf.RobertaConfig(**roberta), spans, {}
    yield "distilbert-spans", with_logits(tf.DistilBertForQuestionAnswering), tf.DistilBertConfig(**DISTIL), spans, {}
    yield "albert-spans", with_logits(tf.AlbertForQuestionAnswering), tf.AlbertConfig(**SMALL, embedding_size=10), spans, {}
    yield "bert-choices", tf.BertForMultipleChoice, tf.BertConfig(**SMALL), choices, dict(std=0.3)
    yield "roberta-choices", tf.RobertaForMultipleChoice, tf.RobertaConfig(**roberta), choices, dict(std=0.3)
    yield "distilbert-choices", tf.DistilBertForMultipleChoice, tf.DistilBertConfig(**DISTIL), choices, dict(std=0.3)
    yield "bert-pretraining", with_logits(tf.BertForPreTraining), tf.BertConfig(**SMALL), pretraining, {}


def models():
    yield from decoders()
    yield from encoder_decoders()
    yield from encoders()
    yield from heads()


if __name__ == "__main__":
    for directory in sys.argv[1:]:
        with_names(directory)

"""Models that differ from the usual ones of their family in as many fields as one small directory can hold; what
tests/goldens/ keeps is recorded from here. A module for the recorder of goldens: MODELS=variant_goldens in its
environment and tests/python in PYTHONPATH. `edits` are made to config.json as it is saved, so that PyTorch, too,
reads the older spellings.
"""
import json
import torch, transformers as tf

IDS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)


def saved_with(cls, edits=(), **members):
    """The class under its own name, whose config.json gets `edits` (None takes a field away)."""
    def save_pretrained(self, path, *rest, **options):
        cls.save_pretrained(self, path, *rest, **options)
        config = json.load(open(f"{path}/config.json"))
        config.update(edits)
        with open(f"{path}/config.json", "w") as file:
            json.dump({name: value for name, value in config.items() if value is not None}, file, indent=2)
    return type(cls.__name__, (cls,), dict(members, save_pretrained=save_pretrained))


# ---------------------------------------------------------------- inputs
def mask_of(batch, length, kinds):
    """Row by row: all (no padding), right, left, inside, ragged (left, inside and right at once). Left padding is
    for encoders: in a decoder its queries see no key, and eager attention averages over the future there; so it does
    for padding that is longer than a window."""
    mask = torch.ones(batch, length, dtype=torch.long)
    for row, kind in zip(range(batch), kinds):
        if kind in ("right", "ragged"): mask[row, length - 2 - row:] = 0
        if kind in ("left", "ragged"): mask[row, :2] = 0
        if kind in ("inside", "ragged"): mask[row, 4:6] = 0
    return mask


def tokens(batch, length, vocabulary, kinds=(), types=0, classes=0, pad=None):
    """Ids with labels for each token, or with one class a row. `pad` writes that id where the mask is 0, and once
    where it is not."""
    def draw(g):
        ids, mask = torch.randint(3, vocabulary, (batch, length), generator=g), mask_of(batch, length, kinds)
        if pad is not None:
            ids = ids.masked_fill(mask == 0, pad)
            ids[0, length // 2] = pad
        x = dict(input_ids=ids, labels=ids.masked_fill(mask == 0, -100))
        if classes: x["labels"] = torch.randint(0, classes, (batch,), generator=g)
        if kinds: x["attention_mask"] = mask
        if types: x["token_type_ids"] = torch.randint(0, types, (batch, length), generator=g)
        return x
    return draw


def pairs(batch, source, target, vocabulary, kinds):
    def draw(g):
        labels = torch.randint(3, vocabulary, (batch, target), generator=g)
        labels[0, target - 2:] = -100
        ids = torch.randint(3, vocabulary, (batch, source), generator=g)
        return dict(input_ids=ids, attention_mask=mask_of(batch, source, kinds), labels=labels)
    return draw


def images(batch, channels, size, classes):
    return lambda g: dict(pixel_values=torch.randn(batch, channels, size, size, generator=g),
                          labels=torch.randint(0, classes, (batch,), generator=g))


# ---------------------------------------------------------------- families
def gpt2():
    small = dict(vocab_size=37, n_positions=15, n_embd=20, n_layer=1, n_head=4, **IDS)
    yield "gpt2-mask", tf.GPT2LMHeadModel, tf.GPT2Config(**small), tokens(4, 13, 37, ["all", "right", "inside", "right"]), {}
    yield "gpt2-scaled", tf.GPT2LMHeadModel, tf.GPT2Config(**small, scale_attn_by_inverse_layer_idx=True, n_inner=33, activation_function="silu"), tokens(2, 15, 37), {}


def rope(kind, **more): return dict(rope_type=kind, rope_theta=50.0, **more)


def llama():
    small = dict(vocab_size=41, hidden_size=21, num_hidden_layers=2, num_attention_heads=3, intermediate_size=27,
                 head_dim=8, max_position_embeddings=64, **IDS)
    whole = dict(small, num_key_value_heads=1, attention_bias=True, mlp_bias=True, tie_word_embeddings=False)
    plain, draw = tf.LlamaForCausalLM, tokens(3, 17, 41, ["all", "inside", "right"])
    yarn = dict(factor=4.0, original_max_position_embeddings=16)
    llama3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=24)
    yield "llama-linear", plain, tf.LlamaConfig(**whole, rope_parameters=rope("linear", factor=2.5)), draw, {}
    yield "llama-dynamic", plain, tf.LlamaConfig(**whole, rope_parameters=rope("dynamic", factor=2.0)), draw, {}
    yield "llama-llama3-now", plain, tf.LlamaConfig(**whole, rope_parameters=rope("llama3", **llama3)), draw, {}
    yield "llama-yarn", plain, tf.LlamaConfig(**whole, rope_parameters=rope("yarn", **yarn)), draw, {}
    yield "llama-yarn-given", plain, tf.LlamaConfig(**small, num_key_value_heads=3, rope_parameters=rope("yarn", **yarn, attention_factor=0.7, beta_fast=20.0, beta_slow=2.0)), tokens(2, 11, 41), {}
    older = dict(rope_parameters=None, rope_theta=50.0, rope_scaling=dict(llama3, type="llama3"))
    yield "llama-llama3", saved_with(plain, older), tf.LlamaConfig(**whole, rope_parameters=rope("llama3", **llama3)), draw, {}
    yield "llama-tied", plain, tf.LlamaConfig(**small, num_key_value_heads=1, tie_word_embeddings=True, rope_parameters=rope("default"), hidden_act="gelu"), tokens(2, 9, 41, pad=0), {}
    yield "mistral", tf.MistralForCausalLM, tf.MistralConfig(**small, num_key_value_heads=3, sliding_window=None), draw, {}
    yield "qwen2", tf.Qwen2ForCausalLM, tf.Qwen2Config(**{k: v for k, v in small.items() if k != "head_dim"} | dict(hidden_size=24), num_key_value_heads=1, use_sliding_window=False), draw, {}

def grouped():
    small = dict(vocab_size=41, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1, intermediate_size=27,
                 max_position_embeddings=64, **IDS)
    wide, draw = dict(small, head_dim=10), tokens(3, 17, 41, ["all", "inside", "right"])
    eight = dict(wide, num_attention_heads=8, num_hidden_layers=1)
    yield "llama-eight-queries", tf.LlamaForCausalLM, tf.LlamaConfig(**eight), draw, {}
    yield "mistral-window", tf.MistralForCausalLM, tf.MistralConfig(**wide, sliding_window=5), draw, {}
    windowed, older = dict(small, use_sliding_window=True), saved_with(tf.Qwen2ForCausalLM, dict(layer_types=None))
    yield "qwen2-window", older, tf.Qwen2Config(**windowed, sliding_window=6, max_window_layers=1), draw, {}
    yield "qwen3", tf.Qwen3ForCausalLM, tf.Qwen3Config(**wide, tie_word_embeddings=True), draw, {}
    windowed = dict(wide, attention_bias=True, use_sliding_window=True, layer_types=["sliding_attention", "full_attention"])
    yield "qwen3-window", tf.Qwen3ForCausalLM, tf.Qwen3Config(**windowed, sliding_window=6), draw, {}


def gemma():
    small = dict(vocab_size=39, hidden_size=21, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1, intermediate_size=25,
                 head_dim=10, max_position_embeddings=32, **IDS)
    draw = tokens(3, 17, 39, ["all", "inside", "right"], pad=0)
    yield "gemma", saved_with(tf.GemmaForCausalLM, dict(hidden_act="gelu")), tf.GemmaConfig(**small), draw, dict(std=0.05)
    plain = dict(small, query_pre_attn_scalar=7)
    yield "gemma2", tf.Gemma2ForCausalLM, tf.Gemma2Config(**plain, sliding_window=5, attn_logit_softcapping=2.0, final_logit_softcapping=3.0), draw, dict(std=0.05)
    yield "gemma2-plain", tf.Gemma2ForCausalLM, tf.Gemma2Config(**plain, sliding_window=40, attn_logit_softcapping=None, final_logit_softcapping=1.5), draw, dict(std=0.05)
    yield "gemma2-cap", saved_with(tf.Gemma2ForCausalLM, dict(layer_types=None)), tf.Gemma2Config(**dict(plain, num_hidden_layers=3), sliding_window=6, attn_logit_softcapping=1.0, final_logit_softcapping=None), draw, dict(std=0.05)


def opt():
    small = dict(vocab_size=37, hidden_size=20, num_hidden_layers=2, ffn_dim=27, num_attention_heads=4, max_position_embeddings=23,
                 pad_token_id=1, bos_token_id=2, eos_token_id=2)
    draw = tokens(4, 17, 37, ["all", "right", "inside", "right"], pad=1)
    yield "opt", tf.OPTForCausalLM, tf.OPTConfig(**small), draw, {}
    yield "opt-post", tf.OPTForCausalLM, tf.OPTConfig(**small, do_layer_norm_before=False, word_embed_proj_dim=14, enable_bias=False, activation_function="gelu"), tokens(2, 23, 37), {}


def gpt_neox():
    small = dict(vocab_size=37, hidden_size=36, num_hidden_layers=2, intermediate_size=23, num_attention_heads=3, max_position_embeddings=21,
                 bos_token_id=1, eos_token_id=2, pad_token_id=0)
    draw = tokens(3, 17, 37, ["all", "inside", "right"])
    yield "gpt-neox", tf.GPTNeoXForCausalLM, tf.GPTNeoXConfig(**small, rope_parameters=rope("default", partial_rotary_factor=0.5)), draw, {}
    older = dict(rope_parameters=None, rotary_pct=0.34, rotary_emb_base=50.0)
    yield "gpt-neox-serial", saved_with(tf.GPTNeoXForCausalLM, older), tf.GPTNeoXConfig(**small, use_parallel_residual=False, attention_bias=False, tie_word_embeddings=True, rope_parameters=rope("default", partial_rotary_factor=0.34)), draw, {}


def bloom():
    small = dict(vocab_size=37, n_layer=2, bos_token_id=1, eos_token_id=2, pad_token_id=3)
    yield "bloom", tf.BloomForCausalLM, tf.BloomConfig(**small, hidden_size=24, n_head=3), tokens(3, 17, 37, ["all", "inside", "right"]), {}
    yield "bloom-one-layer", tf.BloomForCausalLM, tf.BloomConfig(**dict(small, n_layer=1), hidden_size=20, n_head=4, tie_word_embeddings=False), tokens(2, 29, 37), {}


def bert():
    small = dict(vocab_size=43, hidden_size=36, num_hidden_layers=1, num_attention_heads=3, intermediate_size=29, max_position_embeddings=21)
    kinds = ["all", "right", "left", "inside", "ragged"]
    yield "bert-relu", tf.BertForMaskedLM, tf.BertConfig(**small, hidden_act="relu", type_vocab_size=3), tokens(5, 14, 43, kinds, types=3), {}
    yield "bert-classes", tf.BertForSequenceClassification, tf.BertConfig(**small, hidden_act="gelu_new", type_vocab_size=1, num_labels=5), tokens(5, 14, 43, kinds, classes=5), {}
    yield "bert-no-mask", tf.BertForSequenceClassification, tf.BertConfig(**small, num_labels=3), tokens(3, 21, 43, classes=3, pad=0), {}
    yield "bert-untied", tf.BertForMaskedLM, tf.BertConfig(**small, tie_word_embeddings=False), tokens(3, 11, 43, kinds, types=2), {}
    wide = dict(small, hidden_size=30, pad_token_id=1, max_position_embeddings=18)
    yield "roberta", tf.RobertaForMaskedLM, tf.RobertaConfig(**wide, type_vocab_size=1, bos_token_id=0, eos_token_id=2), tokens(4, 15, 43, ["all", "right", "left", "ragged"], pad=1), {}
    yield "roberta-untied", tf.RobertaForMaskedLM, tf.RobertaConfig(**wide, type_vocab_size=2, tie_word_embeddings=False, bos_token_id=0, eos_token_id=2), tokens(3, 16, 43), {}
    yield "roberta-classes", tf.RobertaForSequenceClassification, tf.RobertaConfig(**wide, type_vocab_size=1, bos_token_id=0, eos_token_id=2, num_labels=4), tokens(4, 15, 43, ["all", "right", "left", "ragged"], classes=4, pad=1), {}
    yield "xlm-roberta", tf.XLMRobertaForSequenceClassification, tf.XLMRobertaConfig(**wide, type_vocab_size=1, bos_token_id=0, eos_token_id=2, num_labels=2), tokens(3, 16, 43, classes=2), {}
    distil = dict(vocab_size=43, dim=24, n_layers=2, n_heads=4, hidden_dim=33, max_position_embeddings=19)
    yield "distilbert", tf.DistilBertForMaskedLM, tf.DistilBertConfig(**distil), tokens(4, 14, 43, kinds, pad=0), {}
    yield "distilbert-classes", tf.DistilBertForSequenceClassification, tf.DistilBertConfig(**distil, num_labels=3), tokens(4, 14, 43, kinds, classes=3, pad=0), {}
    yield "distilbert-untied", tf.DistilBertForMaskedLM, tf.DistilBertConfig(**distil, tie_word_embeddings=False, activation="relu"), tokens(2, 19, 43), {}


def vit():
    small = dict(num_hidden_layers=2, intermediate_size=31)
    yield "vit-odd", tf.ViTForImageClassification, tf.ViTConfig(**small, image_size=21, patch_size=7, num_channels=1, hidden_size=30, num_attention_heads=3, qkv_bias=False, num_labels=3), images(3, 1, 21, 3), {}
    yield "vit-tiny-patches", tf.ViTForImageClassification, tf.ViTConfig(**small, image_size=12, patch_size=3, num_channels=4, hidden_size=21, num_attention_heads=3, hidden_act="gelu_new", num_labels=7), images(5, 4, 12, 7), {}


def bart():
    ids = dict(pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None)
    uneven = dict(vocab_size=31, d_model=16, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=4,
                  encoder_ffn_dim=27, decoder_ffn_dim=23, max_position_embeddings=17)
    kinds = ["all", "right", "left", "ragged"]
    yield "bart-uneven", tf.BartForConditionalGeneration, tf.BartConfig(**uneven, **ids, scale_embedding=True, activation_function="relu"), pairs(4, 13, 7, 31, kinds), {}
    apart = dict(uneven, decoder_layers=2, encoder_layers=1, tie_word_embeddings=False)
    yield "bart-untied", tf.BartForConditionalGeneration, tf.BartConfig(**apart, **ids), pairs(3, 9, 11, 31, kinds), {}
    ids = dict(pad_token_id=30, eos_token_id=0, bos_token_id=None, decoder_start_token_id=30, forced_eos_token_id=None)
    odd = dict(uneven, d_model=15, encoder_attention_heads=3, decoder_attention_heads=1, encoder_layers=1, decoder_layers=2)
    yield "marian-odd", tf.MarianMTModel, tf.MarianConfig(**odd, **ids, activation_function="relu"), pairs(4, 11, 9, 30, kinds), {}
    yield "marian-gelu", tf.MarianMTModel, tf.MarianConfig(**uneven, **ids, scale_embedding=True, activation_function="gelu"), pairs(3, 17, 5, 30, kinds), {}


def t5():
    small = dict(vocab_size=29, d_model=18, d_kv=4, d_ff=15, num_heads=3, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    kinds, plain = ["all", "right", "left", "ragged"], tf.T5ForConditionalGeneration
    shared = {name: to for name, to in plain._tied_weights_keys.items() if not name.startswith("lm_head")}
    untied = saved_with(plain, dict(tie_word_embeddings=False), _tied_weights_keys=shared)
    yield "t5-gated", untied, tf.T5Config(**small, feed_forward_proj="gated-gelu", tie_word_embeddings=False, num_layers=1, num_decoder_layers=2, relative_attention_num_buckets=10, relative_attention_max_distance=11), pairs(4, 15, 8, 29, kinds), dict(std=0.05)
    parted = saved_with(plain, _tied_weights_keys=shared)  # config.json says tied, the checkpoint knows better
    yield "t5-stored-apart", parted, tf.T5Config(**small, feed_forward_proj="relu", num_layers=1), pairs(3, 9, 7, 29, kinds), dict(std=0.05)
    yield "t5-silu", plain, tf.T5Config(**small, feed_forward_proj="gated-silu", num_layers=2, num_decoder_layers=1, relative_attention_num_buckets=8, relative_attention_max_distance=20), pairs(3, 9, 11, 29, kinds), dict(std=0.05)
    yield "t5-gelu", plain, tf.T5Config(**small, feed_forward_proj="gelu", num_layers=1, relative_attention_max_distance=40), pairs(2, 23, 19, 29, kinds), dict(std=0.05)


# ---------------------------------------------------------------- packed documents
def packed(cls, causal):
    """The class with segment_ids: a token sees those of its own segment, and is taught none of the next one."""
    def forward(self, input_ids, segment_ids=None, labels=None, **rest):
        if segment_ids is not None:
            length, ids = input_ids.shape[1], segment_ids[:, None, None]
            seen = ids == ids.transpose(2, 3)
            if causal: seen = seen & torch.ones(length, length, dtype=torch.bool).tril()
            rest["attention_mask"] = torch.zeros(seen.shape, dtype=self.dtype).masked_fill(~seen, torch.finfo(self.dtype).min)
            if causal: labels = labels.masked_fill(segment_ids != segment_ids.roll(1, 1), -100)
        return cls.forward(self, input_ids, labels=labels, **rest)
    return type(cls.__name__, (cls,), dict(forward=forward))


def rows(vocabulary, lengths, width):
    """A row for each list of lengths, with padding behind the last document."""
    def draw(g):
        ids = torch.randint(3, vocabulary, (len(lengths), width), generator=g)
        segments, positions = torch.zeros_like(ids), torch.zeros_like(ids)
        for row, documents in enumerate(lengths):
            for number, (end, length) in enumerate(zip(torch.tensor(documents).cumsum(0).tolist(), documents)):
                segments[row, end - length:end], positions[row, end - length:end] = number + 1, torch.arange(length)
        return dict(input_ids=ids, segment_ids=segments, position_ids=positions, labels=ids.masked_fill(segments == 0, -100))
    return draw


def documents():
    lengths = [[5, 1, 7], [13], [2, 3, 4], [6, 6]]
    yield "gpt2-packed", packed(tf.GPT2LMHeadModel, True), tf.GPT2Config(vocab_size=37, n_positions=15, n_embd=20, n_layer=2, n_head=4, **IDS), rows(37, lengths, 13), {}
    yield "llama-packed", packed(tf.LlamaForCausalLM, True), tf.LlamaConfig(vocab_size=41, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=27, max_position_embeddings=64, **IDS), rows(41, lengths, 13), {}
    yield "bert-packed", packed(tf.BertForMaskedLM, False), tf.BertConfig(vocab_size=43, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=29, max_position_embeddings=21), rows(43, lengths, 13), {}


def models():
    for family in (gpt2, llama, bert, vit, bart, t5, grouped, gemma, opt, gpt_neox, bloom, documents):
        yield from family()

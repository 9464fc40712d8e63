// Gemma, Gemma 2 and the text part of Gemma 3: as Llama, with norms whose weights are stored around 0, scaled
// embeddings, gated GELU and heads whose width has nothing to do with the model's.
#include "frontend/families/families.h"

namespace smelt {

const Family& llama_family();

namespace {

// The first models say "gelu" and mean its approximation.
const std::vector<Spelling> kGemmaActivations = {
    {R"("gelu_pytorch_tanh")", R"("gelu_tanh")"},
    {R"("gelu")", R"("gelu_tanh")"},
    {R"("gelu_new")", R"("gelu_tanh")"},
    {R"("gelu_python")", R"("gelu_erf")"},
    {R"("relu")", R"("relu")"},
    {R"("silu")", R"("silu")"},
};

constexpr std::string_view kNoHead = R"({"head": {"kind": "none"}})";

// Blocks without a window have their own rotary positions; older configs have rope_scaling for them alone.
const std::vector<Spelling> kFullScalings = {{R"("default")", R"("none")"}, {R"("linear")", R"("linear")"}};
const std::vector<FieldRow> kRopeByAttention = {
    {.config = "rope_parameters.full_attention.rope_theta",
     .spec = "positions.rope_theta",
     .also_called = {"rope_theta"}},
    {.config = "rope_parameters.full_attention.rope_type",
     .spec = "positions.scaling",
     .spellings = &kFullScalings,
     .also_called = {"rope_scaling.rope_type", "rope_scaling.type"}},
    {.config = "rope_parameters.full_attention.factor",
     .spec = "positions.scaling_factor",
     .also_called = {"rope_scaling.factor"},
     .unsaid_if_empty = true},
    {.config = "rope_parameters.sliding_attention.rope_theta",
     .spec = "positions.window_rope_theta",
     .also_called = {"rope_local_base_freq"},
     .unsaid_if_empty = true},
};

Family make_gemma() {
  Family family = llama_family();
  family.model_type = "gemma";
  family.architectures = {{"GemmaForCausalLM"}, {"GemmaModel", kNoHead}};
  family.defaults = R"({"decoder": {"head_dim": 256},
                        "norm": {"kind": "rms", "eps": 1e-6, "zero_centered": true},
                        "attention": {"qkv_bias": false, "out_bias": false},
                        "ffn": {"activation": "gelu_tanh", "gated": true, "bias": false},
                        "positions": {"kind": "rope"},
                        "embedding": {"scaled": true, "frozen_padding": true},
                        "tokens": {"bos": 2, "pad": 0, "eos": 1}})";
  std::erase_if(family.fields, [](const FieldRow& row) { return row.config == "mlp_bias"; });
  for (FieldRow& row : family.fields)
    if (row.config == "hidden_act")
      row.spellings = &kGemmaActivations, row.also_called = {"hidden_activation"};
  return family;
}

Family make_gemma2() {
  Family family = make_gemma();
  family.model_type = "gemma2";
  family.architectures = {{"Gemma2ForCausalLM"}, {"Gemma2Model", kNoHead}};
  family.defaults = R"({"decoder": {"head_dim": 256},
                        "norm": {"kind": "rms", "place": "sandwich", "eps": 1e-6, "zero_centered": true},
                        "attention": {"qkv_bias": false, "out_bias": false, "scale_dim": 256,
                                      "soft_cap": 50, "window": 4096,
                                      "layers": ["sliding_attention", "full_attention"]},
                        "ffn": {"activation": "gelu_tanh", "gated": true, "bias": false},
                        "positions": {"kind": "rope"},
                        "embedding": {"scaled": true, "frozen_padding": true},
                        "head": {"soft_cap": 30},
                        "tokens": {"bos": 2, "pad": 0, "eos": 1}})";
  for (FieldRow& row : family.fields)
    if (row.config == "hidden_act") row.config = "hidden_activation", row.also_called = {"hidden_act"};
  family.fields = joined({family.fields,
                          {{.config = "query_pre_attn_scalar", .spec = "attention.scale_dim"},
                           {.config = "attn_logit_softcapping", .spec = "attention.soft_cap", .null = "0"},
                           {.config = "final_logit_softcapping", .spec = "head.soft_cap", .null = "0"},
                           {.config = "sliding_window", .spec = "attention.window", .null = "0"},
                           {.config = "layer_types", .spec = "attention.layers", .unsaid_if_empty = true}}});
  for (NameRow& row : family.names)
    if (row.role == "decoder.{}.norm_2") row.name = "layers.{}.pre_feedforward_layernorm";
  family.names = joined({family.names,
                         {{"decoder.{}.post_norm_1", "layers.{}.post_attention_layernorm"},
                          {"decoder.{}.post_norm_2", "layers.{}.post_feedforward_layernorm"}}});
  return family;
}

/// The window's blocks rotate by an angle of their own.
Family make_gemma3() {
  Family family = make_gemma2();
  family.model_type = "gemma3_text";
  family.architectures = {{"Gemma3ForCausalLM"}, {"Gemma3TextModel", kNoHead}};
  family.defaults = R"({"decoder": {"head_dim": 256},
                        "norm": {"kind": "rms", "place": "sandwich", "eps": 1e-6, "zero_centered": true},
                        "attention": {"qkv_bias": false, "out_bias": false, "scale_dim": 256, "qk_norm": true,
                                      "window": 4096, "full_every": 6},
                        "ffn": {"activation": "gelu_tanh", "gated": true, "bias": false},
                        "positions": {"kind": "rope", "rope_theta": 1000000, "window_rope_theta": 10000},
                        "embedding": {"scaled": true, "frozen_padding": true},
                        "tokens": {"bos": 2, "pad": 0, "eos": 1}})";
  std::erase_if(family.fields, [](const FieldRow& row) { return row.spec.starts_with("positions."); });
  family.fields = joined({family.fields,
                          kRopeByAttention,
                          {{.config = "sliding_window_pattern",
                            .spec = "attention.full_every",
                            .also_called = {"_sliding_window_pattern"},
                            .unsaid_if_empty = true}}});
  family.fixed = {{"rope_parameters.sliding_attention.rope_type", R"("default")"}};
  family.names = joined({family.names,
                         {{"decoder.{}.attention.query_norm", "layers.{}.self_attn.q_norm"},
                          {"decoder.{}.attention.key_norm", "layers.{}.self_attn.k_norm"}}});
  return family;
}

}  // namespace

const Family& gemma_family() {
  static const Family family = make_gemma();
  return family;
}

const Family& gemma3_family() {
  static const Family family = make_gemma3();
  return family;
}

const Family& gemma2_family() {
  static const Family family = make_gemma2();
  return family;
}

}  // namespace smelt

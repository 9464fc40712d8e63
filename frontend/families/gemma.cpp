// Gemma and Gemma 2: as Llama, with norms whose weights are stored around 0, scaled embeddings, gated GELU
// and heads whose width has nothing to do with the model's.
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

}  // namespace

const Family& gemma_family() {
  static const Family family = make_gemma();
  return family;
}

const Family& gemma2_family() {
  static const Family family = make_gemma2();
  return family;
}

}  // namespace smelt

// Phi and Phi-3. Phi adds attention and the feed-forward layer of one norm; Phi-3 is a Llama whose
// checkpoints fuse projections. Both rotate a part of each head.
#include "frontend/families/families.h"

namespace smelt {

const Family& llama_family();

namespace {

const std::vector<FieldRow> kPhiDropouts = {{.config = "resid_pdrop", .spec = "dropout.residual"},
                                            {.config = "embd_pdrop", .spec = "dropout.embedding"}};

constexpr std::string_view kPhiNoHead = R"({"head": {"kind": "none", "bias": false}})";

/// Both norms of a block are the same one.
Family make_phi() {
  Family family = llama_family();
  family.model_type = "phi";
  family.architectures = {{"PhiForCausalLM"}, {"PhiModel", kPhiNoHead}};
  family.defaults = R"({"parallel_residual": true,
                        "ffn": {"activation": "gelu_tanh"},
                        "positions": {"kind": "rope", "rotary_fraction": 0.5},
                        "embedding": {"frozen_padding": true},
                        "head": {"tied": false, "bias": true},
                        "tokens": {"bos": 1, "eos": 2}})";
  family.fields = joined({kLlamaFields, partial_rope_fields(), kPhiDropouts});
  for (FieldRow& row : family.fields)
    if (row.config == "rms_norm_eps") row.config = "layer_norm_eps";
  family.fixed = {};
  family.names = renamed(family.names, {{"decoder.{}.attention.out", "layers.{}.self_attn.dense"},
                                        {"decoder.{}.norm_2", "layers.{}.input_layernorm"},
                                        {"decoder.{}.ffn.up", "layers.{}.mlp.fc1"},
                                        {"decoder.{}.ffn.down", "layers.{}.mlp.fc2"},
                                        {"decoder.norm", "final_layernorm"}});
  return family;
}

Family make_phi3() {
  Family family = llama_family();
  family.model_type = "phi3";
  family.architectures = {{"Phi3ForCausalLM"}, {"Phi3Model", R"({"head": {"kind": "none"}})"}};
  family.defaults = R"({"norm": {"kind": "rms", "eps": 1e-5},
                        "attention": {"qkv_bias": false, "out_bias": false, "fused_qkv": true},
                        "ffn": {"activation": "silu", "gated": true, "fused_gate": true, "bias": false},
                        "positions": {"kind": "rope"},
                        "embedding": {"frozen_padding": true},
                        "head": {"tied": false},
                        "tokens": {"bos": 1, "eos": 32000, "pad": 32000}})";
  family.fields = joined({kLlamaFields,
                          partial_rope_fields(),
                          kPhiDropouts,
                          {{.config = "sliding_window", .spec = "attention.window", .null = "0"}}});
  for (FieldRow& row : family.fields)
    if (row.spec == "positions.original_max_positions")
      row.also_called.push_back("original_max_position_embeddings");
  family.fixed = {};
  family.names = renamed(family.names, {{"decoder.{}.attention.qkv", "layers.{}.self_attn.qkv_proj"},
                                        {"decoder.{}.ffn.gate_up", "layers.{}.mlp.gate_up_proj"}});
  return family;
}

}  // namespace

const Family& phi_family() {
  static const Family family = make_phi();
  return family;
}

const Family& phi3_family() {
  static const Family family = make_phi3();
  return family;
}

}  // namespace smelt

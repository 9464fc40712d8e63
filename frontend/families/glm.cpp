// GLM and GLM-4: as Llama, with rotary positions of neighbouring elements in a part of each head, and one
// weight of both projections before the activation. GLM-4 has norms of outputs, too.
#include "frontend/families/families.h"

namespace smelt {

const Family& llama_family();

namespace {

constexpr std::string_view kGlmNoHead = R"({"head": {"kind": "none"}})";

Family make_glm() {
  Family family = llama_family();
  family.model_type = "glm";
  family.architectures = {{"GlmForCausalLM"}, {"GlmModel", kGlmNoHead}};
  family.defaults = R"({"decoder": {"head_dim": 128},
                        "norm": {"kind": "rms", "eps": 1.5625e-7},
                        "attention": {"qkv_bias": true, "out_bias": false},
                        "ffn": {"activation": "silu", "gated": true, "fused_gate": true, "bias": false},
                        "positions": {"kind": "rope", "interleaved": true, "rotary_fraction": 0.5},
                        "embedding": {"frozen_padding": true},
                        "head": {"tied": false},
                        "tokens": {"pad": 151329, "eos": [151329, 151336, 151338]}})";
  family.fields = joined(
      {kLlamaFields, partial_rope_fields(), {{.config = "attention_bias", .spec = "attention.qkv_bias"}}});
  family.fixed = {};
  family.names = renamed(family.names, {{"decoder.{}.ffn.gate_up", "layers.{}.mlp.gate_up_proj"}});
  return family;
}

Family make_glm4() {
  Family family = make_glm();
  family.model_type = "glm4";
  family.architectures = {{"Glm4ForCausalLM"}, {"Glm4Model", kGlmNoHead}};
  family.defaults = R"({"decoder": {"head_dim": 128},
                        "norm": {"kind": "rms", "place": "sandwich", "eps": 1.5625e-7},
                        "attention": {"qkv_bias": true, "out_bias": false},
                        "ffn": {"activation": "silu", "gated": true, "fused_gate": true, "bias": false},
                        "positions": {"kind": "rope", "interleaved": true, "rotary_fraction": 0.5},
                        "embedding": {"frozen_padding": true},
                        "head": {"tied": false},
                        "tokens": {"pad": 151329, "eos": [151329, 151336, 151338]}})";
  family.names = renamed(family.names, {{"decoder.{}.post_norm_1", "layers.{}.post_self_attn_layernorm"},
                                        {"decoder.{}.post_norm_2", "layers.{}.post_mlp_layernorm"}});
  return family;
}

}  // namespace

const Family& glm_family() {
  static const Family family = make_glm();
  return family;
}

const Family& glm4_family() {
  static const Family family = make_glm4();
  return family;
}

}  // namespace smelt

// OLMo 2: as Llama, with norms of the outputs of attention and of the feed-forward layer, and of all queries
// and all keys as one vector each.
#include "frontend/families/families.h"

namespace smelt {

const Family& llama_family();

const Family& olmo2_family() {
  static const Family family = [] {
    Family made = llama_family();
    made.model_type = "olmo2";
    made.architectures = {{"Olmo2ForCausalLM"}, {"Olmo2Model", R"({"head": {"kind": "none"}})"}};
    made.defaults = R"({"norm": {"kind": "rms", "place": "output", "eps": 1e-5},
                        "attention": {"qkv_bias": false, "out_bias": false, "qk_norm": true,
                                      "qk_norm_whole": true},
                        "ffn": {"activation": "silu", "gated": true, "bias": false},
                        "positions": {"kind": "rope"},
                        "embedding": {"frozen_padding": true},
                        "head": {"tied": false},
                        "tokens": {"pad": 1, "eos": 50279}})";
    made.fields = joined({kLlamaFields, rope_fields(), kAttentionBiases});
    made.names = renamed(made.names, {{"decoder.{}.post_norm_1", "layers.{}.post_attention_layernorm"},
                                      {"decoder.{}.post_norm_2", "layers.{}.post_feedforward_layernorm"},
                                      {"decoder.{}.attention.query_norm", "layers.{}.self_attn.q_norm"},
                                      {"decoder.{}.attention.key_norm", "layers.{}.self_attn.k_norm"}});
    return made;
  }();
  return family;
}

}  // namespace smelt

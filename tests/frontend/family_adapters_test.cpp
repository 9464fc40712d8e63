// Adapters of every family's usual targets, named after transformers' modules.
#include <map>
#include <set>

#include "frontend/blocks/adapters.h"
#include "frontend/description.h"
#include "frontend/lora_option.h"
#include "ir/graph/verifier.h"
#include "tests/frontend/support.h"

namespace smelt {
namespace {

/// A model directory of each family, and the module that is adapted first.
const std::map<std::string_view, std::string_view> kFirstTargets = {
    {"gpt2", "transformer.h.0.attn.c_attn"},
    {"llama-llama3", "model.layers.0.self_attn.q_proj"},
    {"mistral-window", "model.layers.0.self_attn.q_proj"},
    {"qwen2-window", "model.layers.0.self_attn.q_proj"},
    {"qwen3", "model.layers.0.self_attn.q_proj"},
    {"gemma", "model.layers.0.self_attn.q_proj"},
    {"gemma2", "model.layers.0.self_attn.q_proj"},
    {"opt", "model.decoder.layers.0.self_attn.q_proj"},
    {"gpt-neox", "gpt_neox.layers.0.attention.query_key_value"},
    {"bloom", "transformer.h.0.self_attention.query_key_value"},
    {"roberta", "roberta.encoder.layer.0.attention.self.query"},
    {"bert-multi", "bert.encoder.layer.0.attention.self.query"},
    {"distilbert", "distilbert.transformer.layer.0.attention.q_lin"},
    {"vit-odd", "vit.encoder.layer.0.attention.attention.query"},
    {"bart-uneven", "model.encoder.layers.0.self_attn.q_proj"},
    {"t5-gated", "encoder.block.0.layer.0.SelfAttention.q"}};

/// The names of its adapters' matrices in files; what else is trained is a head of classes.
std::set<std::string> adapters_in(const TransformerSpec& spec, const char* lora) {
  const auto module = build_transformer(spec, {.lora = with_defaults(parse_lora(lora), spec)});
  verify_or_throw(*module);
  std::set<std::string> names;
  for (const Module::Parameter& parameter : module->parameters)
    if (is_adapter_parameter(parameter.name))
      names.insert(parameter.checkpoint_names.front());
    else
      EXPECT_TRUE(parameter.frozen || parameter.name.starts_with("classifier.")) << parameter.name;
  return names;
}

TEST(FamilyAdapters, AreNamedAfterModules) {
  for (const auto& [directory, target] : kFirstTargets) {
    SCOPED_TRACE(directory);
    const auto path = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens" / directory;
    const TransformerSpec spec = read_description(path).spec;
    const std::string first = "base_model.model." + std::string(target) + ".lora_A.weight";
    const std::set<std::string> usual = adapters_in(spec, "r=2"),
                                all = adapters_in(spec, "r=2,targets=all-linear");
    EXPECT_TRUE(usual.contains(first)) << "there are " << (usual.empty() ? "none" : *usual.begin());
    EXPECT_GT(all.size(), usual.size());
    for (const std::string& name : usual) EXPECT_TRUE(all.contains(name)) << name;
  }
}

}  // namespace
}  // namespace smelt

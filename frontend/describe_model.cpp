// Description of a model for hosts without the frontend, as JSON.
#include "frontend/build_transformer.h"
#include "frontend/hugging_face.h"
#include "frontend/parameter_names.h"

namespace smelt {
namespace {

/// A special token: generation_config.json overrides config.json; null where there is none.
Json token_id(int64_t id, const Json& generation, const char* name) {
  const auto it = generation.find(name);
  if (it != generation.end() && it->is_number_integer()) return *it;
  return id < 0 ? Json(nullptr) : Json(id);
}

/// Reads only generation_config.json if it exists, as transformers does.
Json forced_id(int64_t id, const Json& generation, const char* name) {
  return generation.empty() ? token_id(id, generation, name) : token_id(-1, generation, name);
}

Json end_ids(const std::vector<int64_t>& ids, const Json& generation) {
  const auto it = generation.find("eos_token_id");
  if (it == generation.end() || !(it->is_number_integer() || it->is_array())) return ids;
  return it->is_array() ? *it : Json::array({*it});
}

/// Returns the checkpoint names of the parameters of all heads.
std::vector<std::string> head_tensors(const TransformerSpec& spec) {
  const ParameterNames names(spec);
  std::vector<std::string> result;
  for (const char* role : kHeadRoles)
    for (const char* kind : {"weight", "bias"})
      for (const std::string& name : names.parameter({role}, kind).checkpoint_names) result.push_back(name);
  return result;
}

/// Buffers that checkpoints of the family carry, under every prefix, and the heads that a model without a
/// head leaves out.
Json ignored_tensors(const TransformerSpec& spec) {
  Json names = Json::array();
  const Family* family = find_family(spec.family);
  if (!family) return names;
  for (std::string_view name : family->ignored_tensors)
    for (std::string_view prefix : family->prefixes) names.push_back(std::string(prefix) + std::string(name));
  if (spec.head.kind == HeadKind::none)
    for (const std::string& name : head_tensors(spec)) names.push_back(name);
  return names;
}

}  // namespace

Json describe_model(const TransformerSpec& spec, const Json& config, const Json& generation) {
  return {
      {"family", spec.family},
      {"vocab_size", spec.vocab_size},
      {"max_positions", spec.max_positions},
      {"bos_token_id", token_id(spec.tokens.bos, generation, "bos_token_id")},
      {"eos_token_id", end_ids(spec.tokens.eos, generation)},
      {"pad_token_id", token_id(spec.tokens.pad, generation, "pad_token_id")},
      {"decoder_start_token_id", token_id(spec.tokens.decoder_start, generation, "decoder_start_token_id")},
      {"forced_bos_token_id", forced_id(spec.tokens.forced_bos, generation, "forced_bos_token_id")},
      {"forced_eos_token_id", forced_id(spec.tokens.forced_eos, generation, "forced_eos_token_id")},
      {"ignore_index", spec.criterion.ignore_index},
      {"tokenizer", spec.tokenizer == TokenizerKind::bytes ? "bytes" : "none"},
      {"head_tied", spec.head.tied},
      {"ignored_tensors", ignored_tensors(spec)},
      {"spec", to_json(spec)},
      {"config", config},
      {"generation", generation}};
}

}  // namespace smelt

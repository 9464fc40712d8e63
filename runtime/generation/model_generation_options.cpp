// The options that a model's own description asks for.
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/generation/generation_options.h"
#include "runtime/plan/plan_model.h"

namespace smelt {

using Json = nlohmann::json;

namespace {

/// Special tokens of models whose generation config does not name them.
void read_tokens(const Json& model, const Json& generation, GenerationOptions& options) {
  const auto read = [&](const char* name, auto& member) {
    if (const Json id = model.value(name, Json()); !id.is_null()) member = id.get<int32_t>();
  };
  read("decoder_start_token_id", options.decoder_start_token_id);
  read("forced_bos_token_id", options.forced_bos_token_id);
  if (const Json id = model.value("forced_eos_token_id", Json()); !id.is_null())
    options.forced_eos_token_id = {id.get<int32_t>()};
  if (!options.pad_token_id) read("pad_token_id", options.pad_token_id);
  if (!generation.contains("eos_token_id"))
    options.eos_token_id = model.value("eos_token_id", std::vector<int32_t>());
}

/// They could never be chosen.
void drop_unknown_ends(const Json& model, std::vector<int32_t>& ends) {
  const int64_t vocabulary = model.value("vocab_size", std::numeric_limits<int64_t>::max());
  std::erase_if(ends, [&](int32_t id) { return id < 0 || id >= vocabulary; });
}

}  // namespace

GenerationOptions model_generation_options(std::string_view text) {
  const Json model = read_plan_model(text);
  GenerationOptions options;
  if (model.is_null()) return options;
  const Json generation = model.value("generation", Json::object());
  read_generation_config(generation.dump(), options);
  read_tokens(model, generation, options);
  drop_unknown_ends(model, options.eos_token_id);
  return options;
}

}  // namespace smelt

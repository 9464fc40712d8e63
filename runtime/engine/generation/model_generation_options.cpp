// The options that a model's own description asks for.
#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/engine/generation/generation_options.h"
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

/// Those of an old config.json, without the special tokens, which are read with the model.
Json generation_fields(const Json& config) {
  Json fields = Json::object();
  for (const auto& [name, value] : config.items()) {
    const bool is_token = name == "eos_token_id" || name == "pad_token_id";
    const bool known = is_generation_field(name) || name == "force_bos_token_to_be_generated";
    if (known && !is_token) fields[name] = value;
  }
  return fields;
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
  const Json config = model.value("config", Json());
  if (generation.empty() && config.is_object())
    read_model_config(generation_fields(config).dump(), options);
  else
    read_generation_config(generation.dump(), options);
  read_tokens(model, generation, options);
  drop_unknown_ends(model, options.eos_token_id);
  return options;
}

namespace {

/// A kind of head (HeadKind), and what a model with it does in place of writing text.
struct OtherHead {
  std::string_view kind, name, task;
};

constexpr OtherHead kOtherHeads[] = {
    {"mlm", "a masked language model",
     "fills in masked tokens, and reads what stands before and after them; `smelt run --entry logits` gives "
     "the scores of all tokens"},
    {"pretraining", "a model of pretraining",
     "fills in masked tokens, and tells whether the second text follows the first; `smelt run --entry "
     "logits` "
     "gives the scores of both"},
    {"sequence_classes", "a classifier of texts",
     "gives the scores of a text's classes; use `smelt serve --task classify` or `smelt run --entry logits`"},
    {"image_classes", "a classifier of images",
     "gives the scores of an image's classes; use `smelt run --entry logits`"},
    {"token_classes", "a classifier of tokens",
     "gives the scores of each token's classes; use `smelt run --entry logits`"},
    {"spans", "a model of answers in a text",
     "gives the scores of an answer's first and last token; use `smelt run --entry logits`"},
    {"choices", "a model of multiple choice",
     "gives the score of each choice; use `smelt run --entry logits`"},
    {"none", "a model without a head", "gives hidden states; use `smelt run --entry logits`"},
};

}  // namespace

void require_text_writer(std::string_view text) {
  const Json model = read_plan_model(text);
  if (!model.is_object() || !model.contains("spec")) return;
  const Json::json_pointer kind("/spec/head/kind"), names("/config/architectures");
  const auto* head = std::ranges::find(kOtherHeads, model.value(kind, std::string()), &OtherHead::kind);
  if (head == std::end(kOtherHeads)) return;
  const Json listed = model.value(names, Json::array());
  const bool is_named = listed.is_array() && !listed.empty() && listed[0].is_string();
  fail("{} writes no text: it {}", is_named ? listed[0].get<std::string>() : std::string(head->name),
       head->task);
}

std::vector<std::string> unknown_generation_fields(std::string_view text) {
  const Json model = read_plan_model(text);
  std::vector<std::string> unknown;
  if (!model.is_object()) return unknown;
  const Json generation = model.value("generation", Json::object());
  for (const auto& [name, value] : generation.items())
    if (!is_generation_field(name) && !value.is_null()) unknown.push_back(name);
  return unknown;
}

}  // namespace smelt

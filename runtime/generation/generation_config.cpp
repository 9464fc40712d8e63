// Hugging Face's generation_config.json as GenerationOptions.
#include <fmt/ranges.h>
#include <array>

#include <nlohmann/json.hpp>

#include "runtime/error.h"
#include "runtime/generation/generator.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

template <typename T>
struct Field {
  const char* name;
  T GenerationOptions::* member;
};

constexpr Field<double> kNumbers[] = {{"temperature", &GenerationOptions::temperature},
                                      {"top_p", &GenerationOptions::top_p},
                                      {"min_p", &GenerationOptions::min_p},
                                      {"repetition_penalty", &GenerationOptions::repetition_penalty}};
constexpr Field<int64_t> kCounts[] = {{"top_k", &GenerationOptions::top_k},
                                      {"no_repeat_ngram_size", &GenerationOptions::no_repeat_ngram_size},
                                      {"max_new_tokens", &GenerationOptions::max_new_tokens}};

/// Fields that change the result unless they have this value.
struct Neutral {
  const char* name;
  double value;
};
constexpr Neutral kUnsupported[] = {{"num_beams", 1},         {"num_beam_groups", 1},
                                    {"penalty_alpha", 0},     {"typical_p", 1},
                                    {"epsilon_cutoff", 0},    {"eta_cutoff", 0},
                                    {"diversity_penalty", 0}, {"encoder_repetition_penalty", 1},
                                    {"guidance_scale", 1},    {"min_length", 0},
                                    {"min_new_tokens", 0},    {"top_h", 0}};
constexpr const char* kUnsupportedLists[] = {"bad_words_ids", "force_words_ids",       "suppress_tokens",
                                             "constraints",   "begin_suppress_tokens", "sequence_bias"};

bool given(const Json& json, const char* name) { return json.contains(name) && !json[name].is_null(); }

void find_unsupported(const Json& json, std::vector<std::string>& problems) {
  for (const Neutral& row : kUnsupported)
    if (given(json, row.name) && !(json[row.name].is_number() && json[row.name].get<double>() == row.value))
      problems.push_back(
          fmt::format("{} = {} (only {} is supported)", row.name, json[row.name].dump(), row.value));
  for (const char* name : kUnsupportedLists)
    if (given(json, name) && !(json[name].is_array() && json[name].empty()))
      problems.push_back(fmt::format("{} (not supported)", name));
}

bool is_token_id(const Json& id) {
  return id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() <= INT32_MAX;
}

void read_end(const Json& json, GenerationOptions& options, std::vector<std::string>& problems) {
  if (!given(json, "eos_token_id")) return;
  const Json& end = json["eos_token_id"];
  const Json list = end.is_array() ? end : Json::array({end});
  options.eos_token_id.clear();
  for (const Json& id : list) {
    if (!is_token_id(id))
      problems.push_back(
          fmt::format("eos_token_id = {} (expected a token id or a list of them)", end.dump()));
    else
      options.eos_token_id.push_back(id.get<int32_t>());
  }
}

constexpr Field<std::optional<int32_t>> kForced[] = {
    {"forced_bos_token_id", &GenerationOptions::forced_bos_token_id},
    {"forced_eos_token_id", &GenerationOptions::forced_eos_token_id}};

void read_forced(const Json& json, GenerationOptions& options, std::vector<std::string>& problems) {
  for (const auto& field : kForced) {
    if (!given(json, field.name)) continue;
    const Json &value = json[field.name], &id = value.is_array() && value.size() == 1 ? value[0] : value;
    if (is_token_id(id))
      options.*field.member = id.get<int32_t>();
    else
      problems.push_back(fmt::format("{} = {} (expected one token id)", field.name, value.dump()));
  }
}

}  // namespace

void read_generation_config(std::string_view text, GenerationOptions& options) {
  const Json json = parse_json(text, "generation config");
  if (!json.is_object()) fail("generation config: expected one JSON object");
  std::vector<std::string> problems;
  find_unsupported(json, problems);
  read_end(json, options, problems);
  read_forced(json, options, problems);
  const auto wrong = [&](const char* name, const char* expected) {
    problems.push_back(fmt::format("{} = {} (expected {})", name, json[name].dump(), expected));
  };
  for (const auto& field : kNumbers) {
    if (!given(json, field.name)) continue;
    if (json[field.name].is_number())
      options.*field.member = json[field.name].get<double>();
    else
      wrong(field.name, "a number");
  }
  for (const auto& field : kCounts) {
    if (!given(json, field.name)) continue;
    if (json[field.name].is_number_integer())
      options.*field.member = json[field.name].get<int64_t>();
    else
      wrong(field.name, "a whole number");
  }
  if (given(json, "do_sample")) {
    if (json["do_sample"].is_boolean())
      options.do_sample = json["do_sample"].get<bool>();
    else
      wrong("do_sample", "true or false");
  }
  if (!problems.empty()) fail("generation config: {}", fmt::join(problems, "; "));
  options.validate();
}

}  // namespace smelt

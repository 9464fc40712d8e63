// Hugging Face's generation_config.json, and an application's options by the same names, as
// GenerationOptions.
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/error.h"
#include "runtime/engine/generation/generation_options.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

template <typename T>
struct Field {
  const char* name;
  T GenerationOptions::* member;
};

constexpr Field<double> kNumbers[] = {
    {"temperature", &GenerationOptions::temperature},
    {"top_p", &GenerationOptions::top_p},
    {"min_p", &GenerationOptions::min_p},
    {"repetition_penalty", &GenerationOptions::repetition_penalty},
    {"encoder_repetition_penalty", &GenerationOptions::encoder_repetition_penalty},
    {"length_penalty", &GenerationOptions::length_penalty},
    {"diversity_penalty", &GenerationOptions::diversity_penalty},
    {"diverse_lambda", &GenerationOptions::diverse_lambda}};
/// Options of OpenAI's API that generation_config.json does not have.
constexpr Field<double> kOwnNumbers[] = {{"presence_penalty", &GenerationOptions::presence_penalty},
                                         {"frequency_penalty", &GenerationOptions::frequency_penalty}};
/// An option of vLLM's API that generation_config.json does not have.
constexpr Field<std::vector<int32_t>> kAllowedIds = {"allowed_token_ids",
                                                     &GenerationOptions::allowed_token_ids};
constexpr Field<int64_t> kCounts[] = {
    {"top_k", &GenerationOptions::top_k},
    {"no_repeat_ngram_size", &GenerationOptions::no_repeat_ngram_size},
    {"encoder_no_repeat_ngram_size", &GenerationOptions::encoder_no_repeat_ngram_size},
    {"max_new_tokens", &GenerationOptions::max_new_tokens},
    {"min_new_tokens", &GenerationOptions::min_new_tokens},
    {"min_length", &GenerationOptions::min_length},
    {"num_beams", &GenerationOptions::num_beams},
    {"num_beam_groups", &GenerationOptions::num_beam_groups},
    {"num_return_sequences", &GenerationOptions::num_return_sequences}};
constexpr Field<bool> kFlags[] = {{"do_sample", &GenerationOptions::do_sample},
                                  {"remove_invalid_values", &GenerationOptions::remove_invalid_values}};
constexpr Field<std::vector<int32_t>> kIds[] = {
    {"eos_token_id", &GenerationOptions::eos_token_id},
    {"forced_eos_token_id", &GenerationOptions::forced_eos_token_id},
    {"suppress_tokens", &GenerationOptions::suppress_tokens},
    {"begin_suppress_tokens", &GenerationOptions::begin_suppress_tokens}};

/// Fields that change the result unless they have this value.
struct Neutral {
  const char* name;
  double value;
};
constexpr Neutral kUnsupported[] = {{"penalty_alpha", 0}, {"typical_p", 1},      {"epsilon_cutoff", 0},
                                    {"eta_cutoff", 0},    {"guidance_scale", 1}, {"renormalize_logits", 0},
                                    {"top_h", 0},         {"token_healing", 0}};
/// Fields that change the result unless they are empty.
constexpr const char* kUnsupportedLists[] = {"force_words_ids", "constraints",       "watermarking_config",
                                             "stop_strings",    "dola_layers",       "max_time",
                                             "custom_generate", "forced_decoder_ids"};

/// Fields that change no token: of caches, of additional results, of drafts that are verified, of versions.
constexpr std::string_view kHarmless[] = {"bos_token_id",
                                          "decoder_start_token_id",
                                          "transformers_version",
                                          "_from_model_config",
                                          "_commit_hash",
                                          "use_cache",
                                          "cache_config",
                                          "cache_implementation",
                                          "max_cache_len",
                                          "return_legacy_cache",
                                          "low_memory",
                                          "prefill_chunk_size",
                                          "compile_config",
                                          "disable_compile",
                                          "continuous_batching_config",
                                          "output_attentions",
                                          "output_hidden_states",
                                          "output_scores",
                                          "output_logits",
                                          "return_dict_in_generate",
                                          "is_assistant",
                                          "use_mtp",
                                          "speculation_type",
                                          "num_assistant_tokens",
                                          "num_assistant_tokens_schedule",
                                          "assistant_confidence_threshold",
                                          "assistant_early_exit",
                                          "assistant_ensemble_weight",
                                          "assistant_lookbehind",
                                          "target_lookbehind",
                                          "prompt_lookup_num_tokens",
                                          "max_matching_ngram_size"};

/// A name of a request may have any length.
std::string short_name(const std::string& name) {
  constexpr size_t kLongest = 60;
  return name.size() <= kLongest ? name : name.substr(0, kLongest) + "...";
}

bool is_token_id(const Json& id) {
  return id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() <= INT32_MAX;
}

bool is_id_list(const Json& list) { return list.is_array() && std::ranges::all_of(list, is_token_id); }

/// Reads fields into their options, and collects the faults of all of them.
class ConfigReader {
 public:
  ConfigReader(const Json& json, const char* what, GenerationOptions& options)
      : json_(json), what_(what), options_(options) {}

  /// Fields that no reader knows are reported by unknown_generation_fields.
  void read_config() {
    read_fields();
    refuse_problems();
  }

  /// Special tokens of a config.json are read with the model (model_generation_options).
  void read_of_model() {
    read_fields();
    read_old_first();
    refuse_problems();
  }

  void read_options() {
    read_fields();
    read_own();
    find_unknown();
    refuse_problems();
  }

 private:
  void read_fields() {
    find_unsupported();
    for (const auto& field : kNumbers) read_field(field, &Json::is_number, "a number");
    for (const auto& field : kCounts) read_field(field, &Json::is_number_integer, "a whole number");
    for (const auto& field : kFlags) read_field(field, &Json::is_boolean, "true or false");
    for (const auto& field : kIds) read_ids(field);
    read_max_length();
    read_first();
    read_words();
    read_biases();
    read_early_stopping();
    read_length_score();
    read_padding();
    read_decay();
  }

  /// BART's files of 2020.
  void read_old_first() {
    const Json* forced = given("force_bos_token_to_be_generated");
    const Json* first = given("bos_token_id");
    if (forced && *forced == true && first && is_token_id(*first))
      options_.forced_bos_token_id = first->get<int32_t>();
  }

  void refuse_problems() const {
    if (!problems_.empty()) fail("{}: {}", what_, fmt::join(problems_, "; "));
  }

  const Json* given(const char* name) {
    known_.insert(name);
    const auto it = json_.find(name);
    return it == json_.end() || it->is_null() ? nullptr : &*it;
  }

  void wrong(const char* name, const char* expected) {
    problems_.push_back(fmt::format("{} = {} (expected {})", name, json_[name].dump(), expected));
  }

  void find_unsupported() {
    for (const Neutral& row : kUnsupported) {
      const Json* value = given(row.name);
      if (!value || (value->is_number() && value->get<double>() == row.value) ||
          (value->is_boolean() && value->get<bool>() == (row.value != 0)))
        continue;
      problems_.push_back(fmt::format("{} = {} (only {} is supported)", row.name, value->dump(), row.value));
    }
    for (const char* name : kUnsupportedLists)
      if (const Json* value = given(name); value && !value->empty() && *value != 0)
        problems_.push_back(fmt::format("{} = {} (not supported)", name, brief(*value)));
  }

  template <typename T>
  void read_field(const Field<T>& field, bool (Json::*is_right)() const noexcept, const char* expected) {
    const Json* value = given(field.name);
    if (!value) return;
    if ((value->*is_right)())
      options_.*field.member = value->get<T>();
    else
      wrong(field.name, expected);
  }

  void read_ids(const Field<std::vector<int32_t>>& field) {
    const Json* value = given(field.name);
    if (!value) return;
    const Json list = value->is_array() ? *value : Json::array({*value});
    if (is_id_list(list))
      options_.*field.member = list.get<std::vector<int32_t>>();
    else
      wrong(field.name, "a token id or a list of them");
  }

  /// max_new_tokens counts where both are given.
  void read_max_length() {
    const Json* value = given("max_length");
    if (value && value->is_number_integer() && *value >= 1)
      options_.max_length = value->get<int64_t>();
    else if (value)
      wrong("max_length", "a whole number from 1");
    if (given("max_new_tokens")) options_.max_length.reset();
  }

  void read_first() {
    const Json* value = given("forced_bos_token_id");
    if (!value) return;
    const Json& id = value->is_array() && value->size() == 1 ? (*value)[0] : *value;
    if (is_token_id(id))
      options_.forced_bos_token_id = id.get<int32_t>();
    else
      wrong("forced_bos_token_id", "one token id");
  }

  void read_words() {
    const Json* value = given("bad_words_ids");
    if (!value) return;
    if (value->is_array() && std::ranges::all_of(*value, is_id_list))
      options_.bad_words_ids = value->get<std::vector<std::vector<int32_t>>>();
    else
      wrong("bad_words_ids", "a list of lists of token ids");
  }

  void read_biases() {
    const Json* value = given("sequence_bias");
    if (!value) return;
    const auto is_row = [](const Json& row) {
      return row.is_array() && row.size() == 2 && is_id_list(row[0]) && row[1].is_number();
    };
    if (!value->is_array() || !std::ranges::all_of(*value, is_row))
      return wrong("sequence_bias", "a list of pairs of a list of token ids and a number");
    options_.sequence_bias.clear();
    for (const Json& row : *value)
      options_.sequence_bias.push_back({row[0].get<std::vector<int32_t>>(), row[1].get<double>()});
  }

  void read_early_stopping() {
    const Json* value = given("early_stopping");
    if (!value) return;
    if (value->is_boolean())
      options_.early_stopping = value->get<bool>() ? EarlyStopping::yes : EarlyStopping::no;
    else if (*value == "never")
      options_.early_stopping = EarlyStopping::never;
    else
      wrong("early_stopping", "true, false or \"never\"");
  }

  void read_length_score() {
    const Json* value = given("length_score");
    if (!value) return;
    if (*value == "power")
      options_.length_score = LengthScore::power;
    else if (*value == "gnmt")
      options_.length_score = LengthScore::gnmt;
    else if (*value == "none")
      options_.length_score = LengthScore::none;
    else
      wrong("length_score", "\"power\", \"gnmt\" or \"none\"");
  }

  /// Files name odd ones, of which little depends.
  void read_padding() {
    if (const Json* value = given("pad_token_id"); value && is_token_id(*value))
      options_.pad_token_id = value->get<int32_t>();
  }

  void read_decay() {
    const Json* value = given("exponential_decay_length_penalty");
    if (!value) return;
    if (value->is_array() && value->size() == 2 && (*value)[0].is_number_integer() && (*value)[1].is_number())
      options_.exponential_decay_length_penalty = {(*value)[0].get<int64_t>(), (*value)[1].get<double>()};
    else
      wrong("exponential_decay_length_penalty", "a pair of a whole number and a number");
  }

  void read_own() {
    read_ids(kAllowedIds);
    for (const auto& field : kOwnNumbers) read_field(field, &Json::is_number, "a number");
    read_field(Field<bool>{"sliding_window", &GenerationOptions::sliding_window}, &Json::is_boolean,
               "true or false");
    if (const Json* value = given("decoder_start_token_id")) {
      if (is_token_id(*value))
        options_.decoder_start_token_id = value->get<int32_t>();
      else
        wrong("decoder_start_token_id", "a token id");
    }
    if (const Json* value = given("seed")) {
      if (value->is_number_unsigned() && value->get<uint64_t>() <= UINT32_MAX)
        options_.seed = value->get<uint32_t>();
      else
        wrong("seed", "a whole number from 0 to 4294967295");
    }
  }

  /// Finds the fields that no reader has used.
  void find_unknown() {
    for (const auto& [name, value] : json_.items())
      if (!known_.contains(name))
        problems_.push_back(fmt::format("{} (there is no such option)", short_name(name)));
  }

  const Json& json_;
  const char* what_;
  GenerationOptions& options_;
  std::set<std::string, std::less<>> known_;
  std::vector<std::string> problems_;
};

void read(std::string_view text, const char* what, GenerationOptions& options,
          void (ConfigReader::*fields)()) {
  const Json json = parse_json(text, what);
  if (!json.is_object()) fail("{}: expected one JSON object", what);
  ConfigReader reader(json, what, options);
  (reader.*fields)();
  options.validate();
}

}  // namespace

void read_generation_config(std::string_view text, GenerationOptions& options) {
  read(text, "generation config", options, &ConfigReader::read_config);
}

void read_model_config(std::string_view text, GenerationOptions& options) {
  read(text, "config.json", options, &ConfigReader::read_of_model);
}

bool is_generation_field(std::string_view name) {
  const auto in_list = [&](const auto& list) {
    return std::ranges::any_of(list, [&](const auto& row) { return std::string_view(row) == name; });
  };
  const auto in_table = [&](const auto& table) {
    return std::ranges::any_of(table, [&](const auto& row) { return std::string_view(row.name) == name; });
  };
  constexpr std::string_view kOthers[] = {
      "max_length",     "forced_bos_token_id", "bad_words_ids", "sequence_bias",
      "early_stopping", "length_score",        "pad_token_id",  "exponential_decay_length_penalty"};
  return in_table(kNumbers) || in_table(kCounts) || in_table(kFlags) || in_table(kIds) ||
         in_table(kUnsupported) || in_list(kUnsupportedLists) || in_list(kHarmless) || in_list(kOthers);
}

void read_generation_options(std::string_view text, GenerationOptions& options) {
  read(text, "generation options", options, &ConfigReader::read_options);
}

}  // namespace smelt

#include "runtime/plan/plan_model.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

bool is_integer(const Json& value) { return value.is_number_integer(); }
bool is_text(const Json& value) { return value.is_string(); }
bool is_flag(const Json& value) { return value.is_boolean(); }
bool is_object(const Json& value) { return value.is_object(); }
bool is_object_or_null(const Json& value) { return value.is_object() || value.is_null(); }

/// Below 0 means none; tokens are numbers of 32 bits.
bool is_token(const Json& value) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<uint64_t>() > INT32_MAX) return false;
  return value.get<int64_t>() >= INT32_MIN;
}
bool is_token_or_null(const Json& value) { return value.is_null() || is_token(value); }
bool are_tokens(const Json& value) { return value.is_array() && std::ranges::all_of(value, is_token); }
bool are_texts(const Json& value) { return value.is_array() && std::ranges::all_of(value, is_text); }

struct Member {
  const char* name;
  bool (*fits)(const Json&);
  const char* expected;
};

constexpr Member kMembers[] = {
    {"family", is_text, "a string"},
    {"vocab_size", is_integer, "an integer"},
    {"max_positions", is_integer, "an integer"},
    {"bos_token_id", is_token_or_null, "a token id or null"},
    {"eos_token_id", are_tokens, "a list of token ids"},
    {"pad_token_id", is_token_or_null, "a token id or null"},
    {"decoder_start_token_id", is_token_or_null, "a token id or null"},
    {"forced_bos_token_id", is_token_or_null, "a token id or null"},
    {"forced_eos_token_id", is_token_or_null, "a token id or null"},
    {"ignore_index", is_integer, "an integer"},
    {"tokenizer", is_text, "a string"},
    {"head_tied", is_flag, "true or false"},
    {"ignored_tensors", are_texts, "a list of strings"},
    {"spec", is_object, "an object"},
    {"config", is_object_or_null, "an object or null"},
    {"generation", is_object, "an object"},
};

}  // namespace

Json read_plan_model(std::string_view text) {
  if (text.empty()) return nullptr;
  Json model = parse_json(text, "the description of the model");
  if (!model.is_object())
    fail_with(Status::invalid_file, "the description of the model is {}: expected an object", kind_of(model));
  for (const Member& member : kMembers)
    if (const auto found = model.find(member.name); found != model.end() && !member.fits(*found))
      fail_with(Status::invalid_file, "the description of the model: '{}' is {}: expected {}", member.name,
                brief(*found), member.expected);
  return model;
}

}  // namespace smelt

#include "runtime/tokenizers/json/part_reader.h"

#include <fmt/ranges.h>

#include "runtime/base/error.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {

void Problems::require_none(std::string_view file) const {
  if (!list_.empty()) fail_with(Status::invalid_file, "'{}': {}", file, fmt::join(list_, "; "));
}

PartReader::PartReader(const Json& json, std::string place, Problems& problems)
    : json_(json), place_(std::move(place)), problems_(problems) {
  if (!json_.is_object()) {
    problems_.add(fmt::format("{}: expected an object, and it is {}", place_, kind_of(json_)));
    return;
  }
  type_ = text("type", "");
}

PartReader::~PartReader() {
  if (!json_.is_object()) return;
  for (const auto& [name, value] : json_.items())
    if (!known_.contains(name)) problems_.add(fmt::format("{}.{} is not supported", place_, name));
}

void PartReader::unsupported_type() {
  problems_.add(fmt::format("{} of type '{}' is not supported", place_, type_));
  if (json_.is_object())
    for (const auto& [name, value] : json_.items()) known_.insert(name);
}

void PartReader::problem(std::string_view name, std::string_view expected) {
  const auto value = json_.find(name);
  problems_.add(fmt::format("{}.{} {}: expected {}", place_, name,
                            value == json_.end() ? "is missing" : fmt::format("= {}", brief(*value)),
                            expected));
}

const Json* PartReader::find(std::string_view name) {
  known_.emplace(name);
  if (!json_.is_object()) return nullptr;
  const auto found = json_.find(name);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

void PartReader::ignore(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) known_.emplace(name);
}

bool PartReader::flag(std::string_view name, bool otherwise) {
  const Json* value = find(name);
  if (!value) return otherwise;
  if (!value->is_boolean()) problem(name, "true or false");
  return value->is_boolean() ? value->get<bool>() : otherwise;
}

std::optional<std::string> PartReader::optional_text(std::string_view name) {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) {
    problem(name, "a string");
    return std::nullopt;
  }
  return value->get<std::string>();
}

std::string PartReader::text(std::string_view name, std::string otherwise) {
  return optional_text(name).value_or(std::move(otherwise));
}

uint64_t PartReader::count(std::string_view name, uint64_t otherwise) {
  const Json* value = find(name);
  if (!value) return otherwise;
  if (!value->is_number_unsigned()) problem(name, "an integer of at least 0");
  return value->is_number_unsigned() ? value->get<uint64_t>() : otherwise;
}

char32_t PartReader::character(std::string_view name, char32_t otherwise) {
  const auto text = optional_text(name);
  if (!text) return otherwise;
  if (!text->empty() && code_point_at(*text, 0).bytes == text->size()) return code_point_at(*text, 0).value;
  problem(name, "one character");
  return otherwise;
}

const Json* PartReader::list(std::string_view name) {
  const Json* value = find(name);
  if (value && value->is_array()) return value;
  problem(name, "a list");
  return nullptr;
}

}  // namespace smelt

#include "runtime/engine/serving/body_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/engine/serving/api_error.h"

namespace smelt {

BodyFields::BodyFields(std::string_view body) {
  try {
    body_ = parse_json(body, "the body");
  } catch (const Error& error) {
    throw ApiError(http::kBadRequest, error.what(), "", "invalid_json");
  }
  if (!body_.is_object())
    throw ApiError(http::kBadRequest, "the body: expected a JSON object", "", "invalid_json");
}

void BodyFields::wrong(const char* name, const Json& value, const std::string& expected) {
  throw ApiError(http::kBadRequest, fmt::format("{} = {}: expected {}", name, brief(value), expected), name,
                 "invalid_value");
}

void BodyFields::require_known(std::initializer_list<std::initializer_list<const char*>> known) const {
  for (const auto& [name, value] : body_.items()) {
    const auto has = [&](const auto& names) { return std::ranges::find(names, name) != names.end(); };
    if (std::ranges::none_of(known, has))
      throw ApiError(http::kBadRequest, fmt::format("there is no option '{}'", name), name,
                     "unknown_parameter");
  }
}

const Json* BodyFields::find(const char* name) const {
  const auto found = body_.find(name);
  return found == body_.end() || found->is_null() ? nullptr : &*found;
}

const Json& BodyFields::required(const char* name) const {
  if (const Json* value = find(name)) return *value;
  throw ApiError(http::kBadRequest, fmt::format("there is no {}", name), name, "missing_required_parameter");
}

std::optional<int64_t> BodyFields::whole(const char* name, int64_t least, int64_t most) const {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  const bool fits =
      value->is_number_integer() && !(value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX);
  if (!fits || value->get<int64_t>() < least || value->get<int64_t>() > most)
    wrong(name, *value, fmt::format("a whole number from {} to {}", least, most));
  return value->get<int64_t>();
}

std::optional<std::string> BodyFields::text(const char* name) const {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) wrong(name, *value, "a text");
  return value->get<std::string>();
}

std::optional<bool> BodyFields::flag(const char* name) const {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) wrong(name, *value, "true or false");
  return value->get<bool>();
}

}  // namespace smelt

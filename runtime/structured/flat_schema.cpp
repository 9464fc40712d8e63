#include "runtime/structured/flat_schema.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.h"
#include "runtime/structured/regex.h"
#include "runtime/structured/string_formats.h"
#include "runtime/system/json_text.h"

namespace smelt::structured {
namespace {

template <typename T>
void append_new(std::vector<T>& all, const std::vector<T>& more) {
  for (const T& item : more)
    if (std::find(all.begin(), all.end(), item) == all.end()) all.push_back(item);
}

std::vector<SchemaJson> common_values(const std::vector<SchemaJson>& a, const std::vector<SchemaJson>& b) {
  std::vector<SchemaJson> common;
  for (const SchemaJson& value : a)
    if (std::any_of(b.begin(), b.end(), [&](const SchemaJson& other) { return same_value(value, other); }))
      common.push_back(value);
  return common;
}

StringLimits both_strings(const StringLimits& a, const StringLimits& b) {
  StringLimits result = a;
  result.least = std::max(a.least, b.least);
  result.most = std::min(a.most, b.most);
  append_new(result.patterns, b.patterns);
  append_new(result.formats, b.formats);
  return result;
}

NumberLimits both_numbers(const NumberLimits& a, const NumberLimits& b) {
  NumberLimits result = a;
  result.bounds.insert(result.bounds.end(), b.bounds.begin(), b.bounds.end());
  append_new(result.divisors, b.divisors);
  return result;
}

SchemaJson element_schema(const ArrayLimits& array, size_t i) {
  return i < array.prefix.size() ? array.prefix[i] : array.rest;
}

ArrayLimits both_arrays(const ArrayLimits& a, const ArrayLimits& b) {
  ArrayLimits result;
  for (size_t i = 0; i < std::max(a.prefix.size(), b.prefix.size()); ++i)
    result.prefix.push_back(both(element_schema(a, i), element_schema(b, i)));
  result.rest = both(a.rest, b.rest);
  result.least = std::max(a.least, b.least);
  result.most = std::min(a.most, b.most);
  return result;
}

bool has_name(const NamedSchemas& schemas, const std::string& name) {
  return std::any_of(schemas.begin(), schemas.end(), [&](const auto& entry) { return entry.first == name; });
}

/// Returns the schema that one object schema gives to the property of a name.
SchemaJson property_schema(const ObjectLimits& object, const std::string& name) {
  SchemaJson result = true;
  bool is_known = false;
  for (const auto& [known, schema] : object.properties)
    if (known == name) result = both(result, schema), is_known = true;
  for (const auto& [pattern, schema] : object.patterns)
    if (pattern_language(pattern, "patternProperties").contains(name))
      result = both(result, schema), is_known = true;
  return is_known ? result : object.additional;
}

/// The patterns of one side restrict the additional names of the other side.
NamedSchemas both_patterns(const ObjectLimits& a, const ObjectLimits& b) {
  if (!a.patterns.empty() && !b.patterns.empty() && (a.additional != true || b.additional != true))
    fail(
        "JSON Schema: allOf of two schemas with 'patternProperties' and 'additionalProperties' is not "
        "supported");
  NamedSchemas result;
  for (const auto& [pattern, schema] : a.patterns) result.emplace_back(pattern, both(schema, b.additional));
  for (const auto& [pattern, schema] : b.patterns) result.emplace_back(pattern, both(schema, a.additional));
  return result;
}

ObjectLimits both_objects(const ObjectLimits& a, const ObjectLimits& b) {
  if (a.is_free()) return b;
  if (b.is_free()) return a;
  ObjectLimits result = a;
  result.properties.clear();
  for (const ObjectLimits* side : {&a, &b})
    for (const auto& [name, schema] : side->properties)
      if (!has_name(result.properties, name))
        result.properties.emplace_back(name, both(property_schema(a, name), property_schema(b, name)));
  result.patterns = both_patterns(a, b);
  result.additional = both(a.additional, b.additional);
  append_new(result.required, b.required);
  append_new(result.names, b.names);
  result.least = std::max(a.least, b.least);
  result.most = std::min(a.most, b.most);
  return result;
}

Language language_of(NodeId node, Grammar& grammar) {
  return Language::of(whole_match(node, grammar), grammar);
}

/// Returns the result of a function. Its errors get the keyword and the pattern.
template <typename F>
auto with_keyword(const std::string& pattern, std::string_view keyword, F f) {
  try {
    return f();
  } catch (const Error& error) {
    fail("JSON Schema: '{}' has {}: {}", keyword, brief(Json(pattern)), error.what());
  }
}

Language language_of_values(const std::vector<SchemaJson>& values) {
  Grammar grammar;
  std::vector<NodeId> texts;
  for (const SchemaJson& value : values)
    if (value.is_string()) texts.push_back(grammar.bytes(value.get_ref<const std::string&>()));
  return Language::of(grammar.choice(std::move(texts)), grammar);
}

bool satisfies_numbers(const SchemaJson& value, const NumberLimits& limits) {
  if (limits.empty()) return true;
  const auto text = plain_decimal(value.dump());
  if (!text) fail("JSON Schema: the value {} has too many digits", value.dump());
  NumberLimits bounds{.bounds = limits.bounds, .divisors = {}};
  const bool is_integer = text->find('.') == std::string::npos;
  if (is_integer) return integers_within(limits).contains(*text);
  return limits.divisors.empty() && numbers_within(bounds).contains(*text);
}

}  // namespace

SchemaJson both(const SchemaJson& a, const SchemaJson& b) {
  if (a == b || b == true) return a;
  if (a == true) return b;
  if (a == false || b == false) return false;
  SchemaJson all = SchemaJson::array();
  for (const SchemaJson* side : {&a, &b}) {
    const bool is_joined = side->is_object() && side->size() == 1 && side->contains("allOf");
    const SchemaJson parts = is_joined ? side->at("allOf") : SchemaJson::array({*side});
    for (const SchemaJson& part : parts)
      if (std::find(all.begin(), all.end(), part) == all.end()) all.push_back(part);
  }
  return SchemaJson{{"allOf", all}};
}

std::optional<FlatSchema> both(const FlatSchema& a, const FlatSchema& b) {
  FlatSchema result;
  result.types = a.types & b.types;
  if (result.types == 0) return std::nullopt;
  result.values = a.values ? a.values : b.values;
  if (a.values && b.values) result.values = common_values(*a.values, *b.values);
  if (result.values && result.values->empty()) return std::nullopt;
  result.string = both_strings(a.string, b.string);
  result.number = both_numbers(a.number, b.number);
  result.array = both_arrays(a.array, b.array);
  result.object = both_objects(a.object, b.object);
  return result;
}

uint32_t type_of(const SchemaJson& value) {
  if (value.is_null()) return kNullType;
  if (value.is_boolean()) return kBooleanType;
  if (value.is_number_float() && std::trunc(value.get<double>()) != value.get<double>()) return kNumberType;
  if (value.is_number()) return kIntegerType;
  if (value.is_string()) return kStringType;
  return value.is_array() ? kArrayType : kObjectType;
}

bool same_value(const SchemaJson& a, const SchemaJson& b) { return nlohmann::json(a) == nlohmann::json(b); }

void check_pattern(const std::string& pattern, std::string_view keyword) {
  with_keyword(pattern, keyword, [&] {
    Grammar grammar;
    parse_regex(pattern, grammar);
  });
}

Language pattern_language(const std::string& pattern, std::string_view keyword) {
  return with_keyword(pattern, keyword, [&] {
    Grammar grammar;
    return Language::of(match_anywhere(parse_regex(pattern, grammar), grammar), grammar);
  });
}

Language string_language(const StringLimits& limits, const std::optional<std::vector<SchemaJson>>& values) {
  Language result = Language::of_lengths(limits.least, limits.most);
  if (values) result = result & language_of_values(*values);
  for (const std::string& pattern : limits.patterns) result = result & pattern_language(pattern, "pattern");
  for (const std::string& format : limits.formats) {
    Grammar grammar;
    result = result & language_of(parse_regex(format_expression(format), grammar), grammar);
  }
  return result;
}

bool satisfies(const SchemaJson& value, const FlatSchema& schema) {
  if ((type_of(value) & schema.types) == 0) return false;
  if (value.is_string()) {
    const StringLimits& limits = schema.string;
    return limits.is_free() || string_language(limits).contains(value.get_ref<const std::string&>());
  }
  if (value.is_number()) return satisfies_numbers(value, schema.number);
  if (value.is_array() && !schema.array.is_free())
    fail("JSON Schema: a list in 'enum' or 'const' together with constraints of lists is not supported");
  if (value.is_object() && !schema.object.is_free())
    fail("JSON Schema: an object in 'enum' or 'const' together with constraints of objects is not supported");
  return true;
}

}  // namespace smelt::structured

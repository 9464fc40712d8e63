#include "runtime/structured/schema_keywords.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.h"
#include "runtime/system/json_text.h"

namespace smelt::structured {
namespace {

constexpr uint64_t kLargestCount = 1'000'000;
constexpr uint32_t kLargestDivisor = 1000;

[[noreturn]] void fail_value(std::string_view keyword, const SchemaJson& value, std::string_view expected) {
  fail("JSON Schema: '{}' is {}, expected {}", keyword, brief(Json(value)), expected);
}

void expect(bool holds, std::string_view keyword, const SchemaJson& value, std::string_view expected) {
  if (!holds) fail_value(keyword, value, expected);
}

bool is_schema(const SchemaJson& value) { return value.is_object() || value.is_boolean(); }

SchemaJson schema_in(std::string_view keyword, const SchemaJson& value) {
  expect(is_schema(value), keyword, value, "a schema (an object or a boolean)");
  return value;
}

uint32_t count_in(std::string_view keyword, const SchemaJson& value) {
  const double count = value.is_number() ? value.get<double>() : -1;
  if (count < 0 || count > kLargestCount || count != std::trunc(count))
    fail_value(keyword, value, fmt::format("an integer from 0 to {}", kLargestCount));
  return static_cast<uint32_t>(count);
}

const std::string& text_in(std::string_view keyword, const SchemaJson& value) {
  expect(value.is_string(), keyword, value, "a string");
  return value.get_ref<const std::string&>();
}

uint32_t type_bits(const SchemaJson& value) {
  const std::pair<std::string_view, uint32_t> types[] = {
      {"null", kNullType},       {"boolean", kBooleanType},
      {"integer", kIntegerType}, {"number", kIntegerType | kNumberType},
      {"string", kStringType},   {"array", kArrayType},
      {"object", kObjectType}};
  for (const auto& [name, bits] : types)
    if (value == name) return bits;
  fail_value("type", value, "null, boolean, integer, number, string, array or object");
}

uint32_t types_in(const SchemaJson& value) {
  if (!value.is_array()) return type_bits(value);
  uint32_t bits = 0;
  for (const SchemaJson& type : value) bits |= type_bits(type);
  return bits;
}

NamedSchemas named_schemas(std::string_view keyword, const SchemaJson& value) {
  expect(value.is_object(), keyword, value, "an object of schemas");
  NamedSchemas schemas;
  for (const auto& [name, schema] : value.items()) schemas.emplace_back(name, schema_in(keyword, schema));
  return schemas;
}

std::vector<SchemaJson> schemas_in(std::string_view keyword, const SchemaJson& value) {
  expect(value.is_array(), keyword, value, "a list of schemas");
  std::vector<SchemaJson> schemas;
  for (const SchemaJson& schema : value) schemas.push_back(schema_in(keyword, schema));
  return schemas;
}

/// The reader of one keyword: it puts the keyword's value into the flat schema.
using KeywordReader = void (*)(std::string_view keyword, const SchemaJson& value, FlatSchema& flat);

void read_pattern(std::string_view keyword, const SchemaJson& value, FlatSchema& flat) {
  check_pattern(text_in(keyword, value), keyword);
  flat.string.patterns.push_back(text_in(keyword, value));
}

void read_pattern_properties(std::string_view keyword, const SchemaJson& value, FlatSchema& flat) {
  flat.object.patterns = named_schemas(keyword, value);
  for (const auto& [pattern, schema] : flat.object.patterns) check_pattern(pattern, keyword);
}

void read_bound(std::string_view keyword, const SchemaJson& value, FlatSchema& flat) {
  expect(value.is_number(), keyword, value, "a number (drafts from 6 on)");
  flat.number.bounds.push_back({.value = value.dump(),
                                .is_lower = keyword.ends_with("inimum"),
                                .is_strict = keyword.starts_with("exclusive")});
}

void read_multiple(std::string_view keyword, const SchemaJson& value, FlatSchema& flat) {
  const double divisor = value.is_number() ? value.get<double>() : 0;
  if (divisor < 1 || divisor > kLargestDivisor || divisor != std::trunc(divisor))
    fail_value(keyword, value,
               fmt::format("an integer from 1 to {}; others are not supported", kLargestDivisor));
  flat.number.divisors.push_back(static_cast<uint32_t>(divisor));
}

void read_items(std::string_view keyword, const SchemaJson& value, FlatSchema& flat) {
  if (value.is_array())
    flat.array.prefix = schemas_in(keyword, value);
  else
    flat.array.rest = schema_in(keyword, value);
}

void read_enum(std::string_view keyword, const SchemaJson& value, FlatSchema& flat) {
  expect(value.is_array() && !value.empty(), keyword, value, "a list of at least one value");
  std::vector<SchemaJson> values;
  for (const SchemaJson& item : value)
    if (!flat.values || std::any_of(flat.values->begin(), flat.values->end(),
                                    [&](const SchemaJson& other) { return same_value(item, other); }))
      values.push_back(item);
  flat.values = std::move(values);
}

void read_required(std::string_view keyword, const SchemaJson& value, FlatSchema& flat) {
  expect(value.is_array(), keyword, value, "a list of names");
  for (const SchemaJson& name : value) {
    const std::string& text = text_in(keyword, name);
    auto& required = flat.object.required;
    if (std::find(required.begin(), required.end(), text) == required.end()) required.push_back(text);
  }
}

void read_unique(std::string_view keyword, const SchemaJson& value, FlatSchema&) {
  expect(value == false, keyword, value, "false, because unique elements are not supported");
}

/// Other dialects can give the keywords other meanings.
void read_dialect(std::string_view keyword, const SchemaJson& value, FlatSchema&) {
  const bool is_known = text_in(keyword, value).find("json-schema.org/draft") != std::string::npos;
  expect(is_known, keyword, value, "a draft of json-schema.org");
}

void ignore(std::string_view, const SchemaJson&, FlatSchema&) {}

struct Keyword {
  std::string_view name;
  KeywordReader read;
};

const Keyword kKeywords[] = {
    {"type", [](auto, const SchemaJson& v, FlatSchema& f) { f.types &= types_in(v); }},
    {"enum", read_enum},
    {"const", [](auto k, const SchemaJson& v, FlatSchema& f) { read_enum(k, SchemaJson::array({v}), f); }},
    {"minLength", [](auto k, const SchemaJson& v, FlatSchema& f) { f.string.least = count_in(k, v); }},
    {"maxLength", [](auto k, const SchemaJson& v, FlatSchema& f) { f.string.most = count_in(k, v); }},
    {"pattern", read_pattern},
    {"format", [](auto k, const SchemaJson& v, FlatSchema& f) { f.string.formats.push_back(text_in(k, v)); }},
    {"minimum", read_bound},
    {"maximum", read_bound},
    {"exclusiveMinimum", read_bound},
    {"exclusiveMaximum", read_bound},
    {"multipleOf", read_multiple},
    {"items", read_items},
    {"prefixItems", [](auto k, const SchemaJson& v, FlatSchema& f) { f.array.prefix = schemas_in(k, v); }},
    {"minItems", [](auto k, const SchemaJson& v, FlatSchema& f) { f.array.least = count_in(k, v); }},
    {"maxItems", [](auto k, const SchemaJson& v, FlatSchema& f) { f.array.most = count_in(k, v); }},
    {"uniqueItems", read_unique},
    {"$schema", read_dialect},
    {"properties",
     [](auto k, const SchemaJson& v, FlatSchema& f) { f.object.properties = named_schemas(k, v); }},
    {"patternProperties", read_pattern_properties},
    {"additionalProperties",
     [](auto k, const SchemaJson& v, FlatSchema& f) { f.object.additional = schema_in(k, v); }},
    {"propertyNames",
     [](auto k, const SchemaJson& v, FlatSchema& f) { f.object.names.push_back(schema_in(k, v)); }},
    {"required", read_required},
    {"minProperties", [](auto k, const SchemaJson& v, FlatSchema& f) { f.object.least = count_in(k, v); }},
    {"maxProperties", [](auto k, const SchemaJson& v, FlatSchema& f) { f.object.most = count_in(k, v); }},
};

constexpr std::string_view kOthers[] = {
    // read elsewhere
    "$ref", "allOf", "anyOf", "oneOf", "additionalItems", "nullable",
    // without effect on validity
    "title", "description", "default", "examples", "example", "$id", "$anchor", "$dynamicAnchor", "$comment",
    "$defs", "definitions", "deprecated", "readOnly", "writeOnly", "contentMediaType", "contentEncoding",
    "contentSchema"};

KeywordReader reader_of(std::string_view name) {
  for (const Keyword& keyword : kKeywords)
    if (keyword.name == name) return keyword.read;
  const bool is_known = std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers);
  if (!is_known && !name.starts_with("x-"))
    fail("JSON Schema: the keyword '{}' is not supported; expected a schema without it", name.substr(0, 60));
  return ignore;
}

/// additionalItems has an effect only after a list in `items`.
void read_additional_items(const SchemaJson& schema, FlatSchema& flat) {
  if (schema.contains("additionalItems") && schema.contains("items") && schema["items"].is_array())
    flat.array.rest = schema_in("additionalItems", schema["additionalItems"]);
}

/// OpenAPI's nullable adds null to the types.
void read_nullable(const SchemaJson& schema, FlatSchema& flat) {
  if (!schema.contains("nullable")) return;
  expect(schema["nullable"].is_boolean(), "nullable", schema["nullable"], "a boolean");
  if (schema["nullable"] == true) flat.types |= kNullType;
}

}  // namespace

FlatSchema read_keywords(const SchemaJson& schema) {
  FlatSchema flat;
  for (const auto& [name, value] : schema.items()) reader_of(name)(name, value, flat);
  read_additional_items(schema, flat);
  read_nullable(schema, flat);
  return flat;
}

}  // namespace smelt::structured

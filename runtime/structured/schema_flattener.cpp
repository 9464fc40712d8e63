#include "runtime/structured/schema_flattener.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/structured/schema_keywords.h"
#include "runtime/structured/schema_places.h"
#include "runtime/system/json_text.h"

namespace smelt::structured {
namespace {

constexpr uint32_t kDeepestReference = 64;
constexpr size_t kMostAlternatives = 500;
constexpr size_t kMostSchemaSteps = 100'000;
constexpr uint32_t kDeepestProof = 4;  // levels of a value that the proof of emptiness examines

/// Returns whether the document is of a draft before 2019-09.
bool is_old_draft(const SchemaJson& document) {
  if (!document.is_object() || !document.contains("$schema") || !document["$schema"].is_string())
    return false;
  const std::string& draft = document["$schema"].get_ref<const std::string&>();
  return draft.find("draft-0") != std::string::npos;
}

std::string unescaped(std::string_view token) {
  std::string text;
  for (size_t i = 0; i < token.size(); ++i) {
    const std::string_view rest = token.substr(i);
    if (rest.starts_with("~0"))
      text += '~', ++i;
    else if (rest.starts_with("~1"))
      text += '/', ++i;
    else if (rest[0] == '%' && rest.size() > 2)
      text += static_cast<char>(std::strtol(std::string(rest.substr(1, 2)).c_str(), nullptr, 16)), i += 2;
    else
      text += rest[0];
  }
  return text;
}

const SchemaJson* member(const SchemaJson& value, const std::string& name) {
  if (value.is_object()) {
    const auto found = value.find(name);
    return found == value.end() ? nullptr : &*found;
  }
  const bool is_index =
      !name.empty() && name.size() < 7 && name.find_first_not_of("0123456789") == std::string::npos;
  if (!value.is_array() || !is_index) return nullptr;
  const size_t index = std::stoul(name);
  return index < value.size() ? &value[index] : nullptr;
}

/// Returns whether there is a $ref in a schema or below it. The depth of JSON texts is bounded by their
/// parser.
bool has_reference(const SchemaJson& schema) {
  if (schema.is_object() && schema.contains("$ref")) return true;
  return schema.is_structured() && std::any_of(schema.begin(), schema.end(), has_reference);
}

}  // namespace

SchemaFlattener::SchemaFlattener(const SchemaJson& document, const SchemaOptions& options)
    : document_(document), options_(options), has_old_references_(is_old_draft(document)) {}

const SchemaJson& SchemaFlattener::resolve(const std::string& reference) const {
  const SchemaJson* target = &document_;
  if (reference != "#" && !reference.starts_with("#/"))
    fail("JSON Schema: the $ref '{}' is not supported; expected '#' or '#/...' in the same document",
         reference);
  for (size_t at = 1; at < reference.size() && target;) {
    const size_t end = std::min(reference.find('/', at + 1), reference.size());
    target = member(*target, unescaped(std::string_view(reference).substr(at + 1, end - at - 1)));
    if (target && end < reference.size() && target->is_object() && target->contains("$id"))
      fail("JSON Schema: the $ref '{}' into a schema with its own $id is not supported", reference);
    at = end;
  }
  if (!target) fail("JSON Schema: the $ref '{}' refers to nothing", reference);
  return *target;
}

std::vector<FlatSchema> SchemaFlattener::flatten(const SchemaJson& schema, uint32_t depth) {
  try {
    return flatten_any(schema, depth);
  } catch (const Error& error) {
    rethrow_at_place(error, schema, document_);
  }
}

std::vector<FlatSchema> SchemaFlattener::flatten_any(const SchemaJson& schema, uint32_t depth) {
  if (depth > kDeepestReference)
    fail("JSON Schema: references and combinations are nested deeper than {} levels, or refer to themselves",
         kDeepestReference);
  if (++steps_ > kMostSchemaSteps)
    fail("JSON Schema: the schema is too large; more than {} parts", kMostSchemaSteps);
  if (schema == true) return {FlatSchema{}};
  if (schema == false) return {};
  if (!schema.is_object())
    fail("JSON Schema: a schema is {}, expected an object or a boolean", brief(Json(schema)));
  return flatten_object(schema, depth + 1);
}

std::vector<FlatSchema> SchemaFlattener::flatten_object(const SchemaJson& schema, uint32_t depth) {
  const auto list = [&](const char* keyword) -> const SchemaJson& {
    const SchemaJson& value = schema[keyword];
    if (!value.is_array() || value.empty())
      fail("JSON Schema: '{}' is {}, expected a list of schemas", keyword, brief(Json(value)));
    return value;
  };
  if (schema.contains("$id") && (!document_.contains("$id") || schema["$id"] != document_["$id"]) &&
      has_reference(schema))
    fail("JSON Schema: a $ref inside a schema with its own $id is not supported");
  std::vector<FlatSchema> result{FlatSchema{}};
  if (schema.contains("$ref")) {
    if (!schema["$ref"].is_string())
      fail("JSON Schema: '$ref' is {}, expected a string", brief(Json(schema["$ref"])));
    result = flatten(resolve(schema["$ref"].get_ref<const std::string&>()), depth);
    if (has_old_references_) return result;
  }
  FlatSchema own = read_keywords(schema);
  if (own.types == 0) return {};
  result = product(result, {std::move(own)});
  if (schema.contains("allOf"))
    for (const SchemaJson& part : list("allOf")) result = product(result, flatten(part, depth));
  if (schema.contains("anyOf")) result = product(result, any_of(list("anyOf"), depth));
  if (schema.contains("oneOf")) result = one_of(list("oneOf"), result, depth);
  return result;
}

std::vector<FlatSchema> SchemaFlattener::any_of(const SchemaJson& alternatives, uint32_t depth) {
  std::vector<FlatSchema> result;
  for (const SchemaJson& alternative : alternatives) {
    std::vector<FlatSchema> flats = flatten(alternative, depth);
    std::move(flats.begin(), flats.end(), std::back_inserter(result));
  }
  return result;
}

std::vector<FlatSchema> SchemaFlattener::product(const std::vector<FlatSchema>& a,
                                                 const std::vector<FlatSchema>& b) {
  std::vector<FlatSchema> result;
  for (const FlatSchema& x : a)
    for (const FlatSchema& y : b) {
      if (++steps_ > kMostSchemaSteps)
        fail("JSON Schema: the schema is too large; more than {} parts", kMostSchemaSteps);
      if (auto joined = both(x, y)) result.push_back(std::move(*joined));
    }
  if (result.size() > kMostAlternatives)
    fail("JSON Schema: a schema has more than {} alternatives after the resolution of allOf and anyOf",
         kMostAlternatives);
  return result;
}

/// Exactly one alternative of oneOf must hold. If no two can hold together, this is the same as anyOf.
std::vector<FlatSchema> SchemaFlattener::one_of(const SchemaJson& alternatives,
                                                const std::vector<FlatSchema>& base, uint32_t depth) {
  std::vector<std::vector<FlatSchema>> parts;
  std::vector<FlatSchema> all;
  for (const SchemaJson& alternative : alternatives) {
    parts.push_back(product(base, flatten(alternative, depth)));
    all.insert(all.end(), parts.back().begin(), parts.back().end());
  }
  for (size_t i = 0; i < parts.size() && !options_.overlapping_one_of; ++i)
    for (size_t j = 0; j < i; ++j)
      for (const FlatSchema& common : product(parts[i], parts[j]))
        if (!is_certainly_empty(common, 0))
          fail(
              "JSON Schema: the alternatives {} and {} of 'oneOf' may overlap; expected 'anyOf', or "
              "alternatives that exclude each other, for example by a 'const'",
              j, i);
  return all;
}

bool SchemaFlattener::is_certainly_empty(const SchemaJson& schema, uint32_t depth) {
  if (schema == false) return true;
  if (schema == true || depth > kDeepestProof) return false;
  const std::vector<FlatSchema> flats = flatten(schema);
  return std::all_of(flats.begin(), flats.end(),
                     [&](const FlatSchema& f) { return is_certainly_empty(f, depth); });
}

bool SchemaFlattener::has_empty_property(const ObjectLimits& object, uint32_t depth) {
  return std::any_of(object.required.begin(), object.required.end(), [&](const std::string& name) {
    SchemaJson schema = object.patterns.empty() ? object.additional : SchemaJson(true);
    for (const auto& [known, own] : object.properties)
      if (known == name) schema = own;
    return is_certainly_empty(schema, depth + 1);
  });
}

bool SchemaFlattener::is_certainly_empty(const FlatSchema& flat, uint32_t depth) {
  if (flat.values)
    return std::none_of(flat.values->begin(), flat.values->end(),
                        [&](const auto& v) { return satisfies(v, flat); });
  if (flat.types & (kNullType | kBooleanType)) return false;
  if ((flat.types & kNumberType) && !numbers_within({.bounds = flat.number.bounds, .divisors = {}}).empty())
    return false;
  if ((flat.types & kIntegerType) && !integers_within(flat.number).empty()) return false;
  if ((flat.types & kStringType) && !string_language(flat.string).empty()) return false;
  const ArrayLimits& array = flat.array;
  if (flat.types & kArrayType) {
    bool is_empty = array.least > array.most;
    for (size_t i = 0; i < std::min<size_t>(array.least, array.prefix.size() + 1) && !is_empty; ++i)
      is_empty = is_certainly_empty(i < array.prefix.size() ? array.prefix[i] : array.rest, depth + 1);
    if (!is_empty) return false;
  }
  return !(flat.types & kObjectType) || flat.object.least > flat.object.most ||
         has_empty_property(flat.object, depth);
}

Language SchemaFlattener::strings_of(const SchemaJson& schema) {
  Language none = Language::of_lengths(0, kUnbounded);  // the complement of the result
  for (const FlatSchema& flat : flatten(schema))
    if (flat.types & kStringType) none = none & string_language(flat.string, flat.values).complement();
  return none.complement();
}

}  // namespace smelt::structured

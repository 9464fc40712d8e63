// Translation of a JSON Schema to flat schemas (flat_schema.h): resolves references ($ref) and combinations
// such as allOf, anyOf and oneOf.
#pragma once

#include <string>
#include <vector>

#include "runtime/structured/flat_schema.h"
#include "runtime/structured/json_schema.h"

namespace smelt::structured {

/// Resolves schemas of one document. All errors are Error (invalid_argument).
class SchemaFlattener {
 public:
  SchemaFlattener(const SchemaJson& document, const SchemaOptions& options);

  /// Returns the alternatives of a schema: a value satisfies the schema if it satisfies one of them. Throws
  /// Error for keywords that cannot be enforced, references that cannot be resolved, and schemas with too
  /// many alternatives.
  std::vector<FlatSchema> flatten(const SchemaJson& schema) { return flatten(schema, 0); }

  const SchemaJson& document() const { return document_; }

  /// Returns the language of the strings that satisfy a schema.
  Language strings_of(const SchemaJson& schema);

 private:
  std::vector<FlatSchema> flatten(const SchemaJson& schema, uint32_t depth);
  std::vector<FlatSchema> flatten_any(const SchemaJson& schema, uint32_t depth);
  std::vector<FlatSchema> flatten_object(const SchemaJson& schema, uint32_t depth);
  std::vector<FlatSchema> one_of(const SchemaJson& alternatives, const std::vector<FlatSchema>& base,
                                 uint32_t depth);
  std::vector<FlatSchema> any_of(const SchemaJson& alternatives, uint32_t depth);
  std::vector<FlatSchema> product(const std::vector<FlatSchema>& a, const std::vector<FlatSchema>& b);
  bool is_certainly_empty(const FlatSchema& flat, uint32_t depth);
  bool is_certainly_empty(const SchemaJson& schema, uint32_t depth);
  bool has_empty_property(const ObjectLimits& object, uint32_t depth);
  const SchemaJson& resolve(const std::string& reference) const;

  const SchemaJson& document_;
  SchemaOptions options_;
  bool has_old_references_;  // $ref replaces its siblings, as before draft 2019-09
  size_t steps_ = 0;
};

}  // namespace smelt::structured

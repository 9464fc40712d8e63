// Filters of one subject each: the rows that registry.cpp joins.
#pragma once

#include <span>

#include "runtime/templates/registry.h"

namespace smelt::templates {

std::span<const Filter> text_filters();       // text_filters.cpp
std::span<const Filter> number_filters();     // number_filters.cpp
std::span<const Filter> sequence_filters();   // sequence_filters.cpp
std::span<const Filter> selection_filters();  // selection_filters.cpp

/// tojson as transformers defines it: json.dumps with ensure_ascii, indent, separators and sort_keys.
Value to_json(Interpreter& interpreter, const Value& subject, Arguments& arguments);

/// str(value), but safe text stays safe.
Value soft_text(Budget& budget, const Value& value);

/// Looks up an attribute of elements, by Jinja's rules: "a.b.0" is a path, and an int is an index.
class AttributePath {
 public:
  /// A null or None attribute is the element itself. A `missing` that is not null replaces undefined results.
  AttributePath(Budget& budget, const Value* attribute, const Value* missing = nullptr);
  Value operator()(Interpreter& interpreter, Value item) const;

 private:
  std::vector<Value> parts_;
  const Value* missing_;
};

/// A text in lower case; other values unchanged.
Value without_case(Interpreter& interpreter, const Value& value);

}  // namespace smelt::templates

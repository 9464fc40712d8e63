// The filters of templates: one table per source file, and functions that several of these source files
// share. registry.cpp joins the tables into one.
#pragma once

#include <span>

#include "runtime/templates/registry.h"

namespace smelt::templates {

std::span<const Filter> text_filters();       // text_filters.cpp
std::span<const Filter> number_filters();     // number_filters.cpp
std::span<const Filter> sequence_filters();   // sequence_filters.cpp
std::span<const Filter> selection_filters();  // selection_filters.cpp

/// The filter tojson as transformers defines it: json.dumps with the arguments ensure_ascii, indent,
/// separators and sort_keys.
Value to_json(Interpreter& interpreter, const Value& subject, Arguments& arguments);

/// Returns str(value). A text is returned unchanged, so that a safe text (Text::safe) stays safe.
Value soft_text(Budget& budget, const Value& value);

/// Function that looks up one attribute in a value, for filters with an argument `attribute`. By Jinja's
/// rules, "a.b.0" is a path: attribute a, then b, then element 0. An int is an index.
class AttributePath {
 public:
  /// If `attribute` is null or None, the result of a look-up is the value itself. If `missing` is not null,
  /// it replaces the result of each part of the path that is undefined.
  AttributePath(Budget& budget, const Value* attribute, const Value* missing = nullptr);
  Value operator()(Interpreter& interpreter, Value item) const;

 private:
  std::vector<Value> parts_;
  const Value* missing_;
};

/// Returns a text in lower case, and other values unchanged.
Value without_case(Interpreter& interpreter, const Value& value);

}  // namespace smelt::templates

// Arguments of the filters, tests, methods and functions of templates: assignment to their parameters, and
// conversion to C++ types.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "runtime/templates/value.h"

namespace smelt::templates {

/// The parameters of one call, by number, with the arguments that are assigned to them. A parameter without
/// an argument is null.
class Parameters {
 public:
  /// Assigns `arguments`, which outlive this object, to the parameters `names` of the function named
  /// `function`. The first `required` parameters must have an argument. The first `keywords` parameters take
  /// positional arguments only (kNoKeywords: all of them). Throws TemplateError, as Python does, if the
  /// arguments do not fit.
  Parameters(std::string_view function, Arguments& arguments, std::initializer_list<std::string_view> names,
             size_t required = 0, size_t keywords = 0);

  const Value* operator[](size_t i) const { return values_[i]; }
  /// Returns argument i; null if it is missing or None.
  const Value* given(size_t i) const { return values_[i] && !values_[i]->none() ? values_[i] : nullptr; }
  /// Returns argument i as an int, or `missing` if there is no argument. Throws TemplateError if it is not an
  /// int.
  int64_t integer(size_t i, int64_t missing = 0) const;
  /// Returns argument i. Throws TemplateError if it is not a str. Requires: there is an argument.
  const Text& text(size_t i) const;
  /// Returns the truth value of argument i, or `missing` if there is no argument.
  bool truth(size_t i, bool missing = false) const { return values_[i] ? values_[i]->truth() : missing; }

 private:
  std::string_view function_;
  std::vector<const Value*> values_;
};

/// A value of `keywords` that is larger than the number of parameters of every function.
constexpr size_t kNoKeywords = 99;

/// Returns the value as an integer, for lengths and indices. Throws TemplateError if it is neither an int nor
/// a bool.
int64_t require_integer(const Value& value);

}  // namespace smelt::templates

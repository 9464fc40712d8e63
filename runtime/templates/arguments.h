// Arguments of functions of the language: assignment to parameters, and conversion.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "runtime/templates/value.h"

namespace smelt::templates {

/// The parameters of a call. Parameters without argument are null.
class Parameters {
 public:
  /// The first `required` names need arguments. Names before `keywords` are positional only. Throws
  /// TemplateError as Python does if the arguments do not fit.
  Parameters(std::string_view function, Arguments& arguments, std::initializer_list<std::string_view> names,
             size_t required = 0, size_t keywords = 0);

  const Value* operator[](size_t i) const { return values_[i]; }
  /// The argument if there is one that is not None.
  const Value* given(size_t i) const { return values_[i] && !values_[i]->none() ? values_[i] : nullptr; }
  /// An argument that has to be an int, or `missing`.
  int64_t integer(size_t i, int64_t missing = 0) const;
  /// An argument that has to be a str. Throws TemplateError if it is something else.
  const Text& text(size_t i) const;
  bool truth(size_t i, bool missing = false) const { return values_[i] ? values_[i]->truth() : missing; }

 private:
  std::string_view function_;
  std::vector<const Value*> values_;
};

constexpr size_t kNoKeywords = 99;

/// An int of Python that a length or index has to be.
int64_t require_integer(const Value& value);

}  // namespace smelt::templates

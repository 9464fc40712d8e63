#include "runtime/templates/arguments.h"

#include <algorithm>

namespace smelt::templates {

Parameters::Parameters(std::string_view function, Arguments& arguments,
                       std::initializer_list<std::string_view> names, size_t required, size_t keywords)
    : function_(function), values_(names.size()) {
  if (arguments.positional.size() > names.size()) {
    refuse("{}() takes at most {} arguments ({} given)", function, names.size(), arguments.positional.size());
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const size_t i = std::find(names.begin(), names.end(), name) - names.begin();
    if (i == names.size() || i < keywords)
      refuse("{}() got an unexpected keyword argument '{}'", function, name);
    if (values_[i]) refuse("{}() got multiple values for argument '{}'", function, name);
    values_[i] = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!values_[i]) refuse("{}() needs the argument '{}'", function, names.begin()[i]);
  }
}

int64_t Parameters::integer(size_t i, int64_t missing) const {
  return values_[i] ? require_integer(*values_[i]) : missing;
}

const Text& Parameters::text(size_t i) const {
  require_defined(*values_[i]);
  if (!values_[i]->text()) refuse("{}(): expected a str, not '{}'", function_, values_[i]->type());
  return *values_[i]->text();
}

int64_t require_integer(const Value& value) {
  int64_t out = 0;
  require_defined(value);
  if (!value.whole(out)) refuse("'{}' object cannot be interpreted as an integer", value.type());
  return out;
}

}  // namespace smelt::templates

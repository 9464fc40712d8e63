// Regular expressions of the values of JSON Schema's keyword `format`.
#pragma once

#include <string>
#include <string_view>

namespace smelt::structured {

/// Returns the expression that a whole string of the format matches. Some expressions match less than the
/// format: a time has no leap second, a hostname is at most 3 labels of 63 characters or 8 labels of 30, an
/// e-mail address has no quoted part and no address in brackets. Throws Error (invalid_argument) with a list
/// of all formats if `name` is not one of them.
std::string format_expression(std::string_view name);

}  // namespace smelt::structured

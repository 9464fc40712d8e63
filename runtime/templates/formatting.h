// Formatting of values into texts: the operator % and the method format of texts, and the filter round.
#pragma once

#include "runtime/templates/value.h"

namespace smelt::templates {

/// text % argument.
Value format_percent(Budget& budget, const Text& format, const Value& argument);
/// text.format(*positional, **named).
Value format_braces(Interpreter& interpreter, const Text& format, const Arguments& arguments);

/// A number with `precision` digits after the point ('f'), in scientific form ('e') or in the shorter one
/// ('g'). `alternate` keeps the point and zeros.
std::string format_real(double value, char form, int precision, bool alternate = false);
/// A number in a base: 'd', 'x', 'X', 'o' or 'b', without sign.
std::string format_magnitude(uint64_t magnitude, char form);

/// text.replace(from, to, most); a negative `most` replaces all.
std::string replaced(Budget& budget, std::string_view text, std::string_view from, std::string_view to,
                     int64_t most = -1);
/// The first place of `part` at or after `from`, or npos, in linear time.
size_t find_text(std::string_view text, std::string_view part, size_t from = 0);
/// The last place of `part`, or npos. Spends steps, because the time may be quadratic.
size_t find_last(Budget& budget, std::string_view text, std::string_view part);
/// str.islower() and str.isupper().
bool is_lower(const Text& text);
bool is_upper(const Text& text);

}  // namespace smelt::templates

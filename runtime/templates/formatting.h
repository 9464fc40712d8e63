// Formatting of values as text (for the operator % and the method `format`), and search and replacement in
// texts.
#pragma once

#include "runtime/templates/value.h"

namespace smelt::templates {

/// Returns format % argument, as Python computes it.
Value format_percent(Budget& budget, const Text& format, const Value& argument);
/// Returns format.format(*positional, **named), as Python computes it.
Value format_braces(Interpreter& interpreter, const Text& format, const Arguments& arguments);

/// Returns the text of a number in one of the forms of C's printf: 'f' (`precision` digits after the point),
/// 'e' (scientific) or 'g' (the shorter one). `alternate` is printf's option #: it keeps the point, and for
/// 'g' the zeros at the end.
std::string format_real(double value, char form, int precision, bool alternate = false);
/// Returns the digits of a number in base 10 ('d'), 16 ('x', 'X'), 8 ('o') or 2 ('b').
std::string format_magnitude(uint64_t magnitude, char form);

/// Returns text.replace(from, to, most): the first `most` occurrences of `from` are replaced, or all if
/// `most` is negative.
std::string replaced(Budget& budget, std::string_view text, std::string_view from, std::string_view to,
                     int64_t most = -1);
/// Returns the byte offset of the first occurrence of `part` at or after `from`; npos if there is none. The
/// time is linear.
size_t find_text(std::string_view text, std::string_view part, size_t from = 0);
/// Returns the byte offset of the last occurrence of `part`; npos if there is none. Spends steps of the
/// budget that limits the rendering of a template, because the time may be quadratic.
size_t find_last(Budget& budget, std::string_view text, std::string_view part);
/// Return text.islower() and text.isupper(), as Python defines them.
bool is_lower(const Text& text);
bool is_upper(const Text& text);

}  // namespace smelt::templates

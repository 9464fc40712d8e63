// Operators of expressions. They compute as Python does, but integers have 64 bits.
#pragma once

#include "runtime/templates/syntax.h"

namespace smelt::templates {

/// Returns `a op b`, where `op` is one of the arithmetic operators Op::add to Op::power. Throws
/// TemplateError: `runtime` if Python would raise an error, `unsupported` if an integer result has more than
/// 64 bits.
Value arithmetic(Budget& budget, Op op, const Value& a, const Value& b);
Value negative(const Value& value);
Value positive(const Value& value);

/// Returns value[start:stop:step]. A null argument is an omitted part of the slice.
Value slice(Budget& budget, const Value& value, const Value* start, const Value* stop, const Value* step);

/// The elements of a sequence that a slice selects: `count` elements, `step` apart, from index `start` on.
struct Selection {
  int64_t start = 0, step = 1, count = 0;
};
/// Returns the elements that [start:stop:step] selects in a sequence of this length.
Selection select(int64_t length, const Value* start, const Value* stop, const Value* step);

/// Returns str(value) with the special characters of HTML escaped, as a safe text (Text::safe). A safe text
/// is returned unchanged.
Value escape_html(Budget& budget, const Value& value);

}  // namespace smelt::templates

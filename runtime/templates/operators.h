// Operators of expressions, with Python's semantics for integers of 64 bits.
#pragma once

#include "runtime/templates/syntax.h"

namespace smelt::templates {

/// a op b for the operators add to power. Throws TemplateError (runtime) where Python raises an error, and
/// (unsupported) if an integer result has more than 64 bits.
Value arithmetic(Budget& budget, Op op, const Value& a, const Value& b);
Value negative(const Value& value);
Value positive(const Value& value);

/// value[start:stop:step]; null parts are omitted ones.
Value slice(Budget& budget, const Value& value, const Value* start, const Value* stop, const Value* step);

/// The elements of [0, length) that a slice selects.
struct Selection {
  int64_t start = 0, step = 1, count = 0;
};
Selection select(int64_t length, const Value* start, const Value* stop, const Value* step);

/// Escapes a text for HTML, unless it is safe. Other values become texts first.
Value escape_html(Budget& budget, const Value& value);

}  // namespace smelt::templates

// Removes roundings before stores: a store rounds to its memory's type, so its operand need not be rounded to
// that type before.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Gives stores of a converted value the value itself, where the conversion is to the nearest number of the
/// memory's type and both values are visible to the store.
void store_unrounded(Kernel& kernel);

}  // namespace smelt

// A store rounds to its memory's type, so what it stores need not have been rounded to that before.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// Gives stores of a converted value the value itself, where the conversion is to the nearest number of the
/// memory's type and both values are visible to the store.
void store_unrounded(Kernel& kernel);

}  // namespace smelt

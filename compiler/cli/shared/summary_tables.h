// The tables of `smelt dump --summary` that are of the whole compilation.
#pragma once

#include <string>

#include "compiler/driver/compile.h"

namespace smelt::cli {

/// Launches and bytes of every entry before and after fusion, the memory of each by role and, where there is
/// a mesh, what a rank keeps of the states.
std::string summary_tables(const Compilation& compilation);

}  // namespace smelt::cli

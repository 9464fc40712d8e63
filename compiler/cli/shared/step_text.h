// Names of a program's steps in tables.
#pragma once

#include <string>

#include "ir/program/program.h"

namespace smelt::cli {

/// "k0_reduce5x2", "gemm 2048x384x128", "sort_index", ...
std::string step_name(const Program& program, const Step& step);
/// The names it came from, shortened to `width`.
std::string step_sources(const Step& step, size_t width);

}  // namespace smelt::cli

// What `smelt dump` prints of each level of the compiler.
#pragma once

#include <string>

#include "compiler/compile.h"

namespace smelt::cli {

struct DumpLevel {
  std::string emit = "fused";   // graph, fused, program, kernels, llvm, cuda, plan
  std::string format = "text";  // text, json, dot
  std::string filter = {};      // only what comes from sources whose name contains this
};

/// Throws Error where the level has no such format, or is none of plans for GPUs.
void check_level(const DumpLevel& level, bool for_gpu);
/// Of a compilation that has reached it. Where there is a filter, only what it keeps is left in the program.
std::string emit_level(const DumpLevel& level, Compilation& compilation);
/// Of a plan alone.
std::string plan_text(const DumpLevel& level, const Plan& plan);

/// Whether a step comes from sources whose name contains the filter.
bool from_matching(const Step& step, const std::string& filter);
/// A line for every matmul that chunk_rows took apart.
std::string chunks_text(const Compilation& compilation, const std::string& filter);
/// --explain-fusion: every kernel, what is in it, and why its neighbours are not.
std::string explanation(const Compilation& compilation, const std::string& filter);

}  // namespace smelt::cli

// The text that `smelt dump` prints for each level of the compiler.
#pragma once

#include <string>

#include "compiler/driver/compile.h"

namespace smelt::cli {

struct DumpLevel {
  std::string emit = "fused";   // graph, fused, program, kernels, llvm, cuda, plan
  std::string format = "text";  // text, json, dot
  std::string filter = {};      // only what comes from sources whose name contains this
};

/// Throws Error where the level has no such format, or is none of plans for GPUs.
void check_level(const DumpLevel& level, const Target& target);
/// Returns the text of a level that the compilation has reached. A filter, if given, removes all else from
/// the program.
std::string emit_level(const DumpLevel& level, Compilation& compilation);
/// Returns the text of a level that needs a plan alone.
std::string plan_text(const DumpLevel& level, const Plan& plan);

/// Returns whether a step comes from sources whose name contains the filter.
bool from_matching(const Step& step, const std::string& filter);
/// A line for every matmul that chunk_rows took apart.
std::string chunks_text(const Compilation& compilation, const std::string& filter);
/// --explain-fusion: every kernel, what is in it, and why its neighbours are not.
std::string explanation(const Compilation& compilation, const std::string& filter);

}  // namespace smelt::cli

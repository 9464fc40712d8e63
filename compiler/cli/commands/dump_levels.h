// The text that `smelt dump` prints for each level of the compiler.
#pragma once

#include <string>

#include "compiler/driver/compile.h"

namespace smelt::cli {

/// The level to print, and the form of its text.
struct DumpLevel {
  std::string emit = "fused";   // graph, fused, program, kernels, llvm, cuda, plan
  std::string format = "text";  // text, json, dot
  /// Shows only nodes and steps with a source whose name contains this text; empty: all. A source is the
  /// operation of the model that a node or step was made from, such as "h.3.attention.c_proj".
  std::string filter = {};
};

/// Throws Error if the format is unknown, if the level cannot be printed in this format, or if the level is
/// "llvm" and the target is a GPU.
void check_level(const DumpLevel& level, const Target& target);
/// Returns the text of a level that the compilation has reached. For the levels "program", "kernels", "llvm"
/// and "cuda", a filter changes compilation.program: steps that do not match are removed, and kernels that
/// are not printed lose their names. A kernel is printed if a remaining step runs it, or if its name contains
/// the filter.
std::string emit_level(const DumpLevel& level, Compilation& compilation);
/// Returns the text of the level "plan". The filter is not used.
std::string plan_text(const DumpLevel& level, const Plan& plan);

/// Returns whether the name of a source of the step contains the filter.
bool from_matching(const Step& step, const std::string& filter);
/// Returns one line per matmul that the pass chunk_rows split into chunks of rows.
std::string chunks_text(const Compilation& compilation, const std::string& filter);
/// Returns the text of --explain-fusion: every kernel with its operations, and the reason why each neighbour
/// was not fused into it.
std::string explanation(const Compilation& compilation, const std::string& filter);

}  // namespace smelt::cli

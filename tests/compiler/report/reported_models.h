// Compiled models for tests of reports.
#pragma once

#include <filesystem>

#include "compiler/report/reported_plan.h"
#include "ir/text/text.h"

namespace smelt::testing {

/// Compiles a GPT-2 with three layers to a program, and records the decisions of fusion. `change` may edit
/// the options before the compilation.
inline ReportedPlan gpt2(const std::vector<std::string>& entries, void (*change)(CompileOptions&) = nullptr) {
  CompileOptions options;
  options.entries = entries, options.explain_fusion = true;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 16}};
  if (change) change(options);
  const auto path = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens/gpt2";
  return reported(compile(read_description(path), options, Stage::program), options, path.string());
}

/// Compiles a graph in text form for inference, without the passes `disabled`.
inline ReportedPlan of_text(std::string_view text, const std::vector<std::string>& disabled = {}) {
  CompileOptions options;
  options.mode = Mode::infer, options.explain_fusion = true;
  options.passes.disabled = disabled;
  return reported(compile(parse_module(text), options, Stage::program), options, "text");
}

}  // namespace smelt::testing

// Plans that the tests of reports look at.
#pragma once

#include <filesystem>

#include "compiler/report/reported_plan.h"
#include "ir/text/text.h"

namespace smelt::testing {

/// A GPT-2 of three layers up to its program, with decisions of fusion; `change` edits the options.
inline ReportedPlan gpt2(const std::vector<std::string>& entries, void (*change)(CompileOptions&) = nullptr) {
  CompileOptions options;
  options.entries = entries, options.explain_fusion = true;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 16}};
  if (change) change(options);
  const auto path = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens/gpt2";
  return reported(compile(read_description(path), options, Stage::program), options, path.string());
}

/// A graph in text form, for inference.
inline ReportedPlan of_text(std::string_view text, const std::vector<std::string>& disabled = {}) {
  CompileOptions options;
  options.mode = Mode::infer, options.explain_fusion = true;
  options.passes.disabled = disabled;
  return reported(compile(parse_module(text), options, Stage::program), options, "text");
}

}  // namespace smelt::testing

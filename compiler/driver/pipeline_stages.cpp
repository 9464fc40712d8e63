#include "compiler/driver/pipeline_stages.h"

#include <fmt/ranges.h>

#include "runtime/base/error.h"

namespace smelt {

std::vector<std::string> why_no_stages(const CompileOptions& options) {
  std::vector<std::string> problems;
  const auto add_where = [&](bool is_wrong, std::string problem) {
    if (is_wrong) problems.push_back(std::move(problem));
  };
  add_where(options.zero >= 2,
            "--zero=2 and 3 cut sums of gradients, which each micro-batch adds to: give --zero=0 or 1");
  add_where(!options.masters,
            "parameters without f32 masters are rounded at random, and each copy of one otherwise");
  add_where(options.memory_budget || options.memory_curve,
            "a budget of memory is for a whole training step: leave it out");
  add_where(!options.pipeline.empty(), "--pipeline replaces the passes that it needs");
  return problems;
}

void check_stages(const CompileOptions& options) {
  const int64_t stages = pipeline_stages(options.mesh);
  std::vector<std::string> problems = why_no_stages(options);
  if (options.stage < 0 || options.stage >= stages)
    problems.push_back(fmt::format("there is no stage {}, they are counted from 0", options.stage));
  if (!problems.empty())
    fail("a pipeline of {} stages (mesh {}): {}", stages, str(options.mesh), fmt::join(problems, "; "));
}

}  // namespace smelt

#include "compiler/cli/shared/output_path.h"

#include <filesystem>

#include "runtime/base/error.h"
#include "runtime/plan/plan_file.h"

namespace smelt::cli {

namespace fs = std::filesystem;

void require_other_output(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code ignored;
  for (const std::string& input : inputs)
    if (!input.empty() && !output.empty() && fs::equivalent(output, input, ignored))
      fail("--output {}: this is what is read; name another", output);
}

void require_place_for_plan(const std::string& output) {
  std::error_code ignored;
  if (output.empty() || !fs::is_regular_file(output, ignored) || fs::file_size(output, ignored) == 0) return;
  if (!is_plan_file(output))
    fail("--output {}: there is a file that is no plan: name another, or remove it before", output);
}

}  // namespace smelt::cli

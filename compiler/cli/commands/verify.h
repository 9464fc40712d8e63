// Verification of a model directory against its recorded references, for the command and for tests.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "compiler/cli/shared/compile_flags.h"

namespace smelt::cli {

struct Verified {
  int compared = 0, failed = 0;
  std::string table;
};

/// Another way to make the plan that is verified, such as a GPU's kernels compiled for the host.
using PlanMaker = std::function<Plan(const Description&, const CompileOptions&)>;

/// Checks every quantity of training and generation against the bounds of the flags' precision.
Verified verify_directory(const std::filesystem::path& directory, const CompileFlags& flags,
                          const PlanMaker& make = {});

}  // namespace smelt::cli

// The data that a report shows of one plan, whether it was compiled here or comes from a file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "compiler/report/kernel_resources.h"

namespace smelt {

struct ReportedPlan {
  std::string model;   // the path, as it was given
  std::string target;  // as the plan names it
  Target rates_of;     // what times are estimated for
  Program program;
  std::vector<std::string> codes;  // of kernels: CUDA C++ or LLVM IR; empty where there is none
  /// The resources of kernels whose machine code the plan has, for a GPU; empty where there is none.
  std::vector<std::optional<KernelResources>> resources;
  // Data that a plan file does not keep; empty for a plan from a file.
  std::unique_ptr<Module> fused;
  FusionReport fusions;
  std::vector<EntrySummary> summary;
};

/// Returns the report of a compilation up to its program, with `fusions`.
ReportedPlan reported(Compilation compilation, const CompileOptions& options, std::string model);
/// Kernels come from the text that the plan has of them.
ReportedPlan reported(const Plan& plan, std::string model);
/// Leaves these entries alone. Throws Error where one is not there.
void keep_entries(ReportedPlan& plan, const std::vector<std::string>& entries);
/// Fills `resources` of those kernels of a compilation that `plan`, made of it, has unchanged.
void add_resources(ReportedPlan& reported, const Plan& plan);
/// Fills `codes`: takes about a tenth of a second for 35 kernels.
void add_codes(ReportedPlan& plan);

}  // namespace smelt

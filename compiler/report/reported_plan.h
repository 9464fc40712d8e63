// ReportedPlan: the data that a report shows about one plan, which was compiled in this process or loaded
// from a file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "compiler/report/kernel_resources.h"

namespace smelt {

struct ReportedPlan {
  std::string model;   // path of the model or the plan, as the user wrote it
  std::string target;  // name of the target
  Target rates_of;     // the target whose bandwidths and rates of arithmetic are used to estimate times
  Program program;
  std::vector<std::string> codes;  // code of each kernel: CUDA C++ or LLVM IR; empty text: unknown
  /// Per kernel of a plan for a GPU; an element is empty if the kernel's machine code is not known. The list
  /// is empty for other targets, and for a compilation until add_resources is called.
  std::vector<std::optional<KernelResources>> resources;
  // Plan files do not contain the next two: null and empty if the plan comes from a file.
  std::unique_ptr<Module> fused;
  FusionReport fusions;
  std::vector<EntrySummary> summary;  // for a plan from a file, the members *_before (before fusion) are 0
};

/// Returns the data of a compilation. Requires: it has produced a program, and the option explain_fusion was
/// set.
ReportedPlan reported(Compilation compilation, const CompileOptions& options, std::string model);
/// Returns the data of a plan. Its kernels are parsed from their text in the plan.
ReportedPlan reported(const Plan& plan, std::string model);
/// Removes all entries but `entries` from the program. Throws Error if one of `entries` does not exist.
void keep_entries(ReportedPlan& plan, const std::vector<std::string>& entries);
/// Sets `resources` for a GPU; does nothing for other targets. `plan`: the plan of the same compilation. A
/// kernel that differs between the plan and the program gets no resources.
void add_resources(ReportedPlan& reported, const Plan& plan);
/// Generates the texts of `codes` that are empty, if this build can list code for the target.
void add_codes(ReportedPlan& plan);

}  // namespace smelt

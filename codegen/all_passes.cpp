#include "codegen/all_passes.h"

namespace smelt {
namespace {

constexpr bool required = true, optional = false;

constexpr bool is_required(KernelPassKind kind) { return kind == KernelPassKind::gpu; }

constexpr Pass kCodegenPasses[] = {
#define SMELT_PASS(name, kind, description) pass_of<&smelt::name>(#name, kind, description),
#include "codegen/codegen_passes.def"
#define SMELT_KERNEL_PASS(name, function, kind, description) \
  pass_of<&smelt::function>(#name, is_required(KernelPassKind::kind), description),
#include "codegen/kernel_passes/kernel_passes.def"
};

}  // namespace

llvm::ArrayRef<Pass> codegen_pass_table() { return kCodegenPasses; }

std::vector<PassCall> pass::legalization() {
  std::vector<PassCall> calls;
#define SMELT_KERNEL_PASS(name, function, kind, description) \
  if (KernelPassKind::kind == KernelPassKind::gpu) calls.push_back(pass::name());
#include "codegen/kernel_passes/kernel_passes.def"
  return calls;
}

}  // namespace smelt

// The back end for CPUs: LLVM, where the build has it (SMELT_CPU).
#include "codegen/code_generator.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "runtime/base/error.h"

#ifdef SMELT_CPU
#include "codegen/cpu/emit_llvm.h"
#include "codegen/make_plan.h"
#include "llvm/Config/llvm-config.h"
#endif

namespace smelt {
namespace {

class CpuCodeGenerator : public CodeGenerator {
 public:
  std::string_view level() const override { return "llvm"; }
  std::string_view language() const override { return "LLVM IR"; }
  std::string_view suffix() const override { return ".ll"; }
  bool revises_schedules() const override { return false; }
  void schedule(Kernel& kernel, const Symbols& symbols, const Target&) const override {
    schedule_for_cpu(kernel, symbols);
  }
  /// LLVM verifies its own code.
  std::vector<std::string> verify(const Kernel&) const override { return {}; }
  std::string problem() const override {
    return "this build has no code generator for the CPU: configure with -DSMELT_CPU=ON, or compile for a "
           "GPU "
           "such as sm_90";
  }
#ifdef SMELT_CPU
  bool lists() const override { return true; }
  std::string version() const override { return "LLVM " LLVM_VERSION_STRING; }
  std::string processor(const Target&) const override { return CpuTarget::host().str(); }
  std::string machine(const Target&) const override {
    const CpuTarget host = CpuTarget::host();
    return host.str() + " " + host.features;
  }
  std::string listing(llvm::ArrayRef<ListedKernel> kernels) const override {
    std::vector<const Kernel*> all;
    for (const ListedKernel& listed : kernels) all.push_back(listed.kernel);
    return emit_llvm_text(all, CpuTarget::host());
  }
  Plan make_plan(Program& program, const Target&) const override { return make_cpu_plan(program); }
#else
  bool lists() const override { return false; }
  std::string version() const override { return ""; }
  std::string processor(const Target&) const override { return ""; }
  std::string machine(const Target& target) const override { return target.str(); }
  std::string listing(llvm::ArrayRef<ListedKernel>) const override { fail("{}", problem()); }
  Plan make_plan(Program&, const Target&) const override { fail("{}", problem()); }
#endif
};

}  // namespace

const CodeGenerator& cpu_code_generator() {
  static const CpuCodeGenerator generator;
  return generator;
}

}  // namespace smelt

#include "codegen/code_listing.h"

#ifdef SMELT_CPU
#include "codegen/llvm/emit_llvm.h"
#include "llvm/Config/llvm-config.h"
#else
#include "runtime/error.h"
#endif

namespace smelt {

#ifdef SMELT_CPU

std::string llvm_listing(llvm::ArrayRef<const Kernel*> kernels) {
  return emit_llvm_text(kernels, CpuTarget::host());
}
std::string cpu_code_target() { return CpuTarget::host().str(); }
std::string cpu_code_generator() { return "LLVM " LLVM_VERSION_STRING; }

#else

std::string llvm_listing(llvm::ArrayRef<const Kernel*>) {
  fail("this build has no code generator for the CPU: configure with -DSMELT_CPU=ON");
}
std::string cpu_code_target() { return "none"; }
std::string cpu_code_generator() { return "none"; }

#endif

}  // namespace smelt

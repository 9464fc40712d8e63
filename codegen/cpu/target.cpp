#include "codegen/cpu/target.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "llvm/ADT/StringMap.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

void initialize_native_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

std::string feature_text() {
  std::vector<std::string> list;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    list.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
  std::sort(list.begin(), list.end(), [](auto& a, auto& b) { return a.substr(1) < b.substr(1); });
  std::string text;
  for (const std::string& feature : list) text += (text.empty() ? "" : ",") + feature;
  return text;
}

}  // namespace

CpuTarget CpuTarget::host() {
  static const CpuTarget host = {llvm::sys::getProcessTriple(), llvm::sys::getHostCPUName().str(),
                                 feature_text()};
  return host;
}

std::string CpuTarget::str() const { return "cpu-" + llvm::Triple(triple).getArchName().str() + "-" + cpu; }

bool CpuTarget::has(std::string_view feature) const {
  return ("," + features + ",").find(fmt::format(",+{},", feature)) != std::string::npos;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuTarget& target) {
  initialize_native_target();
  std::string message;
  const llvm::Target* known = llvm::TargetRegistry::lookupTarget(target.triple, message);
  if (known == nullptr)
    fail("target {}: this build of LLVM has no code generator for '{}': {}; compile on such a machine",
         target.str(), target.triple, message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(
      known->createTargetMachine(target.triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                 llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) fail("target {}: LLVM makes no machine for cpu '{}'", target.str(), target.cpu);
  return machine;
}

TargetTraits traits_of(const CpuTarget& target) {
  TargetTraits traits;
  if (!llvm::Triple(target.triple).isX86()) {
    traits.vector_bits = 128;
    return traits;
  }
  traits.rounds = target.has("sse4.1");
  traits.halves = target.has("f16c");
  traits.vector_bits = target.has("avx512bw") && target.has("avx512vl") ? 512 : target.has("avx") ? 256 : 128;
  return traits;
}

}  // namespace smelt

#include "codegen/cpu/emit_llvm.h"

#include <algorithm>

#include "codegen/cpu/object_code.h"
#include "runtime/base/in_parallel.h"

namespace smelt {
namespace {

using Bytes = llvm::SmallVector<char, 0>;
using Kernels = llvm::ArrayRef<const Kernel*>;

constexpr size_t kKernelsAnObject =
    8;  // fewer: the start of a code generator shows; more: threads wait at the end

Bytes compile_group(Kernels kernels, const CpuTarget& target) {
  llvm::LLVMContext context;
  context.setDiscardValueNames(true);  // they are for readers of the text
  const std::unique_ptr<llvm::TargetMachine> machine = make_target_machine(target);
  const std::unique_ptr<llvm::Module> module = emit_module(kernels, target, *machine, context);
  optimize(*module, *machine);
  return generate_code(*module, *machine, llvm::CodeGenFileType::ObjectFile);
}

/// Large kernels first, dealt out round-robin, so that groups weigh about the same.
std::vector<std::vector<const Kernel*>> balanced_groups(Kernels kernels) {
  std::vector<const Kernel*> order(kernels.begin(), kernels.end());
  std::stable_sort(order.begin(), order.end(),
                   [](auto* a, auto* b) { return a->instructions.size() > b->instructions.size(); });
  std::vector<std::vector<const Kernel*>> groups((order.size() + kKernelsAnObject - 1) / kKernelsAnObject);
  for (size_t i = 0; i < order.size(); ++i) groups[i % groups.size()].push_back(order[i]);
  return groups;
}

}  // namespace

std::vector<std::byte> compile_kernels(Kernels kernels, const CpuTarget& target) {
  const auto groups = balanced_groups(kernels);
  std::vector<Bytes> objects(groups.size());
  make_target_machine(target);  // before threads start: a wrong target is one error
  in_parallel(groups.size(), [&](size_t i) { objects[i] = compile_group(groups[i], target); });
  return link_shared_object(objects);
}

std::string emit_llvm_text(Kernels kernels, const CpuTarget& target) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::TargetMachine> machine = make_target_machine(target);
  const std::unique_ptr<llvm::Module> module = emit_module(kernels, target, *machine, context);
  optimize(*module, *machine);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

std::string emit_assembly(Kernels kernels, const CpuTarget& target) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::TargetMachine> machine = make_target_machine(target);
  const std::unique_ptr<llvm::Module> module = emit_module(kernels, target, *machine, context);
  optimize(*module, *machine);
  const Bytes bytes = generate_code(*module, *machine, llvm::CodeGenFileType::AssemblyFile);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace smelt

#include "codegen/cpu/object_code.h"

#include "codegen/cpu/emitters/emit_kernel.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "runtime/base/error.h"

namespace smelt {

std::unique_ptr<llvm::Module> emit_module(llvm::ArrayRef<const Kernel*> kernels, const CpuTarget& target,
                                          llvm::TargetMachine& machine, llvm::LLVMContext& context) {
  auto module = std::make_unique<llvm::Module>("kernels", context);
  module->setTargetTriple(target.triple);
  module->setDataLayout(machine.createDataLayout());
  module->setPICLevel(llvm::PICLevel::BigPIC);
  const TargetTraits traits = traits_of(target);
  for (const Kernel* kernel : kernels) emit_kernel(*kernel, *module, traits);
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (llvm::verifyModule(*module, &stream))
    fail_with(Status::internal, "kernel {}: the LLVM code is malformed: {}", kernels[0]->name, problems);
  return module;
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes;
  constexpr const char* kPipeline =
      "sroa,early-cse<memssa>,simplifycfg,loop-mssa(licm),"
      "instcombine<no-verify-fixpoint>,early-cse";
  if (llvm::Error error = builder.parsePassPipeline(passes, kPipeline))
    fail_with(Status::internal, "LLVM does not know the passes '{}': {}", kPipeline,
              toString(std::move(error)));
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
}

llvm::SmallVector<char, 0> generate_code(llvm::Module& module, llvm::TargetMachine& machine,
                                         llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    fail_with(Status::internal, "LLVM cannot write this kind of file for '{}'", module.getTargetTriple());
  passes.run(module);
  return bytes;
}

}  // namespace smelt

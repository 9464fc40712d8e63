// The interface of a back end, which generates code for kernels. Each value of the enum BackEnd (ir/target.h)
// has one implementation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/program/program.h"
#include "ir/target.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// A kernel to list as text, and the names of the graph nodes that it computes.
struct ListedKernel {
  const Kernel* kernel;
  std::vector<std::string> sources;
};

/// One back end: it schedules kernels, lists them as text, and compiles them to the plan of a program.
class CodeGenerator {
 public:
  virtual ~CodeGenerator() = default;

  virtual std::string_view level() const = 0;     // argument of `smelt dump --emit`: "llvm", "cuda"
  virtual std::string_view language() const = 0;  // of listings: "LLVM IR", "CUDA C++"
  virtual std::string_view suffix() const = 0;    // of the names of listing files: ".ll", ".cu"
  /// Returns the name and version of the compiler that makes machine code, such as "NVRTC 13.0". Returns ""
  /// if it is not available.
  virtual std::string version() const = 0;
  /// Returns the reason why the compiler is not available. Meaningful only if `version` returns "".
  virtual std::string problem() const = 0;
  /// Returns whether `listing` can make text. LLVM IR requires a build with LLVM; CUDA C++ has no
  /// requirements.
  virtual bool lists() const = 0;
  /// Returns whether this back end replaces the schedule of a kernel whose machine code is slow, for
  /// example because it spills registers.
  virtual bool revises_schedules() const = 0;
  /// Returns the processor that code is made for: "cpu-x86_64-znver5", "sm_90".
  virtual std::string processor(const Target& target) const = 0;
  /// Returns all properties of the machine that code depends on, for the keys of caches.
  virtual std::string machine(const Target& target) const = 0;

  /// Fills kernel.schedule. Other fields that depend on the schedule are set later, by passes over kernels.
  virtual void schedule(Kernel& kernel, const Symbols& symbols, const Target& target) const = 0;
  /// Returns the kernels as readable text. Throws Error if `lists` is false.
  virtual std::string listing(llvm::ArrayRef<ListedKernel> kernels) const = 0;
  /// Returns the plan of the program: the data that the runtime executes, with the machine code of all
  /// kernels. Throws Error if the compiler is not available or fails.
  virtual Plan make_plan(Program& program, const Target& target) const = 0;
};

/// Returns the implementation for a back end.
const CodeGenerator& code_generator(BackEnd back_end);
/// Returns the implementation with this level(); null if there is none.
const CodeGenerator* find_code_generator(std::string_view level);
inline const CodeGenerator& code_generator(const Target& target) { return code_generator(target.back_end); }

/// Returns the kernels of a program, each once. ListedKernel::sources has the graph nodes of all steps that
/// launch the kernel.
std::vector<ListedKernel> listed_kernels(const Program& program);

// The implementations. The CPU's back end makes code only in a build with SMELT_CPU.
const CodeGenerator& cpu_code_generator();
const CodeGenerator& cuda_code_generator();

}  // namespace smelt

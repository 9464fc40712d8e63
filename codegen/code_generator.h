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

  virtual std::string_view level() const = 0;     // value of `smelt dump --emit`: "llvm", "cuda"
  virtual std::string_view language() const = 0;  // language of the listings: "LLVM IR", "CUDA C++"
  virtual std::string_view suffix() const = 0;    // end of a listing file's name: ".ll", ".cu"
  /// Returns the name and version of the compiler that makes machine code, such as "NVRTC 13.0". Returns ""
  /// if it is not available.
  virtual std::string version() const = 0;
  /// Returns the reason why the compiler is not available. Meaningful only if `version` returns "".
  virtual std::string problem() const = 0;
  /// Returns whether `listing` is supported by this build of Smelt. The CPU's back end needs LLVM for it; the
  /// CUDA back end needs nothing.
  virtual bool lists() const = 0;
  /// Returns whether this back end replaces the schedule of a kernel whose machine code is slow, for
  /// example because it spills registers.
  virtual bool revises_schedules() const = 0;
  /// Returns the processor for which code is generated: "cpu-x86_64-znver5", "sm_90".
  virtual std::string processor(const Target& target) const = 0;
  /// Returns a text with all properties of the machine that affect the generated code. It becomes a part of
  /// the keys of code caches.
  virtual std::string machine(const Target& target) const = 0;

  /// Fills kernel.schedule. Other fields that depend on the schedule are set later, by passes over kernels.
  virtual void schedule(Kernel& kernel, const Symbols& symbols, const Target& target) const = 0;
  /// Returns the faults of the code that the back end makes from a kernel, before it becomes machine code.
  virtual std::vector<std::string> verify(const Kernel& kernel) const = 0;
  /// Returns the kernels as readable text. Throws Error if `lists` is false.
  virtual std::string listing(llvm::ArrayRef<ListedKernel> kernels) const = 0;
  /// Returns the plan of the program: the data that the runtime executes, with the machine code of all
  /// kernels. Throws Error if the compiler is not available or fails.
  virtual Plan make_plan(Program& program, const Target& target) const = 0;
};

/// Returns the implementation for a back end.
const CodeGenerator& code_generator(BackEnd back_end);
/// Returns the back end whose level() is `level`; null if there is none.
const CodeGenerator* find_code_generator(std::string_view level);
inline const CodeGenerator& code_generator(const Target& target) { return code_generator(target.back_end); }

/// Returns each kernel of a program once. Several steps may launch one kernel; its ListedKernel::sources has
/// the names of the graph nodes of all these steps.
std::vector<ListedKernel> listed_kernels(const Program& program);

// The implementations. The CPU's back end makes code only in a build with SMELT_CPU.
const CodeGenerator& cpu_code_generator();
const CodeGenerator& cuda_code_generator();

}  // namespace smelt

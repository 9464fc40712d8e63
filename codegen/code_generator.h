// The interface of a back end, which generates code for kernels. There is one for each BackEnd of
// ir/target.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/program/program.h"
#include "ir/target.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// A kernel to list: `sources` are the names of the nodes that it computes.
struct ListedKernel {
  const Kernel* kernel;
  std::vector<std::string> sources;
};

class CodeGenerator {
 public:
  virtual ~CodeGenerator() = default;

  virtual std::string_view level() const = 0;     // of `smelt dump --emit`: "llvm", "cuda"
  virtual std::string_view language() const = 0;  // of listings: "LLVM IR", "CUDA C++"
  virtual std::string_view suffix() const = 0;    // of files of listings: ".ll", ".cu"
  /// Returns the program that makes machine code, with its version; empty where there is none.
  virtual std::string version() const = 0;
  /// Returns the reason why `version` is empty.
  virtual std::string problem() const = 0;
  /// Returns whether `listing` can make text: the CPU's needs LLVM, CUDA C++ needs nothing.
  virtual bool lists() const = 0;
  /// Returns whether schedules change if the machine code of a kernel does not fit.
  virtual bool revises_schedules() const = 0;
  /// The processor that code is made for: "cpu-x86_64-znver5", "sm_90".
  virtual std::string processor(const Target& target) const = 0;
  /// Returns all properties of the machine that code depends on, for the keys of caches.
  virtual std::string machine(const Target& target) const = 0;

  /// Fills kernel.schedule; passes over kernels derive all else from it.
  virtual void schedule(Kernel& kernel, const Symbols& symbols, const Target& target) const = 0;
  /// Returns the kernels as readable text. Throws Error where this build cannot make it.
  virtual std::string listing(llvm::ArrayRef<ListedKernel> kernels) const = 0;
  virtual Plan make_plan(Program& program, const Target& target) const = 0;
};

const CodeGenerator& code_generator(BackEnd back_end);
/// The back end whose listings are the level of `smelt dump --emit`; null where none is.
const CodeGenerator* find_code_generator(std::string_view level);
inline const CodeGenerator& code_generator(const Target& target) { return code_generator(target.back_end); }

/// The scheduled kernels of a program with their sources.
std::vector<ListedKernel> listed_kernels(const Program& program);

// The rows of code_generator.cpp. The CPU's back end needs SMELT_CPU to make code.
const CodeGenerator& cpu_code_generator();
const CodeGenerator& cuda_code_generator();

}  // namespace smelt

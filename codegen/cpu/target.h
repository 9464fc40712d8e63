// The processor that kernels are compiled for.
#pragma once

#include <memory>
#include <string>

#include "llvm/Target/TargetMachine.h"

namespace smelt {

/// A processor, as LLVM describes it.
struct CpuTarget {
  std::string triple, cpu, features;  // in LLVM's notation; features = "+avx2,-avx512f,..."

  /// Returns the processor that this process runs on.
  static CpuTarget host();
  /// Returns the architecture and the processor, such as "cpu-x86_64-skylake-avx512".
  std::string str() const;
  /// Returns whether the processor has a feature, such as "avx2".
  bool has(std::string_view feature) const;
};

/// Returns LLVM's code generator for the target, which makes position-independent code. Throws Error if this
/// build of LLVM does not support the target.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuTarget& target);

/// The abilities of a processor. If it has no instruction for an operation, the emitter emits a sequence of
/// other instructions.
struct TargetTraits {
  bool rounds = true;     // has instructions that round to a whole number, such as floor
  bool halves = true;     // has conversions between f16 and f32
  int vector_bits = 512;  // bits of the widest vector register
};
TargetTraits traits_of(const CpuTarget& target);

}  // namespace smelt

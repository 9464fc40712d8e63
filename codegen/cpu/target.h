// The processor that kernels are compiled for.
#pragma once

#include <memory>
#include <string>

#include "llvm/Target/TargetMachine.h"

namespace smelt {

struct CpuTarget {
  std::string triple, cpu, features;  // LLVM's spellings; features = "+avx2,-avx512f,..."

  /// The processor this process runs on.
  static CpuTarget host();
  /// "cpu-x86_64-skylake-avx512"
  std::string str() const;
  bool has(std::string_view feature) const;
};

/// A code generator for position-independent code. Throws Error for a target that this LLVM does not know.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuTarget& target);

/// The abilities of a processor; the emitter writes out an operation that the processor has no instruction
/// for.
struct TargetTraits {
  bool rounds = true;     // floor and its like
  bool halves = true;     // conversions between f16 and f32
  int vector_bits = 512;  // the widest registers
};
TargetTraits traits_of(const CpuTarget& target);

}  // namespace smelt

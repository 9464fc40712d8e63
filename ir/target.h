// Target that a plan is compiled for: properties that passes and code generation query, instead of its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ops/op.h"
#include "runtime/base/dtype.h"
#include "runtime/cuda/device_model.h"

namespace smelt {

class Node;

/// Templates for attention kernels: those with every architecture's instructions, with tiles that suit most
/// shapes; those of sm_90a where they apply; or all that apply, of which measurements choose the fastest.
enum class AttentionTemplates : uint8_t { mma, wgmma, measured };

/// Policy for fusing an epilogue into a matmul's kernel, if a template supports it: never; if measurements
/// find that variant fastest; or always, with the tiles that suit most shapes, or with the widest ones.
enum class GemmEpilogues : uint8_t { off, measured, only, wide };

/// Capabilities of a target that decide which code is made for it.
struct Capabilities {
  bool own_memory = false;              // the device's memory is not the host's
  bool launches = false;                // kernels are launches of many threads, which the host queues
  bool tf32 = false;                    // matmuls of f32 may read operands with 10 bits of mantissa
  bool wgmma = false;                   // instructions that multiply the tiles of four warps at once
  bool i8_weights = false;              // the library multiplies weights of i8 as they are
  bool bias_epilogue = false;           // the library adds a bias to the rows of a product
  bool odd_matmuls = false;             // products of any extents are as fast as those of multiples of 8
  bool strided_copies = false;          // the executor copies boxes of strided elements
  bool attention_kernels = false;       // attention is a kernel with a body; else it runs by blocks
  bool f32_attention_gradient = false;  // attention_grad takes heads of f32
  bool operator==(const Capabilities&) const = default;
};

/// Back ends of codegen/, which make a target's code.
enum class BackEnd : uint8_t { cpu, cuda };

struct Target {
  std::string name = "cpu";  // "cpu", "sm_90"
  BackEnd back_end = BackEnd::cpu;
  Capabilities can;
  int compute_capability = 0;  // the generation of a GPU's architecture: 90 for sm_90; 0 for a CPU
  DeviceModel device = {};     // of a GPU: that of this machine, or the one its architecture is known for
  AttentionTemplates attention = AttentionTemplates::mma;
  GemmEpilogues gemm_epilogues = GemmEpilogues::off;

  Target();
  /// Returns the GPU target of an architecture, such as 90, with the numbers of `device`.
  static Target gpu(int compute_capability, const DeviceModel& device);

  /// Returns why code generation does not accept the composite, with heads stored as `storage`; nothing if it
  /// does. `decompose` replaces refused composites by primitives.
  std::optional<std::string> refuses(const Node& composite, DType storage) const;
  /// Returns whether the target's library call computes the body (epilogue) of a matmul; split_bodies turns
  /// any other body into kernels.
  bool keeps_body(const Node& matmul) const;
  const std::string& str() const { return name; }
  bool operator==(const Target&) const = default;
};

/// Parses "cpu", "sm_80", "sm_86", "sm_89", "sm_90" or "sm_100". Throws Error with the known targets.
Target parse_target(std::string_view text);
/// Returns the target of a plan; Plan::target also names the processor.
Target target_of_plan(std::string_view target);

}  // namespace smelt

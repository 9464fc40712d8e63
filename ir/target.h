// The target that a plan is compiled for. Passes and code generation query its properties, not its name.
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

/// Templates for attention kernels. `mma`: templates for all architectures, with tiles that suit most shapes.
/// `wgmma`: templates for sm_90a if they support the attention, else those of `mma`. `measured`: all
/// templates that support it; the runtime measures them and chooses the fastest.
enum class AttentionTemplates : uint8_t { mma, wgmma, measured };

/// Policy for fusing an epilogue into a matmul's kernel if a template supports it. `off`: never. `measured`:
/// if the runtime measures that the fused kernel is faster than separate ones. `only`: always, with tiles
/// that suit most shapes. `wide`: always, with the widest tiles.
enum class GemmEpilogues : uint8_t { off, measured, only, wide };

/// Capabilities of a target that decide which code is made for it.
struct Capabilities {
  bool own_memory = false;  // the device has its own memory, apart from the host's
  bool launches = false;    // kernels are launched by the host on a queue, and have many threads
  bool tf32 = false;        // matmuls of f32 can read operands with 10 bits of mantissa
  bool wgmma = false;       // has the instructions wgmma of sm_90a, with which four warps multiply tiles
  bool i8_weights = false;  // matmuls read i8 weights; if not, a convert node first converts them to floats
  bool bias_epilogue = false;   // the matmul library can add a bias to each row of the result
  bool odd_matmuls = false;     // matmuls are not slower if extents are no multiples of 8
  bool strided_copies = false;  // a copy step may copy a tensor with any strides
  /// An attention is one kernel that contains its score_mod (the body that modifies each score). Without this
  /// capability, one step computes it by blocks of queries and keys
  /// (codegen/lowering/lower_attention_blocks.cpp).
  bool attention_kernels = false;
  bool f32_attention_gradient = false;  // attention_grad supports f32 queries, keys and values
  bool operator==(const Capabilities&) const = default;
};

/// Back ends of codegen/.
enum class BackEnd : uint8_t { cpu, cuda };

/// A device architecture, with the settings of code generation for it.
struct Target {
  std::string name = "cpu";  // "cpu", "sm_90"
  BackEnd back_end = BackEnd::cpu;
  Capabilities can;
  int compute_capability = 0;  // 90 for sm_90; 0 for a CPU
  DeviceModel device = {};     // of a GPU: this machine's, or a representative one of the architecture
  AttentionTemplates attention = AttentionTemplates::mma;
  GemmEpilogues gemm_epilogues = GemmEpilogues::off;

  Target();  // a CPU
  /// Returns the target for a GPU of this compute capability, for example 90, with the properties `device`.
  static Target gpu(int compute_capability, const DeviceModel& device);

  /// Returns the reason why code generation does not support the composite node, or nothing if it supports
  /// the node. `storage` is the type in which the queries, keys and values of an attention are stored. The
  /// pass `decompose` replaces unsupported composites by primitives.
  std::optional<std::string> refuses(const Node& composite, DType storage) const;
  /// Returns whether the target's matmul library computes the epilogue ("body") of this matmul. The pass
  /// split_bodies turns any other epilogue into separate nodes.
  bool keeps_body(const Node& matmul) const;
  const std::string& str() const { return name; }
  bool operator==(const Target&) const = default;
};

/// Parses "cpu", "sm_80", "sm_86", "sm_89", "sm_90" or "sm_100". Throws Error with the known targets.
Target parse_target(std::string_view text);
/// Returns the target of a plan whose Plan::target is `target`. That text may also name the processor model.
Target target_of_plan(std::string_view target);

}  // namespace smelt

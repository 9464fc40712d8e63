// The target for which a plan is compiled. Passes and code generation test its capabilities, never its name.
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

/// Templates that the compiler uses for an attention kernel. `mma`: the templates for all GPUs. `wgmma`: the
/// templates for sm_90a if they support the attention, else those of `mma`. `measured`: every template that
/// supports the attention; the runtime measures them and uses the fastest.
enum class AttentionTemplates : uint8_t { mma, wgmma, measured };

/// Policy for fusing an epilogue into the kernel of a matmul. It applies if a template supports the epilogue.
/// `off`: never fuse. `measured`: make a fused kernel and separate ones; the runtime measures them and uses
/// the faster variant. `only`: always fuse, with tiles that suit most shapes. `wide`: always fuse, with the
/// widest tiles. `mma` and `mma_wide`: as `only` and `wide`, but with the template for sm_80 and later on
/// every GPU.
enum class GemmEpilogues : uint8_t { off, measured, only, wide, mma, mma_wide };

/// Capabilities of a target that decide which code is made for it.
struct Capabilities {
  bool own_memory = false;   // the device has its own memory, apart from the host's
  bool launches = false;     // the host launches kernels on a queue; a kernel has many threads
  bool tf32 = false;         // matmuls of f32 can round their operands to TF32 (10 bits of mantissa)
  bool wgmma = false;        // has the wgmma instructions of sm_90a
  bool mma_sync = false;     // has cp.async and mma.sync.m16n8k16 (sm_80 and later)
  bool i8_weights = false;   // matmuls read i8 weights; if not, a convert node first converts them to floats
  bool i8_products = false;  // matmuls of two operands of i8, with sums of i32
  bool bias_epilogue = false;   // the matmul library can add a bias to each row of the result
  bool scaled_f8 = false;       // the matmul library multiplies matrices of f8e4m3, and results by scalars
  bool odd_matmuls = false;     // matmuls are not slower if extents are no multiples of 8
  bool strided_copies = false;  // a copy step may copy a tensor with any strides
  /// True: one kernel computes an attention, with its score_mod (the body that modifies each score). False: a
  /// step computes the attention by blocks of queries and keys (codegen/lowering/lower_attention_blocks.cpp).
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
  DeviceModel device = {};     // for a GPU: that of this machine, or a typical one of the architecture
  AttentionTemplates attention = AttentionTemplates::mma;
  GemmEpilogues gemm_epilogues = GemmEpilogues::off;
  /// Every sum that an entry computes for a token has one order, which does not depend on the number of rows,
  /// on the entry, or on what else runs with it (docs/guides/precision.md).
  bool same_bits = false;

  Target();  // a CPU
  /// Returns the target for a GPU of this compute capability, for example 90, with the properties `device`.
  static Target gpu(int compute_capability, const DeviceModel& device);

  /// Returns the reason why code generation does not support the node, whose op is a composite (an op that
  /// can be decomposed into primitives). Returns nothing if it supports the node. The pass `decompose`
  /// decomposes unsupported composites. `storage`: the type in which the queries, keys and values of an
  /// attention are stored.
  std::optional<std::string> refuses(const Node& composite, DType storage) const;
  /// Returns whether the target's matmul library computes the epilogue ("body") of this matmul. The pass
  /// split_bodies turns any other epilogue into separate nodes.
  bool keeps_body(const Node& matmul) const;
  /// Returns whether each element of the matmul's result adds its products in one order (GemmStep::in_order),
  /// because results of forward are computed from it in a plan with `same_bits`.
  bool adds_in_order(const Node& matmul) const;
  const std::string& str() const { return name; }
  bool operator==(const Target&) const = default;
};

/// Parses "cpu", "sm_80", "sm_86", "sm_89", "sm_90" or "sm_100". Throws Error with the known targets.
Target parse_target(std::string_view text);
/// Returns the target of a plan whose Plan::target is `target`. That text may also name the processor model.
Target target_of_plan(std::string_view target);

}  // namespace smelt

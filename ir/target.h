// What a plan is compiled for. Passes and code generation ask for what a target can do, never for its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op.h"
#include "runtime/cuda/device_model.h"
#include "runtime/dtype.h"

namespace smelt {

class Node;

/// What the kernels of an attention are made from: templates of every architecture's instructions, with the
/// tiles that most shapes like best; those of sm_90a where these take it; or all that take it, of which the
/// fastest is found by measuring.
enum class AttentionTemplates : uint8_t { mma, wgmma, measured };

/// Whether a matmul's kernel goes on with its result where a template takes both: never; where the fastest of
/// the ways to do it, found by measuring, is that; or always, with the tiles that most shapes like best, or
/// with the widest ones.
enum class GemmBodies : uint8_t { off, measured, only, wide };

struct Target {
  enum class Kind : uint8_t { cpu, cuda } kind = Kind::cpu;
  int compute_capability = 0;  // of a GPU: 90 for sm_90
  DeviceModel device = {};     // of a GPU: that of this machine, or the one its architecture is known for
  AttentionTemplates attention = AttentionTemplates::mma;
  GemmBodies gemm_bodies = GemmBodies::off;

  bool is_cuda() const { return kind == Kind::cuda; }
  /// Why code generation does not accept the composite as it is, its heads stored as `storage`; nothing where
  /// it does. `decompose` replaces those by primitives.
  std::optional<std::string> refuses(const Node& composite, DType storage) const;
  /// Whether the target's library call computes the body of a matmul; split_bodies turns any other body into
  /// kernels.
  bool keeps_body(const Node& matmul) const;
  /// Matmuls of f32 operands may read them with 10 bits of mantissa (TF32).
  bool has_tf32() const { return is_cuda(); }
  std::string str() const;  // "cpu", "sm_90"
  bool operator==(const Target&) const = default;
};

/// "cpu", "sm_80", "sm_86", "sm_89", "sm_90" or "sm_100". Throws Error naming the targets that there are.
Target parse_target(std::string_view text);

}  // namespace smelt

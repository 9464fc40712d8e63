// Recorded references: golden.safetensors and golden.json of a model directory, as record_goldens.py writes
// them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "passes/graph/training/optimizers.h"
#include "runtime/base/tensor.h"
#include "runtime/engine/weights/safetensors.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {

/// The largest errors of results against float64, by the kind of quantity; see the design's table.
struct GoldenBounds {
  double logits = 1e-5, loss = 1e-5, adamw = 1e-5, all_gradients = 1e-5, each_gradient = 1e-4;
};

struct Golden {
  Checkpoint tensors;
  Json json;
  GoldenBounds bounds;  // 1.25 x PyTorch's own error, where that is more

  /// `precision`: fp32, tf32, bf16 or fp16; `weight_type`: float or int8.
  static Golden open(const std::filesystem::path& directory, const std::string& precision,
                     const std::string& weight_type);

  /// An i32 or f32 tensor.
  HostTensor tensor(const std::string& name) const;
  /// Returns the inputs by their names without the prefix.
  std::map<std::string, HostTensor> inputs(std::string_view prefix) const;
  bool has(const std::string& name) const { return tensors.find(name) != nullptr; }
  std::vector<double> adamw_losses() const;
  ApplyOptimizerOptions optimizer() const;
  double learning_rate() const;
  /// Returns the prompt and new tokens of "greedy", one row per prompt.
  std::vector<std::vector<int32_t>> greedy_ids() const;
};

}  // namespace smelt::cli

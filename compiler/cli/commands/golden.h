// Golden: recorded reference results of a model. record_goldens.py writes them to the files
// golden.safetensors and golden.json of the model's directory.
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

/// The largest allowed relative errors against float64 references, for each kind of quantity. `adamw` is for
/// the losses of the recorded AdamW steps, `all_gradients` for all gradients as one vector, and
/// `each_gradient` for the gradient of one parameter. The defaults are those of fp32.
struct GoldenBounds {
  double logits = 1e-5, loss = 1e-5, adamw = 1e-5, all_gradients = 1e-5, each_gradient = 1e-4;
};

/// The recorded results of one model, and the error bounds for comparisons with them.
struct Golden {
  Checkpoint tensors;  // content of golden.safetensors
  Json json;           // content of golden.json
  /// For each quantity, the larger one of the precision's bound and 1.25 times the recorded error of PyTorch
  /// in that precision. With int8 weights, 0.04 is added to the bound of logits.
  GoldenBounds bounds;

  /// Opens the files in `directory`. `precision`, which is fp32, tf32, bf16 or fp16, and `weight_type`, which
  /// is float or int8, determine the bounds.
  static Golden open(const std::filesystem::path& directory, const std::string& precision,
                     const std::string& weight_type);

  /// Returns a tensor of golden.safetensors. Throws Error if it is missing, or neither i32 nor f32.
  HostTensor tensor(const std::string& name) const;
  /// Returns all tensors whose names begin with the prefix, by their names without it. Throws Error if there
  /// is none.
  std::map<std::string, HostTensor> inputs(std::string_view prefix) const;
  bool has(const std::string& name) const { return tensors.find(name) != nullptr; }
  /// Returns the loss of each recorded AdamW step, before its update.
  std::vector<double> adamw_losses() const;
  /// Returns the options of the recorded AdamW steps.
  ApplyOptimizerOptions optimizer() const;
  /// Returns the learning rate of these steps.
  double learning_rate() const;
  /// Returns the recorded results of greedy generation, prompt and new tokens, one row per prompt. Empty if
  /// there are none.
  std::vector<std::vector<int32_t>> greedy_ids() const;
};

}  // namespace smelt::cli

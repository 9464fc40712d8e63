// StoredTensors: the tensors of a checkpoint by name, while the readers of formats replace stored tensors by
// those of the model.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/engine/weights/packed_numbers.h"

namespace smelt {

class StoredTensors {
 public:
  /// `file`: name of the checkpoint in messages.
  StoredTensors(std::vector<TensorView> tensors, std::string file);

  /// Returns the names that end with `suffix`, without it.
  std::vector<std::string> stems(std::string_view suffix) const;
  const TensorView* find(const std::string& name) const;
  /// Removes the tensor and returns it. Throws Error if it is missing, or has another type.
  TensorView take(const std::string& name, std::initializer_list<DType> dtypes);
  /// Does the same, and throws Error if it has another shape.
  TensorView take(const std::string& name, std::initializer_list<DType> dtypes, std::vector<int64_t> shape);
  /// Returns nothing if the tensor is missing.
  std::optional<TensorView> take_if(const std::string& name);
  void put(TensorView tensor);
  /// Returns all tensors, sorted by name.
  std::vector<TensorView> all() &&;

  template <typename... Args>
  [[noreturn]] void refuse(std::string_view tensor, fmt::format_string<Args...> format,
                           Args&&... args) const {
    fail_with(Status::invalid_file, "'{}': tensor '{}': {}", file_, tensor,
              fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::map<std::string, TensorView> tensors_;
  std::string file_;
};

inline constexpr std::initializer_list<DType> kScaleTypes = {DType::f32, DType::f16, DType::bf16};

/// Returns the integers of a tensor I32 or I64. Throws nothing. Requires: one of these types.
std::vector<int64_t> read_stored_integers(const TensorView& tensor);

}  // namespace smelt

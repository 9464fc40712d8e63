// ReadData: data that a command reads before it compiles a model, because they decide what is compiled.
#pragma once

#include <string>
#include <vector>

#include "runtime/engine/data/batches.h"

namespace smelt::cli {

class ReadData {
 public:
  virtual ~ReadData() = default;
  /// Returns the names of the classes by number; empty if the classes are numbers.
  virtual const std::vector<std::string>& class_names() const = 0;
  /// Returns the data for the inputs of the entry. `vocabulary`: number of token ids of the model.
  virtual DataSplit split(const PlanEntry& entry, const Symbols& symbols, int64_t vocabulary) const = 0;
  /// Returns lines about the data that were read and skipped.
  virtual std::string summary() const = 0;
};

}  // namespace smelt::cli

// WeightUpdates: POST /update_weights, with which a trainer of this machine gives the server new weights.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "compiler/server/batch_service.h"

namespace smelt::server {

/// Reads weights from one directory. Thread-safe.
class WeightUpdates {
 public:
  /// `directory`: the directory below which files of weights may be. Throws Error if it is no directory.
  WeightUpdates(BatchService& batch, const std::filesystem::path& directory);

  /// Opens the weights that the body names, checks that they fit the model, and passes them to the batch,
  /// which takes them between two steps. Returns the reply's body, which has the version of the weights. The
  /// file must not change until the batch has taken it. Throws ApiError, and changes nothing, if the body is
  /// wrong, the file is not below the directory, or the weights do not fit.
  std::string update(std::string_view body) const;

 private:
  BatchService& batch_;
  const std::filesystem::path directory_;  // without symbolic links
};

}  // namespace smelt::server

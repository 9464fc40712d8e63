// Token data as the commands take it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "runtime/data.h"

namespace smelt::cli {

struct DataFlags {
  std::vector<std::string> data, validation;
  std::string format = "automatic";
  double held_back = 0.05;

  void add_to(CLI::App& app);
  /// Throws Error where no data was named.
  TokenSplit open(int64_t vocabulary) const;
};

}  // namespace smelt::cli

// A number of steps, given as such or as a share of the steps of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smelt {

/// A number of steps, such as the length of a warm-up.
struct StepCount {
  int64_t steps = 0;
  double share = 0;  // from 0 to 1: of all steps of the run. If it is above 0, `steps` is unused

  StepCount(int64_t steps = 0) : steps(steps) {}  // NOLINT: implicit, because most are plain numbers
  /// Returns the number of steps in a run of `total` steps. A share is rounded up.
  int64_t of(int64_t total) const;
  bool operator==(const StepCount&) const = default;
};

/// Returns a count that is a share, from 0 to 1, of the steps of a run.
StepCount share_of_steps(double share);
/// Returns "20", or "10%" for a share.
std::string to_text(const StepCount& count);
/// Parses a result of to_text: a whole number of at least 0, or a percentage from 0% to 100%. Returns nothing
/// for any other text.
std::optional<StepCount> parse_step_count(std::string_view text);

}  // namespace smelt

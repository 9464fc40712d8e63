// Measured rates of the ranks on one machine (collectives, copies and matmuls) while all ranks work
// concurrently. `smelt doctor --ranks` stores them in the cache directory, and predictions of times read
// them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ranks/collective_rates.h"

namespace smelt {

struct RankRates {
  int64_t ranks = 1;  // number of ranks that worked during the measurement
  std::vector<CollectiveRates::Row> collectives;
  /// Rates per rank; 0: not measured. A copy of n bytes counts as 2n bytes, because it reads and writes
  /// them. The floating-point operations per second are those of large matmuls of f32 (`wide_flops`) and of
  /// bf16 (`narrow_flops`).
  double copy_bytes_per_second = 0, wide_flops = 0, narrow_flops = 0;
  bool operator==(const RankRates&) const = default;
};

/// Convert rates to JSON, and back. Parsing returns nothing if the text is not a JSON object of rates, or if
/// a number in it is negative or not finite.
std::string to_json(const RankRates& rates);
std::optional<RankRates> parse_rank_rates(std::string_view json);

/// Returns the path of the file for a number of ranks. `place` is the name of the device, or
/// processor_place() for ranks on a CPU.
std::filesystem::path rank_rates_file(const std::filesystem::path& directory, std::string_view place,
                                      int64_t ranks);
/// Writes the file. Returns whether it was written, which is false if `directory` is empty or cannot be
/// written.
bool write_rank_rates(const std::filesystem::path& directory, std::string_view place, const RankRates& rates);
/// Reads the rates of `ranks` ranks, or of the nearest number of ranks for which the place has a file.
/// Returns nothing if there is no readable file.
std::optional<RankRates> read_rank_rates(const std::filesystem::path& directory, std::string_view place,
                                         int64_t ranks);

/// Returns the name of the processor and its number of cores, such as "AMD EPYC 9R14, 32 cores".
std::string processor_place();
/// Returns the name of the processor, such as "AMD EPYC 9R14"; "unknown" if the system does not report it.
std::string processor_name();

}  // namespace smelt

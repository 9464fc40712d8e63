// Measured rates of a machine's ranks, all working concurrently: stored in the cache directory by `smelt
// doctor --ranks`, and read by predictions of times.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ranks/collective_rates.h"

namespace smelt {

struct RankRates {
  int64_t ranks = 1;  // that were started
  std::vector<CollectiveRates::Row> collectives;
  /// Rates per rank: bytes read and written by a copy, and operations of large matmuls of f32 and of bf16; 0:
  /// not measured.
  double copy_bytes_per_second = 0, wide_flops = 0, narrow_flops = 0;
  bool operator==(const RankRates&) const = default;
};

std::string to_json(const RankRates& rates);
/// Nothing if it is no such text, or a number in it is none that was measured.
std::optional<RankRates> parse_rank_rates(std::string_view json);

/// `place` names the device, or the machine where ranks work on its processor.
std::filesystem::path rank_rates_file(const std::filesystem::path& directory, std::string_view place,
                                      int64_t ranks);
/// Returns whether it is kept: not where `directory` is empty or cannot be written.
bool write_rank_rates(const std::filesystem::path& directory, std::string_view place, const RankRates& rates);
/// Reads the rates of `ranks` ranks, or of the nearest number that was measured at the place. Returns nothing
/// if there is no readable file.
std::optional<RankRates> read_rank_rates(const std::filesystem::path& directory, std::string_view place,
                                         int64_t ranks);

/// The processor and how many cores it has here: the place of ranks on a CPU.
std::string processor_place();
/// Returns the name of the processor: "AMD EPYC 9R14"; "unknown" if the system does not report it.
std::string processor_name();

}  // namespace smelt

#include "runtime/ranks/rank_rates.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "runtime/base/error.h"
#include "runtime/plan/step.h"
#include "runtime/ranks/mesh.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

constexpr std::string_view kEnd = ".json";

std::string file_start(std::string_view place) {
  return fmt::format("ranks-{}-of-", file_name_part(std::string(place)));
}

/// Finite and not negative, else NaN.
double number(const Json& object, const char* name) {
  const auto found = object.find(name);
  const double value = found != object.end() && found->is_number() ? found->get<double>() : NAN;
  return std::isfinite(value) && value >= 0 ? value : NAN;
}

int64_t count(const Json& object) {
  const double value = number(object, "ranks");
  return value >= 1 && value <= static_cast<double>(kMostRanksOfMesh) ? static_cast<int64_t>(value) : 0;
}

std::optional<CollectiveRates::Row> parse_row(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const auto kind = json.find("kind");
  if (kind == json.end() || !kind->is_string()) return std::nullopt;
  const auto known = parse_collective_kind(kind->get<std::string>());
  const CollectiveTime time = {number(json, "latency"), number(json, "seconds_per_byte")};
  if (!known || count(json) < 2 || std::isnan(time.latency + time.seconds_per_byte)) return std::nullopt;
  return CollectiveRates::Row{*known, count(json), time};
}

/// Returns the number of ranks in a file's name; 0 if the file is none of the place.
int64_t ranks_of(const std::string& file, const std::string& start) {
  if (!file.starts_with(start) || !file.ends_with(kEnd)) return 0;
  return std::atoll(file.substr(start.size(), file.size() - start.size() - kEnd.size()).c_str());
}

std::optional<RankRates> read_file_of_rates(const std::filesystem::path& path) {
  try {
    return parse_rank_rates(read_text_file(path));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::string to_json(const RankRates& rates) {
  Json rows = Json::array();
  for (const CollectiveRates::Row& row : rates.collectives)
    rows.push_back({{"kind", std::string(name(row.kind))},
                    {"ranks", row.ranks},
                    {"latency", row.time.latency},
                    {"seconds_per_byte", row.time.seconds_per_byte}});
  return Json{{"ranks", rates.ranks},
              {"collectives", rows},
              {"copy_bytes_per_second", rates.copy_bytes_per_second},
              {"wide_flops", rates.wide_flops},
              {"narrow_flops", rates.narrow_flops}}
             .dump(1) +
         "\n";
}

std::optional<RankRates> parse_rank_rates(std::string_view text) {
  const Json json = parse_json_or_null(text);
  if (!json.is_object() || count(json) < 1 || !json.contains("collectives")) return std::nullopt;
  RankRates rates{count(json),
                  {},
                  number(json, "copy_bytes_per_second"),
                  number(json, "wide_flops"),
                  number(json, "narrow_flops")};
  if (std::isnan(rates.copy_bytes_per_second + rates.wide_flops + rates.narrow_flops)) return std::nullopt;
  for (const Json& item : json["collectives"]) {
    const auto row = parse_row(item);
    if (!row) return std::nullopt;
    rates.collectives.push_back(*row);
  }
  return rates;
}

std::filesystem::path rank_rates_file(const std::filesystem::path& directory, std::string_view place,
                                      int64_t ranks) {
  return directory / fmt::format("{}{}{}", file_start(place), ranks, kEnd);
}

bool write_rank_rates(const std::filesystem::path& directory, std::string_view place,
                      const RankRates& rates) {
  if (directory.empty()) return false;
  const std::string text = to_json(rates);
  return write_cache_file(rank_rates_file(directory, place, rates.ranks), {std::as_bytes(std::span(text))});
}

std::optional<RankRates> read_rank_rates(const std::filesystem::path& directory, std::string_view place,
                                         int64_t ranks) {
  std::optional<RankRates> nearest;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(directory, problem)) {
    const int64_t of = ranks_of(entry.path().filename().string(), file_start(place));
    if (of < 1 || (nearest && std::abs(nearest->ranks - ranks) <= std::abs(of - ranks))) continue;
    if (auto found = read_file_of_rates(entry.path()); found && found->ranks == of)
      nearest = std::move(found);
  }
  return nearest;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string processor_place() {
  return fmt::format("{}, {} cores", processor_name(), ::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace smelt

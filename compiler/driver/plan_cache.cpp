#include "compiler/driver/plan_cache.h"

#include <array>
#include <chrono>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/plan/plan_file.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

constexpr std::array<char, 8> kEntryMagic = {'s', 'm', 'e', 'l', 't', 'p', 'c', '1'};
constexpr size_t kKeyDigits = 64;

/// An entry: this, and the plan as in a file of its own, which holds its checksums.
struct EntryHeader {
  std::array<char, 8> magic = kEntryMagic;
  std::array<char, kKeyDigits> key;  // a file that was renamed is another plan's
};

std::optional<std::span<const std::byte>> plan_in(std::span<const std::byte> file, const std::string& key) {
  EntryHeader header;
  if (file.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof header);
  if (header.magic != kEntryMagic || std::string_view(header.key.data(), kKeyDigits) != key)
    return std::nullopt;
  return file.subspan(sizeof header);
}

double cache_seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void keep(const PlanCache& cache, const std::string& key, Compilation& compiled) {
  const auto begin = std::chrono::steady_clock::now();
  cache.write(key, compiled.plan);
  compiled.seconds.emplace_back("keep", cache_seconds_since(begin));
}

}  // namespace

PlanCache PlanCache::standard() {
  const std::filesystem::path directory = cache_directory();
  return PlanCache(directory.empty() ? directory : directory / "plans");
}

std::optional<Plan> PlanCache::read(const std::string& key) const {
  std::error_code problem;
  const std::filesystem::path path = file(key);
  if (directory_.empty() || !std::filesystem::is_regular_file(path, problem)) return std::nullopt;
  try {
    const MappedFile mapped(path);
    const auto bytes = plan_in(mapped.bytes(), key);
    if (!bytes) return std::nullopt;
    Plan plan = parse_plan(*bytes, path.string());
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), problem);
    return plan;
  } catch (const Error&) {  // it is made again
    return std::nullopt;
  }
}

void PlanCache::write(const std::string& key, const Plan& plan) const {
  if (directory_.empty()) return;
  const std::string bytes = serialize_plan(plan);
  if (static_cast<int64_t>(bytes.size()) > most_bytes_) return;
  EntryHeader header;
  std::memcpy(header.key.data(), key.data(), kKeyDigits);
  write_cache_file(file(key), {std::as_bytes(std::span(&header, 1)), std::as_bytes(std::span(bytes))});
  trim_cache(directory_, most_bytes_);
}

Compilation compile_or_recall(const Description& description, const CompileOptions& options,
                              std::unique_ptr<Module> built, const PlanCache& cache) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string key = plan_key(description, options);
  if (auto known = key.empty() ? std::nullopt : cache.read(key)) {
    Compilation result;
    result.plan = std::move(*known);
    result.graph = std::move(built);
    result.seconds.emplace_back("recall", cache_seconds_since(begin));
    return result;
  }
  Compilation result = built ? compile(std::move(built), options) : compile(description, options);
  if (!key.empty()) keep(cache, key, result);
  return result;
}

}  // namespace smelt

#include "runtime/cuda/gemm_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"
#include "runtime/system/process_lock.h"

namespace smelt::cuda {
namespace {

using Algorithms = std::map<std::string, LtAlgorithm>;

std::string file_name(const GemmPlace& place) {
  return fmt::format("gemm-{}-cublaslt-{}.json", file_name_part(place.device), place.library_version);
}

std::string hex(const LtAlgorithm& algorithm) {
  std::string text;
  for (const uint64_t word : algorithm.data) text += fmt::format("{:016x}", word);
  return text;
}

std::optional<LtAlgorithm> parse_hex(const std::string& text) {
  LtAlgorithm algorithm;
  if (text.size() != 16 * algorithm.data.size()) return {};
  if (text.find_first_not_of("0123456789abcdef") != std::string::npos) return {};
  for (size_t i = 0; i < algorithm.data.size(); ++i)
    algorithm.data[i] = std::stoull(text.substr(16 * i, 16), nullptr, 16);
  return algorithm;
}

Json to_json(const Algorithms& algorithms) {
  Json json = Json::object();
  for (const auto& [name, algorithm] : algorithms) json[name] = hex(algorithm);
  return json;
}

/// Entries that do not read are left out: they are chosen again.
Algorithms parse_algorithms(const Json& json) {
  Algorithms algorithms;
  if (!json.is_object()) return algorithms;
  for (const auto& [name, value] : json.items())
    if (value.is_string())
      if (const auto algorithm = parse_hex(value.get<std::string>())) algorithms[name] = *algorithm;
  return algorithms;
}

Algorithms read_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  try {
    return parse_algorithms(parse_json_or_null(read_text_file(path)));
  } catch (const Error&) {
    return {};  // chosen anew
  }
}

std::string name_of_sizes(const GemmKey& key) { return key.bucket + " = " + key.sizes; }

/// Sizes of a bucket that have an algorithm of their own.
int count_sizes(const Algorithms& algorithms, const std::string& bucket) {
  const std::string begin = bucket + " = ";
  int count = 0;
  for (auto at = algorithms.lower_bound(begin); at != algorithms.end() && at->first.starts_with(begin); ++at)
    ++count;
  return count;
}

std::optional<GemmPlace> parse_place(const Json& json) {
  if (!json.is_object()) return {};
  const Json device = json.value("device", Json()), version = json.value("cublaslt", Json());
  if (!device.is_string() || !version.is_number_unsigned()) return {};
  return GemmPlace{device.get<std::string>(), version.get<size_t>()};
}

}  // namespace

GemmPlace GemmPlace::of(const Device& device) { return {device.info().name, cublas_lt().GetVersion()}; }

std::string GemmPlace::str() const { return fmt::format("{} with cuBLASLt {}", device, library_version); }

GemmChoices::GemmChoices(const std::filesystem::path& directory, GemmPlace place) : place_(std::move(place)) {
  if (directory.empty()) return;
  file_ = directory / file_name(place_);
  choices_ = read_file(file_);
}

GemmChoices::~GemmChoices() {
  if (fresh_.empty() || file_.empty()) return;
  try {
    save();
  } catch (const std::exception&) {  // a directory that cannot be written: the next process measures again
  }
}

std::optional<LtAlgorithm> GemmChoices::find_name(const std::string& name) {
  for (const Algorithms* known : {&restored_, &choices_, &borrowed_})
    if (const auto found = known->find(name); found != known->end()) {
      used_.insert(name);
      return found->second;
    }
  return {};
}

std::optional<LtAlgorithm> GemmChoices::find(const GemmKey& key) {
  if (key.sizes.empty()) return find_name(key.bucket);
  if (const auto known = find_name(name_of_sizes(key))) return known;
  const int restored = count_sizes(restored_, key.bucket);
  const bool knew_no_sizes = restored == 0 && restored_.count(key.bucket) > 0;
  const int measured = std::max(count_sizes(choices_, key.bucket), restored);
  if (measured < kMeasuredSizes && !knew_no_sizes) return {};
  const auto bucket = find_name(key.bucket);
  if (bucket) borrowed_[name_of_sizes(key)] = *bucket;
  return bucket;
}

void GemmChoices::add(const GemmKey& key, const LtAlgorithm& algorithm) {
  const auto keep = [&](const std::string& name) {
    choices_[name] = fresh_[name] = algorithm;
    used_.insert(name);
  };
  if (key.sizes.empty() || choices_.count(key.bucket) == 0) keep(key.bucket);
  if (!key.sizes.empty()) keep(name_of_sizes(key));
}

std::string GemmChoices::record() const {
  Algorithms recorded = restored_;
  recorded.insert(borrowed_.begin(), borrowed_.end());
  for (const std::string& name : used_)
    if (const auto found = choices_.find(name); found != choices_.end()) recorded.insert(*found);
  if (recorded.empty()) return {};
  return Json{
      {"device", place_.device}, {"cublaslt", place_.library_version}, {"algorithms", to_json(recorded)}}
      .dump();
}

std::string GemmChoices::restore(std::string_view record) {
  const Json json = parse_json_or_null(record);
  const auto place = parse_place(json);
  if (!place || !json.contains("algorithms")) return "they do not read";
  if (*place != place_) return fmt::format("they were made on {}, this is {}", place->str(), place_.str());
  const Algorithms algorithms = parse_algorithms(json["algorithms"]);
  if (algorithms.size() != json["algorithms"].size()) return "they do not read";
  restored_ = algorithms;
  return {};
}

/// Saves the choices, and keeps those that another process has added in the meantime.
void GemmChoices::save() const {
  std::filesystem::create_directories(file_.parent_path());
  const ProcessLock lock = ProcessLock::wait_for(file_.parent_path());
  Algorithms all = read_file(file_);
  for (const auto& [name, algorithm] : fresh_) all[name] = algorithm;
  write_file(file_, to_json(all).dump());
}

}  // namespace smelt::cuda

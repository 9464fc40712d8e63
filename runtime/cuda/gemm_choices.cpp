#include "runtime/cuda/gemm_choices.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/error.h"
#include "runtime/file.h"

namespace smelt::cuda {
namespace {

using Json = nlohmann::json;

std::string file_name() {
  std::string device = Device::of_process().info().name;
  for (char& c : device)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '-';
  return fmt::format("gemm-{}-cublaslt-{}.json", device, cublas_lt().GetVersion());
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

/// Entries that do not read are left out: they are chosen again.
std::map<std::string, LtAlgorithm> parse_choices(const std::string& text) {
  std::map<std::string, LtAlgorithm> choices;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return choices;
  for (const auto& [bucket, value] : json.items())
    if (value.is_string())
      if (const auto algorithm = parse_hex(value.get<std::string>())) choices[bucket] = *algorithm;
  return choices;
}

}  // namespace

GemmChoices::GemmChoices(std::filesystem::path directory) {
  if (directory.empty()) return;
  file_ = directory / file_name();
  std::error_code error;
  if (!std::filesystem::exists(file_, error)) return;
  try {
    const MappedFile file(file_);
    const auto bytes = file.bytes();
    choices_ = parse_choices({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const Error&) {  // chosen anew
  }
}

GemmChoices::~GemmChoices() {
  if (!changed_ || file_.empty()) return;
  try {
    save();
  } catch (const std::exception&) {  // a directory that cannot be written: the next process measures again
  }
}

std::optional<LtAlgorithm> GemmChoices::find(const std::string& bucket) const {
  const auto found = choices_.find(bucket);
  if (found == choices_.end()) return {};
  return found->second;
}

void GemmChoices::add(const std::string& bucket, const LtAlgorithm& algorithm) {
  choices_[bucket] = algorithm;
  changed_ = true;
}

std::string GemmChoices::str() const {
  Json json = Json::object();
  for (const auto& [bucket, algorithm] : choices_) json[bucket] = hex(algorithm);
  return json.dump();
}

void GemmChoices::save() const {
  std::filesystem::create_directories(file_.parent_path());
  write_file(file_, str());
}

}  // namespace smelt::cuda

#include "runtime/cuda/step_choices.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/file.h"
#include "runtime/system/process_lock.h"

namespace smelt::cuda {
namespace {

/// Whatever is no text is left out: it is measured again.
std::map<std::string, std::string> texts_of(const Json& json) {
  std::map<std::string, std::string> texts;
  if (!json.is_object()) return texts;
  for (const auto& [key, value] : json.items())
    if (value.is_string()) texts[key] = value.get<std::string>();
  return texts;
}

std::optional<size_t> number_in(const std::map<std::string, std::string>& known, const std::string& key,
                                const std::vector<std::string>& names) {
  const auto found = known.find(key);
  if (found == known.end()) return {};
  const auto name = std::ranges::find(names, found->second);
  if (name == names.end()) return {};
  return static_cast<size_t>(name - names.begin());
}

}  // namespace

StepChoices::StepChoices(const std::filesystem::path& directory, std::string place)
    : place_(std::move(place)) {
  if (!directory.empty()) file_ = directory / fmt::format("alternatives-{}.json", file_name_part(place_));
}

StepChoices::Alternatives StepChoices::read() const {
  std::error_code error;
  if (file_.empty() || !std::filesystem::exists(file_, error)) return {};
  try {
    return texts_of(parse_json_or_null(read_text_file(file_)));
  } catch (const Error&) {
    return {};  // chosen anew
  }
}

std::optional<size_t> StepChoices::find(const std::string& key, const Names& names) {
  if (const auto known = number_in(used_, key, names)) return known;
  const auto kept = number_in(read(), key, names);
  if (kept) used_[key] = names[*kept];
  return kept;
}

size_t StepChoices::settle(const std::string& key, const Names& names, size_t measured) {
  used_[key] = names[measured];
  if (file_.empty()) return measured;
  try {
    std::filesystem::create_directories(file_.parent_path());
    const ProcessLock lock = ProcessLock::wait_for(file_.parent_path());
    Alternatives all = read();
    const auto kept = number_in(all, key, names);
    used_[key] = all[key] = names[kept.value_or(measured)];
    if (!kept) write_file(file_, Json(all).dump());
    return kept.value_or(measured);
  } catch (const std::exception&) {  // a directory that cannot be written: the next process measures again
    return measured;
  }
}

Json StepChoices::record() const {
  if (used_.empty()) return {};
  return {{"place", place_}, {"taken", used_}};
}

std::string StepChoices::restore(const Json& record) {
  const bool reads = record.is_object() && record.contains("place") && record["place"].is_string() &&
                     record.contains("taken") && record["taken"].is_object();
  if (!reads) return "they do not read";
  const auto place = record["place"].get<std::string>();
  if (place != place_) return fmt::format("they were made on {}, this is {}", place, place_);
  used_ = texts_of(record["taken"]);
  return {};
}

}  // namespace smelt::cuda

#include "compiler/server/request_log.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

namespace smelt::server {
namespace {

constexpr size_t kMostIdCharacters = 128, kMostPathBytes = 256;

bool is_id_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.';
}

bool is_id(const std::string& text) {
  return !text.empty() && text.size() <= kMostIdCharacters && std::ranges::all_of(text, is_id_character);
}

const char* name_of(Finish finish) {
  static constexpr const char* kNames[] = {"none", "stop", "length", "cancelled", "failed"};
  return kNames[static_cast<size_t>(finish)];
}

std::string time_now() {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(second)),
                     (now - second).count());
}

void add_completion(nlohmann::ordered_json& line, const RequestRecord& record) {
  if (!record.usage) return;
  line["prompt_tokens"] = record.usage->prompt_tokens;
  line["new_tokens"] = record.usage->new_tokens;
  line["finish"] = nlohmann::ordered_json::array();
  for (const Finish finish : record.finishes) line["finish"].push_back(name_of(finish));
}

}  // namespace

std::string request_id(const std::optional<std::string>& given) {
  static std::atomic<uint64_t> count = 0;
  return given && is_id(*given) ? *given : fmt::format("req-{}", ++count);
}

std::string log_line(const RequestRecord& record) {
  const std::chrono::duration<double> seconds = RequestRecord::Clock::now() - record.begin;
  nlohmann::ordered_json line = {{"time", time_now()}, {"request_id", record.id}};
  if (!record.client.empty()) line["client"] = record.client;
  line["method"] = record.method;
  line["path"] = record.path.substr(0, kMostPathBytes);
  line["status"] = record.status;
  line["seconds"] = seconds.count();
  if (record.first_event) line["first_event_seconds"] = *record.first_event;
  add_completion(line, record);
  return line.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace smelt::server

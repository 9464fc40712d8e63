#include "compiler/server/turns.h"

#include <array>
#include <span>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/system/json_text.h"

namespace smelt::server {
namespace {

/// The progress of a batch.
struct Place {
  uint64_t steps = 0, prompt_tokens = 0, new_tokens = 0, ended = 0, failed = 0;
  bool operator==(const Place&) const = default;
};
struct Head {
  uint64_t bytes = 0;
  Place place;
};

Place place_of(const ContinuousBatchCounts& counts) {
  return {counts.steps, counts.prompt_tokens, counts.new_tokens, counts.ended + counts.cancelled,
          counts.failed};
}

std::string str(const Place& place) {
  return fmt::format("{} steps, {} tokens of prompts, {} new ones, {} requests ended, {} failed", place.steps,
                     place.prompt_tokens, place.new_tokens, place.ended, place.failed);
}

template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

bool is_empty(const Turn& turn) {
  return turn.asked.empty() && turn.cancelled.empty() && turn.choices.empty() && !turn.ends;
}

}  // namespace

/// A body may hold any bytes.
std::string to_bytes(const Turn& turn) {
  if (is_empty(turn)) return {};
  Json asked = Json::array();
  for (const AskedCompletion& one : turn.asked) asked.push_back({one.seed, one.body});
  const std::vector<uint8_t> bytes = Json::to_cbor(
      {{"asked", asked}, {"cancelled", turn.cancelled}, {"choices", turn.choices}, {"ends", turn.ends}});
  return {bytes.begin(), bytes.end()};
}

Turn parse_turn(std::string_view bytes) {
  Turn turn;
  if (bytes.empty()) return turn;
  try {
    const Json json = Json::from_cbor(bytes.begin(), bytes.end());
    for (const Json& one : json.at("asked")) turn.asked.push_back({one.at(1), one.at(0)});
    json.at("cancelled").get_to(turn.cancelled);
    json.at("choices").get_to(turn.choices);
    json.at("ends").get_to(turn.ends);
  } catch (const Json::exception& error) {
    fail("what rank 0 said of the requests that it has cannot be read: {}", error.what());
  }
  return turn;
}

void Turns::tell(const Turn& turn, const ContinuousBatchCounts& counts) {
  std::string bytes = to_bytes(turn);
  Head head{bytes.size(), place_of(counts)};
  ranks_.progress("requests", 0);
  for (int64_t to = 1; to < ranks_.everyone().size(); ++to) {
    ranks_.everyone().send(bytes_of(head), to);
    if (!bytes.empty()) ranks_.everyone().send(std::as_bytes(std::span(bytes)), to);
  }
}

Turn Turns::hear(const ContinuousBatchCounts& counts) {
  Head head;
  ranks_.progress("requests", 0);
  ranks_.everyone().receive(bytes_of(head), 0);
  std::string bytes(head.bytes, '\0');
  if (!bytes.empty()) ranks_.everyone().receive(std::as_writable_bytes(std::span(bytes)), 0);
  Turn turn = parse_turn(bytes);
  if (const Place own = place_of(counts); own != head.place && !turn.ends)
    fail("the batch of rank {} is not that of rank 0 any more: {}; at rank 0 {}", ranks_.rank(), str(own),
         str(head.place));
  return turn;
}

std::vector<RequestBatch::Id> submit_together(RequestBatch& batch, std::vector<Request> requests) {
  for (const Request& request : requests) batch.check(request);
  batch.require_room(requests.size());
  std::vector<RequestBatch::Id> ids;
  for (Request& request : requests) ids.push_back(batch.submit(std::move(request)));
  return ids;
}

}  // namespace smelt::server

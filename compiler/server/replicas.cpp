#include "compiler/server/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/base/error.h"

namespace smelt::server {
namespace {

/// Tokens at the beginning of a prompt by which prompts with the same beginning are recognised.
constexpr size_t kBeginning = 64;
/// A batch is preferred for the beginning of a prompt while it has at most this part of its slots more open
/// requests than the one that has the fewest.
constexpr size_t kPartOfSlots = 4;

/// FNV-1a of the first tokens.
uint64_t hash_of_beginning(std::span<const int32_t> tokens) {
  uint64_t hash = 14695981039346656037ULL;
  for (const int32_t token : tokens.first(std::min(tokens.size(), kBeginning)))
    hash = (hash ^ static_cast<uint32_t>(token)) * 1099511628211ULL;
  return hash ^ (hash >> 32);
}

}  // namespace

Replicas::Replicas(std::vector<std::unique_ptr<BatchThread>> batches) : batches_(std::move(batches)) {}

std::shared_ptr<Mailbox> Replicas::hand_over(std::vector<Request> requests, AskedCompletion asked) {
  const std::lock_guard lock(mutex_);
  BatchThread& batch = choose(requests);
  return batch.hand_over(std::move(requests), std::move(asked));
}

size_t Replicas::least_loaded() const {
  const auto load = [](const std::unique_ptr<BatchThread>& batch) {
    return batch->is_open() ? batch->open_requests() : SIZE_MAX;
  };
  return static_cast<size_t>(std::ranges::min_element(batches_, {}, load) - batches_.begin());
}

/// Prefers a batch that has read the beginning only where no request has to wait for it.
BatchThread& Replicas::choose(const std::vector<Request>& requests) {
  const size_t least = least_loaded(), slots = batches_[least]->counts().slots;
  const size_t most =
      std::min(batches_[least]->open_requests() + slots / kPartOfSlots, slots - requests.size());
  const uint64_t beginning = hash_of_beginning(requests.front().input());
  Home& home = homes_[beginning % homes_.size()];
  const BatchThread& known = *batches_[home.batch];
  const bool stays = home.beginning == beginning && known.is_open() && requests.size() <= slots &&
                     known.open_requests() <= most;
  home = {beginning, stays ? home.batch : least};
  return *batches_[home.batch];
}

uint64_t Replicas::update_weights(WeightUpdate update) {
  const std::lock_guard lock(update_mutex_);
  std::vector<BatchThread*> open;
  for (const auto& batch : batches_)
    if (batch->is_open()) open.push_back(batch.get());
  if (open.empty()) return batches_[0]->update_weights(std::move(update));  // which says why it has ended
  update.version = open[0]->update_weights(update);
  for (size_t i = 1; i < open.size(); ++i) open[i]->update_weights(update);
  return *update.version;
}

void Replicas::write_adapter(const std::string& name, AdapterWeights /*weights*/) {
  fail("adapter '{}': replicas take no adapters", name);
}

ContinuousBatchCounts Replicas::counts() const {
  ContinuousBatchCounts all = batches_[0]->counts();
  for (size_t i = 1; i < batches_.size(); ++i) all += batches_[i]->counts();
  return all;
}

RequestTimes Replicas::times() const {
  RequestTimes all;
  for (const auto& batch : batches_) all += batch->times();
  return all;
}

bool Replicas::wait_idle(std::chrono::steady_clock::duration most) {
  const auto end = std::chrono::steady_clock::now() + most;
  return std::ranges::count_if(batches_, [&](const auto& batch) {
           return batch->wait_idle(std::max(end - std::chrono::steady_clock::now(), {}));
         }) == std::ssize(batches_);
}

std::string Replicas::fault() const {
  for (size_t i = 0; i < batches_.size(); ++i)
    if (const std::string fault = batches_[i]->fault(); !fault.empty())
      return fmt::format("replica {} of {}: {}", i, batches_.size(), fault);
  return {};
}

void Replicas::close() {
  for (const auto& batch : batches_) batch->close();
}

void Replicas::on_fault(std::function<void()> listener) {
  for (const auto& batch : batches_) batch->on_fault(listener);
}

}  // namespace smelt::server

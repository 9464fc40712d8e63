// Replicas: several batches of requests, each with its own copy of the model, that serve one port. Every
// answer's requests go to one of them: to the one that has the fewest open requests, or to one that has read
// the beginning of the prompt before, whose keys and values it may still have.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "compiler/server/batch_service.h"
#include "compiler/server/batch_thread.h"

namespace smelt::server {

class Replicas : public BatchService {
 public:
  /// Requires: at least one batch; all of the same plan and options.
  explicit Replicas(std::vector<std::unique_ptr<BatchThread>> batches);

  int64_t vocabulary() const override { return batches_[0]->vocabulary(); }
  size_t capacity() const override { return batches_[0]->capacity(); }
  size_t prompt_capacity() const override { return batches_[0]->prompt_capacity(); }
  size_t most_requests() const override { return batches_[0]->most_requests(); }
  void check(const Request& request) const override { batches_[0]->check(request); }

  /// Batches that an error has ended get no requests while others go on.
  std::shared_ptr<Mailbox> hand_over(std::vector<Request> requests, AskedCompletion asked = {}) override;
  /// Each batch takes the weights between two steps of its own; so for a moment replicas have different ones.
  uint64_t update_weights(WeightUpdate update) override;
  /// Throws Error: replicas have no adapters().
  void write_adapter(const std::string& name, AdapterWeights weights) override;
  /// Returns the sums of the batches' counts. The version of the weights is the oldest that a batch has.
  ContinuousBatchCounts counts() const override;
  RequestTimes times() const override;
  bool wait_idle(std::chrono::steady_clock::duration most) override;
  std::string fault() const override;
  void close() override;
  void on_fault(std::function<void()> listener) override;

 private:
  /// Returns the batch for the requests of an answer.
  BatchThread& choose(const std::vector<Request>& requests);
  /// Returns the number of the batch with the fewest open requests, among those that have not ended.
  size_t least_loaded() const;

  std::vector<std::unique_ptr<BatchThread>> batches_;
  std::mutex update_mutex_;  // orders updates of weights, whose checks take long
  std::mutex mutex_;         // guards the following member
  /// The beginning of a prompt, by its hash, and the number of the batch that got the last such prompt.
  struct Home {
    uint64_t beginning = 0;
    size_t batch = 0;
  };
  std::array<Home, 4096> homes_ = {};  // by the hash modulo the size
};

}  // namespace smelt::server

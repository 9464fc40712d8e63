// Histograms of times for GET /metrics: how long the requests of a batch wait for their tokens.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "compiler/server/histogram.h"
#include "runtime/engine/serving/request.h"

namespace smelt::server {

/// Times of one request (one choice of an answer).
struct RequestClock {
  using Clock = std::chrono::steady_clock;
  Clock::time_point asked = Clock::now();            // when the request was submitted to the batch
  std::optional<Clock::time_point> last_token = {};  // when the newest token was reported; empty: none yet
};

/// Histograms of all requests since the server was started. Not thread-safe.
class RequestTimes {
 public:
  RequestTimes();
  /// Adds the times that follow from the progress of a request at time `now`, such as the time to the first
  /// token. Updates the request's clock.
  void add(const Progress& progress, RequestClock& clock, RequestClock::Clock::time_point now);
  /// Adds a step of the batch in which `running` requests were running.
  void add_step(size_t running);
  /// Adds the times of other requests.
  RequestTimes& operator+=(const RequestTimes& other);
  /// Returns the metrics in the text format of Prometheus.
  std::string text() const;

 private:
  void add_tokens(size_t tokens, RequestClock& clock, RequestClock::Clock::time_point now);

  Histogram queue_, first_token_, between_tokens_, whole_, running_;
};

}  // namespace smelt::server

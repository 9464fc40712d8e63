#include "compiler/server/request_times.h"

#include <utility>

namespace smelt::server {
namespace {

constexpr double kLongTimes[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                 0.5,   1,      2.5,   5,    10,    30,   60,  120};
constexpr double kTokenTimes[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.025,
                                  0.05,   0.1,   0.25,   0.5,   1,    2.5,   5};
constexpr double kRequests[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};

double seconds_between(RequestClock::Clock::time_point begin, RequestClock::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

RequestTimes::RequestTimes()
    : queue_(kLongTimes),
      first_token_(kLongTimes),
      between_tokens_(kTokenTimes),
      whole_(kLongTimes),
      running_(kRequests) {}

void RequestTimes::add(const Progress& progress, RequestClock& clock, RequestClock::Clock::time_point now) {
  if (progress.has_begun) queue_.add(seconds_between(clock.asked, now));
  if (!progress.tokens.empty()) add_tokens(progress.tokens.size(), clock, now);
  if (progress.finish == Finish::stop || progress.finish == Finish::length)
    whole_.add(seconds_between(clock.asked, now));
}

/// Tokens that are reported together have equal shares of the time since the token before them.
void RequestTimes::add_tokens(size_t tokens, RequestClock& clock, RequestClock::Clock::time_point now) {
  const auto before = std::exchange(clock.last_token, now);
  if (!before) return first_token_.add(seconds_between(clock.asked, now));
  for (size_t i = 0; i < tokens; ++i)
    between_tokens_.add(seconds_between(*before, now) / static_cast<double>(tokens));
}

void RequestTimes::add_step(size_t running) { running_.add(static_cast<double>(running)); }

RequestTimes& RequestTimes::operator+=(const RequestTimes& other) {
  queue_ += other.queue_, first_token_ += other.first_token_, between_tokens_ += other.between_tokens_;
  whole_ += other.whole_, running_ += other.running_;
  return *this;
}

std::string RequestTimes::text() const {
  return queue_.text("queue_seconds", "Time from a request to its place in the batch.") +
         first_token_.text("first_token_seconds", "Time from a request to its first new token.") +
         between_tokens_.text("between_tokens_seconds", "Time between two new tokens of a request.") +
         whole_.text("request_seconds", "Time from a request to its end, of requests that finished.") +
         running_.text("step_requests", "Requests that had a place in the batch, per step.");
}

}  // namespace smelt::server

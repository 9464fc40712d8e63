// How a rank and the hub show each other that they know the run's secret, before anything else is said. The
// secret itself is never sent: each end answers the other's random bytes with a keyed digest of both.
#pragma once

#include <optional>
#include <string>

#include "runtime/ranks/message.h"

namespace smelt {

/// What a rank says of itself.
struct Introduction {
  int rank = 0, size = 1, process = 0;
  std::string host;
};
std::string describe(const Introduction& who);  // "rank 3 (host a, process 17)"

class HubHandshake {
 public:
  explicit HubHandshake(std::string secret);
  std::string challenge() const;
  /// Who it is, if its answer proves that it knows the secret; throws Error where a hello makes no sense.
  std::optional<Introduction> verify(std::string_view hello);
  /// After verify: shows the rank that this is its run's hub.
  std::string welcome() const;

 private:
  std::string secret_;
  Digest own_ = random_bytes(), other_ = {};
};

class RankHandshake {
 public:
  RankHandshake(std::string secret, Introduction who);
  /// The answer to a challenge; throws Error where what came is none.
  std::string hello(std::string_view challenge);
  bool verify(std::string_view welcome) const;

 private:
  std::string secret_;
  Introduction who_;
  Digest own_ = random_bytes(), other_ = {};
};

}  // namespace smelt

// Mutual authentication of a rank and the hub, before any other message. The run's secret itself is never
// sent: each end answers the other's random bytes with a keyed digest of both.
#pragma once

#include <optional>
#include <string>

#include "runtime/ranks/message.h"

namespace smelt {

/// A rank's identity, as it reports it.
struct Introduction {
  int rank = 0, size = 1, process = 0;
  std::string host;
};
std::string describe(const Introduction& who);  // "rank 3 (host a, process 17)"

class HubHandshake {
 public:
  explicit HubHandshake(std::string secret);
  std::string challenge() const;
  /// Returns the rank's identity if its answer proves that it knows the secret. Throws Error if the hello is
  /// malformed.
  std::optional<Introduction> verify(std::string_view hello);
  /// Returns the hub's proof for the rank. Requires: verify has succeeded.
  std::string welcome() const;

 private:
  std::string secret_;
  Digest own_ = random_bytes(), other_ = {};
};

class RankHandshake {
 public:
  RankHandshake(std::string secret, Introduction who);
  /// Returns the answer to a challenge; throws Error if the challenge is malformed.
  std::string hello(std::string_view challenge);
  bool verify(std::string_view welcome) const;

 private:
  std::string secret_;
  Introduction who_;
  Digest own_ = random_bytes(), other_ = {};
};

}  // namespace smelt

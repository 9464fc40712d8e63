// Mutual authentication of a rank and the hub (hub.h), before any other message. The run's secret itself is
// never sent. Each end sends random bytes, and proves that it has the secret by a keyed digest (HMAC) of the
// random bytes of both ends:
//
//   hub -> rank   challenge: random bytes
//   rank -> hub   hello: random bytes, the rank's identity, digest
//   hub -> rank   welcome: digest
//
// Each message is the body of a frame (message.h).
#pragma once

#include <optional>
#include <string>

#include "runtime/ranks/message.h"

namespace smelt {

/// The identity that a rank reports: its number, the number of ranks in the run, its process id and its host.
struct Introduction {
  int rank = 0, size = 1, process = 0;
  std::string host;
};
std::string describe(const Introduction& who);  // "rank 3 (host a, process 17)"

/// The hub's end of the handshake with one rank.
class HubHandshake {
 public:
  explicit HubHandshake(std::string secret);
  std::string challenge() const;
  /// Returns the rank's identity if its digest proves that it has the secret, else nothing. Throws Error if
  /// the hello is malformed.
  std::optional<Introduction> verify(std::string_view hello);
  /// Returns the hub's digest for the rank. Requires: verify has succeeded.
  std::string welcome() const;

 private:
  std::string secret_;
  Digest own_ = random_bytes(), other_ = {};  // random bytes of this end and of the other end
};

/// A rank's end of the handshake.
class RankHandshake {
 public:
  RankHandshake(std::string secret, Introduction who);
  /// Returns the hello for a challenge. Throws Error if the challenge is malformed or of another version.
  std::string hello(std::string_view challenge);
  /// Returns whether the digest in the welcome proves that the hub has the secret. Throws Error if the
  /// welcome is malformed.
  bool verify(std::string_view welcome) const;

 private:
  std::string secret_;
  Introduction who_;
  Digest own_ = random_bytes(), other_ = {};  // random bytes of this end and of the other end
};

}  // namespace smelt

// Rounds of the hub (hub.h). In a round, every rank makes one call, and when all ranks have called, all get
// the result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace smelt {

/// Kind of a round. The result is empty for agree and barrier, rank 0's body for broadcast, and the list of
/// all bodies (encode_texts) for gather. agree fails if the ranks' bodies differ.
enum class RoundKind : uint8_t { agree, broadcast, gather, barrier };
constexpr uint8_t kLastRoundKind = static_cast<uint8_t>(RoundKind::barrier);

/// One rank's call of a round.
struct RoundCall {
  RoundKind kind = RoundKind::barrier;
  std::string name;  // used in messages, and must be equal at all ranks
  std::string body;
};

struct RoundResult {
  bool is_good = true;
  std::string text;  // the result, or an error text if not is_good
};

/// The calls of the current round.
class Rounds {
 public:
  /// `describe` returns a text for a rank in messages.
  Rounds(int size, std::function<std::string(int rank)> describe);

  /// Records a rank's call of the current round. Throws Error if the rank has already called in this round.
  void call(int rank, RoundCall call);
  /// Returns the rank's call of the current round; nothing if it has not called.
  const std::optional<RoundCall>& call_of(int rank) const { return calls_[static_cast<size_t>(rank)]; }
  bool is_complete() const { return missing_ == 0; }
  /// Returns the result of the round and begins the next one. Requires: is_complete().
  RoundResult finish();

 private:
  RoundResult result() const;
  RoundResult agree() const;

  std::function<std::string(int)> describe_;
  std::vector<std::optional<RoundCall>> calls_;
  size_t missing_;
};

std::string str(const RoundCall& call);  // "barrier 'checkpoint'"

}  // namespace smelt

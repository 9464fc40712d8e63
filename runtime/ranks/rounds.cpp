#include "runtime/ranks/rounds.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/ranks/message.h"

namespace smelt {
namespace {

constexpr std::array<std::string_view, 4> kRoundNames = {"agree", "broadcast", "gather", "barrier"};

std::string differences(const std::vector<std::string>& a, const std::string& name_a,
                        const std::vector<std::string>& b, const std::string& name_b) {
  std::string text;
  for (size_t i = 0; i + 1 < std::min(a.size(), b.size()); i += 2) {
    if (a[i] == b[i] && a[i + 1] == b[i + 1]) continue;
    text += fmt::format("{}{}: {} has '{}', {} has '{}'", text.empty() ? "" : "; ",
                        a[i] == b[i] ? a[i] : a[i] + " / " + b[i], name_a, a[i + 1], name_b, b[i + 1]);
  }
  if (text.empty())
    text = fmt::format("{} gives {} values, {} gives {}", name_a, a.size() / 2, name_b, b.size() / 2);
  return text;
}

}  // namespace

std::string str(const RoundCall& call) {
  return fmt::format("{} '{}'", kRoundNames[static_cast<size_t>(call.kind)], call.name);
}

Rounds::Rounds(int size, std::function<std::string(int)> describe)
    : describe_(std::move(describe)), calls_(static_cast<size_t>(size)), missing_(calls_.size()) {}

void Rounds::call(int rank, RoundCall call) {
  auto& slot = calls_[static_cast<size_t>(rank)];
  if (slot) fail("{} calls {} while it waits in {}", describe_(rank), str(call), str(*slot));
  slot = std::move(call);
  --missing_;
}

RoundResult Rounds::finish() {
  RoundResult round = result();
  std::ranges::fill(calls_, std::nullopt);
  missing_ = calls_.size();
  return round;
}

RoundResult Rounds::result() const {
  const RoundCall& first = *calls_.front();
  for (size_t rank = 1; rank < calls_.size(); ++rank)
    if (calls_[rank]->kind != first.kind || calls_[rank]->name != first.name)
      return {false, fmt::format("the ranks do different things: {} is at {}, {} at {}", describe_(0),
                                 str(first), describe_(static_cast<int>(rank)), str(*calls_[rank]))};
  if (first.kind == RoundKind::agree) return agree();
  if (first.kind == RoundKind::broadcast) return {true, first.body};
  if (first.kind == RoundKind::barrier) return {};
  std::vector<std::string> bodies;
  size_t size = 0;
  for (const auto& call : calls_) size += call->body.size() + 8, bodies.push_back(call->body);
  if (size + 8 > kLargestFrame)
    return {false, fmt::format("{}: {} bytes of all ranks together, and at most {} can be gathered",
                               str(first), size, kLargestFrame)};
  return {true, encode_texts(bodies)};
}

RoundResult Rounds::agree() const {
  const std::string& expected = calls_.front()->body;
  for (size_t rank = 1; rank < calls_.size(); ++rank)
    if (calls_[rank]->body != expected)
      return {false,
              fmt::format("the ranks must have the same {}: {}", calls_.front()->name,
                          differences(decode_texts(expected), describe_(0), decode_texts(calls_[rank]->body),
                                      describe_(static_cast<int>(rank))))};
  return {};
}

}  // namespace smelt

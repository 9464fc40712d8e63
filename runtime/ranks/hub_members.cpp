#include "runtime/ranks/hub_members.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <tuple>
#include <utility>

#include "runtime/base/error.h"

namespace smelt {

HubMembers::HubMembers(int size, HubTimeouts timeouts)
    : timeouts_(timeouts),
      members_(static_cast<size_t>(size)),
      rounds_(size, [this](int rank) { return describe_rank(rank); }) {}

std::string HubMembers::describe_rank(int rank) const {
  return describe(members_[static_cast<size_t>(rank)].who);
}

std::string HubMembers::last_report(const Member& member) const {
  const std::string call = member.call.empty() ? "" : fmt::format(", in {}", member.call);
  return member.report.empty() ? "it has reported no step yet" + call
                               : fmt::format("it last reported {}{}", member.report, call);
}

std::string HubMembers::admit(const Introduction& who, Connection& connection) {
  const auto size = static_cast<int>(members_.size());
  if (who.size != size || who.rank < 0 || who.rank >= size)
    return fmt::format(
        "{} was told of {} ranks, and the hub of rank 0 of {}: all ranks of a run must be told "
        "the same number (WORLD_SIZE)",
        describe(who), who.size, size);
  Member& member = members_[static_cast<size_t>(who.rank)];
  if (member.connection)
    return fmt::format(
        "{} says that it is the one that joined before, {}: every rank needs a number of its own",
        describe(who), describe(member.who));
  if (!failure_.empty()) return failure_;
  member.connection = std::move(connection);
  member.who = who;
  member.heard = Clock::now();
  begin_if_complete();
  return {};
}

void HubMembers::begin_if_complete() {
  std::vector<std::string> hosts;
  for (const Member& member : members_) {
    if (!member.connection) return;
    hosts.push_back(member.who.host);
  }
  has_begun_ = true;
  send_all(FrameKind::start, encode_texts(hosts));
}

void HubMembers::send_all(FrameKind kind, const std::string& body) {
  for (Member& member : members_)
    if (member.is_here()) member.connection->send(kind, body);
}

void HubMembers::fail_run(const std::string& text) {
  if (!failure_.empty()) return;
  failure_ = text;
  send_all(FrameKind::failed, text);
}

void HubMembers::serve() {
  for (Member& member : members_)
    if (member.connection) hear(member);
  if (!failure_.empty()) return;
  for (Member& member : members_)
    if (member.connection && !member.has_left) check_lost(member);
  check_left();
  check_progress();
}

void HubMembers::hear(Member& member) {
  if (!member.is_here()) return;
  member.connection->flush();
  member.connection->receive();
  while (const auto frame = member.connection->next()) {
    member.heard = Clock::now();
    try {
      answer(member, *frame);
    } catch (const std::exception& fault) {
      fail_run(
          fmt::format("{} says what the hub does not understand: {}", describe(member.who), fault.what()));
    }
  }
}

void HubMembers::answer(Member& member, const Frame& frame) {
  if (frame.kind == FrameKind::heartbeat) return note_progress(member, frame.body);
  if (frame.kind == FrameKind::call) return call(member, frame.body);
  if (frame.kind == FrameKind::leave) return leave(member);
  if (frame.kind == FrameKind::failed)
    fail_run(fmt::format("{} failed: {} ({})", describe(member.who), frame.body, last_report(member)));
}

void HubMembers::note_progress(Member& member, std::string_view body) {
  BodyReader reader(body);
  const bool has_reported = reader.number() != 0;
  const uint64_t counter = reader.number(), calls = reader.number();
  member.report = reader.text();
  member.call = reader.text();
  if (calls != std::exchange(member.calls, calls)) member.changed = Clock::now();
  if (!has_reported || member.counter == counter) return;
  member.counter = counter;
  member.changed = Clock::now();
}

void HubMembers::call(Member& member, std::string_view body) {
  BodyReader reader(body);
  const uint64_t kind = reader.number();
  std::string name = reader.text(), bytes = reader.text();
  if (kind > kLastRoundKind) fail("a round of kind {}", kind);
  rounds_.call(member.who.rank, {static_cast<RoundKind>(kind), std::move(name), std::move(bytes)});
  if (rounds_.is_complete()) finish_round();
}

void HubMembers::finish_round() {
  const RoundResult result = rounds_.finish();
  send_all(FrameKind::result, BodyWriter().number(result.is_good ? 1 : 0).text(result.text).body());
  for (Member& member : members_) member.changed = Clock::now();
}

void HubMembers::leave(Member& member) {
  member.has_left = true;
  if (std::ranges::all_of(members_, &Member::has_left)) send_all(FrameKind::farewell, "");
}

/// A round that waits for a rank that has left never ends.
void HubMembers::check_left() {
  const auto left = std::ranges::find_if(members_, &Member::has_left);
  if (left == members_.end()) return;
  for (const Member& member : members_)
    if (const auto& call = rounds_.call_of(member.who.rank); member.connection && call)
      return fail_run(fmt::format("{} has ended its run, while {} waits for it in {}", describe(left->who),
                                  describe(member.who), str(*call)));
}

void HubMembers::check_lost(Member& member) {
  if (!member.is_here())
    return fail_run(fmt::format("{} is lost: its connection ended ({}); {}", describe(member.who),
                                member.connection->fault(), last_report(member)));
  if (Clock::now() - member.heard <= seconds(timeouts_.heartbeat)) return;
  fail_run(fmt::format("{} is lost: no sign of life for {:g} s; {}", describe(member.who),
                       timeouts_.heartbeat, last_report(member)));
  member.connection->close();  // it may never read, and the hub's end is not to wait for it
}

/// If one rank stalls, the ranks that wait for it soon stall, too. The culprit is the rank that waits neither
/// in a round of the hub nor in a collective, or has done the least, or stopped first.
void HubMembers::check_progress() {
  if (timeouts_.progress <= 0) return;
  const auto now = Clock::now();
  const auto stands = [&](const Member& m, double share) {
    return m.counter && !m.has_left && now - m.changed > seconds(share * timeouts_.progress);
  };
  if (std::ranges::none_of(members_, [&](const Member& m) { return stands(m, 1); })) return;
  const Member* culprit = nullptr;
  const auto order = [&](const Member& m) {
    const bool is_in_round = rounds_.call_of(m.who.rank).has_value();
    return std::tuple(is_in_round || !m.call.empty(), *m.counter, m.calls, m.changed);
  };
  for (const Member& member : members_)
    if (stands(member, 0.5) && (!culprit || order(member) < order(*culprit))) culprit = &member;
  fail_run(fmt::format("{} stands still: no progress for {:g} s; {}", describe(culprit->who),
                       timeouts_.progress, last_report(*culprit)));
}

void HubMembers::check_joined(const std::string& last_refusal) {
  if (has_begun_ || Clock::now() - begun_at_ < seconds(timeouts_.join)) return;
  std::vector<size_t> absent;
  for (size_t rank = 0; rank < members_.size(); ++rank)
    if (!members_[rank].connection) absent.push_back(rank);
  fail_run(fmt::format("of {} ranks, these have not joined within {:g} s: {}{}", members_.size(),
                       timeouts_.join, fmt::join(absent, ", "),
                       last_refusal.empty() ? "" : fmt::format("; one was refused: {}", last_refusal)));
}

void HubMembers::send_heartbeats() {
  send_all(FrameKind::heartbeat, BodyWriter().text(last_report(members_.front())).body());
}

void HubMembers::forgive_silence(Clock::duration duration) {
  for (Member& member : members_) member.heard += duration, member.changed += duration;
}

std::vector<HubMembers::Wait> HubMembers::waits() const {
  std::vector<Wait> waits;
  for (const Member& member : members_)
    if (member.is_here()) waits.push_back({member.connection->descriptor(), member.connection->has_unsent()});
  return waits;
}

bool HubMembers::are_all_gone() const {
  return std::ranges::none_of(members_, [](const Member& member) { return member.is_here(); });
}

}  // namespace smelt

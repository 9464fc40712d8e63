// Messages from one rank to another: pieces in a mailbox of the two.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/ranks/shared_communicator.h"

namespace smelt {

size_t SharedCommunicator::check_peer(int64_t peer, const char* what) {
  wait_.check();
  if (peer < 0 || peer >= size() || peer == rank())
    wait_.fail_group(fmt::format("{} {} number {} of its group of {}: expected another member of it",
                                 describe(rank_), what, peer, size()));
  return static_cast<size_t>(peer);
}

void SharedCommunicator::ring(size_t peer) {
  std::atomic<uint32_t>& bell = layout_.member(region_, peer).bell;
  bell.fetch_add(1, std::memory_order_release);
  RegionWait::wake_all(bell);
}

SharedCommunicator::MailPiece SharedCommunicator::take_piece(size_t from) {
  MailboxState& box = layout_.mailbox(region_, from, rank_);
  const uint32_t read = box.read.load(std::memory_order_relaxed);
  const size_t piece = read % kMailPieces;
  MailPiece taken{box.message_bytes[piece], std::vector<std::byte>(box.piece_bytes[piece])};
  const std::byte* mail = layout_.mail(region_, from, rank_, piece);
  std::copy_n(mail, taken.bytes.size(), taken.bytes.data());
  box.read.store(read + 1, std::memory_order_release);
  ring(from);
  return taken;
}

bool SharedCommunicator::has_mail(size_t from) const {
  const MailboxState& box = layout_.mailbox(region_, from, rank_);
  return box.written.load(std::memory_order_acquire) != box.read.load(std::memory_order_relaxed);
}

/// A waiting rank stores incoming messages, so that two ranks that send to each other do not deadlock.
void SharedCommunicator::keep_mail() {
  for (size_t from = 0; from < members_.size(); ++from)
    while (from != rank_ && has_mail(from)) kept_[from].push_back(take_piece(from));
}

/// Throws if the peer is inside a collective that this rank has not called: the peer then waits for this
/// rank.
void SharedCommunicator::check_vain(size_t peer, const char* what, const std::function<bool()>& is_ready) {
  const uint64_t inside = layout_.member(region_, peer).inside.load(std::memory_order_acquire);
  if (inside <= collectives_ || is_ready()) return;
  wait_.fail_group(fmt::format("{} {} {}, which waits for it in a collective of their group", describe(rank_),
                               what, describe(peer)));
}

void SharedCommunicator::wait_ready(size_t peer, const char* what, const std::function<bool()>& is_ready) {
  const std::atomic<uint32_t>& bell = layout_.member(region_, rank_).bell;
  while (!is_ready()) {
    const uint32_t heard = bell.load(std::memory_order_acquire);
    keep_mail();
    if (is_ready()) return;
    wait_.wait_changed(bell, heard, [&] { check_vain(peer, what, is_ready); });
  }
}

void SharedCommunicator::send(std::span<const std::byte> data, int64_t to) {
  const size_t peer = check_peer(to, "sends to");
  const Call call(link_, "a message", data.size());
  MailboxState& box = layout_.mailbox(region_, rank_, peer);
  size_t sent = 0;
  do {
    const uint32_t written = box.written.load(std::memory_order_relaxed);
    wait_ready(peer, "waits to send to",
               [&] { return written - box.read.load(std::memory_order_acquire) < kMailPieces; });
    const size_t piece = written % kMailPieces,
                 count = std::min(layout_.mail_piece_bytes(), data.size() - sent);
    box.message_bytes[piece] = data.size(), box.piece_bytes[piece] = count;
    std::copy_n(data.data() + sent, count, layout_.mail(region_, rank_, peer, piece));
    box.written.store(written + 1, std::memory_order_release);
    ring(peer);
    sent += count;
  } while (sent < data.size());
}

void SharedCommunicator::receive(std::span<std::byte> data, int64_t from) {
  const size_t peer = check_peer(from, "receives from");
  const Call call(link_, "a message", data.size());
  std::deque<MailPiece>& kept = kept_[peer];
  size_t received = 0;
  do {
    wait_ready(peer, "waits to receive from", [&] { return !kept.empty() || has_mail(peer); });
    if (kept.empty()) kept.push_back(take_piece(peer));
    const MailPiece piece = std::move(kept.front());
    kept.pop_front();
    if (piece.message_bytes != data.size())
      wait_.fail_group(fmt::format("{} sent a message of {} bytes to {}, which expects {}", describe(peer),
                                   piece.message_bytes, describe(rank_), data.size()));
    std::ranges::copy(piece.bytes, data.begin() + static_cast<ptrdiff_t>(received));
    received += piece.bytes.size();
  } while (received < data.size());
}

}  // namespace smelt

// Messages from one rank to another: pieces in a mailbox of the two.
#include <algorithm>
#include <cstring>

#include "runtime/ranks/shared_communicator.h"

#include <fmt/format.h>

namespace smelt {

size_t SharedCommunicator::check_peer(int64_t peer, const char* what) {
  wait_.check();
  if (peer < 0 || peer >= size() || peer == rank())
    wait_.fail_group(fmt::format("{} {} number {} of its group of {}: expected another member of it",
                                 describe(rank_), what, peer, size()));
  return static_cast<size_t>(peer);
}

/// Who is inside a collective that this rank has not come to waits for this rank.
void SharedCommunicator::check_vain(size_t peer, const std::atomic<uint32_t>& word, uint32_t old,
                                    const char* what) {
  const uint64_t inside = layout_.member(region_, peer).inside.load(std::memory_order_acquire);
  if (inside <= collectives_ || word.load(std::memory_order_acquire) != old) return;
  wait_.fail_group(fmt::format("{} {} {}, which waits for it in a collective of their group", describe(rank_),
                               what, describe(peer)));
}

void SharedCommunicator::send(std::span<const std::byte> data, int64_t to) {
  const size_t peer = check_peer(to, "sends to");
  const Call call(link_, "a message", data.size());
  MailboxState& box = layout_.mailbox(region_, rank_, peer);
  size_t sent = 0;
  do {
    const uint32_t written = box.written.load(std::memory_order_relaxed);
    for (uint32_t read; written - (read = box.read.load(std::memory_order_acquire)) >= kMailPieces;)
      wait_.wait_changed(box.read, read, [&] { check_vain(peer, box.read, read, "waits to send to"); });
    const size_t piece = written % kMailPieces,
                 count = std::min(layout_.mail_piece_bytes(), data.size() - sent);
    box.message_bytes[piece] = data.size();
    if (count > 0) std::memcpy(layout_.mail(region_, rank_, peer, piece), data.data() + sent, count);
    box.written.store(written + 1, std::memory_order_release);
    RegionWait::wake_all(box.written);
    sent += count;
  } while (sent < data.size());
}

void SharedCommunicator::receive(std::span<std::byte> data, int64_t from) {
  const size_t peer = check_peer(from, "receives from");
  const Call call(link_, "a message", data.size());
  MailboxState& box = layout_.mailbox(region_, peer, rank_);
  size_t received = 0;
  do {
    const uint32_t read = box.read.load(std::memory_order_relaxed);
    while (box.written.load(std::memory_order_acquire) == read)
      wait_.wait_changed(box.written, read,
                         [&] { check_vain(peer, box.written, read, "waits to receive from"); });
    const size_t piece = read % kMailPieces,
                 count = std::min(layout_.mail_piece_bytes(), data.size() - received);
    if (box.message_bytes[piece] != data.size())
      wait_.fail_group(fmt::format("{} sent a message of {} bytes to {}, which expects {}", describe(peer),
                                   box.message_bytes[piece], describe(rank_), data.size()));
    if (count > 0) std::memcpy(data.data() + received, layout_.mail(region_, peer, rank_, piece), count);
    box.read.store(read + 1, std::memory_order_release);
    RegionWait::wake_all(box.read);
    received += count;
  } while (received < data.size());
}

}  // namespace smelt

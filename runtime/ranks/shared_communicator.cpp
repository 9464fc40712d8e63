#include "runtime/ranks/shared_communicator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/ranks/rank_sums.h"

namespace smelt {
namespace {

constexpr size_t kSmallSum =
    4096;  // bytes up to which every rank sums all by itself: one barrier instead of two
constexpr size_t kShareAlignment = 8;  // of the largest element

constexpr std::array<const char*, 4> kCollectiveNames = {"all_reduce", "reduce_scatter", "all_gather",
                                                         "all_to_all"};

const char* name_of(CollectiveKind kind) { return kCollectiveNames[static_cast<size_t>(kind)]; }

std::string str(const CallSignature& call) {
  const bool is_sum = call.kind == CollectiveKind::all_reduce || call.kind == CollectiveKind::reduce_scatter;
  return fmt::format("{} of {} bytes{}", name_of(call.kind), call.bytes,
                     is_sum ? fmt::format(" ({} of {})", call.sum == 0 ? "sum" : "maximum",
                                          name(static_cast<DType>(call.dtype)))
                            : "");
}

CallSignature signature(CollectiveKind kind, size_t bytes, DType dtype = DType::u8,
                        CollectiveSum sum = CollectiveSum::add) {
  return {kind, static_cast<uint32_t>(dtype), static_cast<uint32_t>(sum), bytes};
}

void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

class SharedCommunicator::Inside {
 public:
  Inside(SharedCommunicator& all, const CallSignature& call)
      : all_(all), call_(all.link_, name_of(call.kind), call.bytes) {
    set(all_.collectives_ + 1);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() {
    ++all_.collectives_;
    set(0);
  }

 private:
  void set(uint64_t number) {
    all_.layout_.member(all_.region_, all_.rank_).inside.store(number, std::memory_order_release);
  }
  SharedCommunicator& all_;
  Call call_;
};

SharedCommunicator::SharedCommunicator(SharedRegion region, const RegionLayout& layout,
                                       std::vector<int64_t> members, size_t rank, RankLink& link)
    : region_(std::move(region)),
      layout_(layout),
      members_(std::move(members)),
      rank_(rank),
      link_(link),
      wait_(layout_.group(region_), members_.size(), link.failure()),
      kept_(members_.size()) {}

std::string SharedCommunicator::describe(size_t member) const {
  return fmt::format("rank {}", members_[member]);
}

void SharedCommunicator::check_parts(CollectiveKind kind, size_t whole, size_t part) {
  if (whole != part * members_.size())
    wait_.fail_group(fmt::format("{} of {}: {} bytes for {} ranks, and {} bytes for one of them",
                                 name_of(kind), describe(rank_), whole, members_.size(), part));
}

void SharedCommunicator::check_elements(CollectiveKind kind, size_t bytes, DType dtype) {
  try {
    check_summable(dtype);
  } catch (const Error& error) {
    wait_.fail_group(fmt::format("{} of {}: {}", name_of(kind), describe(rank_), error.what()));
  }
  if (bytes % static_cast<size_t>(size_of(dtype)) != 0)
    wait_.fail_group(fmt::format("{} of {}: {} bytes are no whole number of elements of {}", name_of(kind),
                                 describe(rank_), bytes, name(dtype)));
}

/// At the first barrier of a collective, all ranks' calls are compared: all find the same.
void SharedCommunicator::barrier(const CallSignature& call, bool is_first) {
  const size_t parity = barriers_ % kParities;
  if (is_first) layout_.member(region_, rank_).signatures[parity] = call;
  wait_.barrier();
  if (!is_first) return;
  const CallSignature& expected = layout_.member(region_, 0).signatures[parity];
  for (size_t member = 1; member < members_.size(); ++member)
    if (const CallSignature& other = layout_.member(region_, member).signatures[parity]; other != expected)
      wait_.fail_group(fmt::format("the ranks of a group do different things: {} {}, {} {}", describe(0),
                                   str(expected), describe(member), str(other)));
}

void SharedCommunicator::exchange(const CallSignature& call, size_t bytes, size_t step, const Piece& write,
                                  const Piece& read) {
  const Inside inside(*this, call);
  size_t offset = 0;
  do {
    const size_t count = std::min(step, bytes - offset);
    write(offset, count);
    barrier(call, offset == 0);
    read(offset, count);
    ++barriers_;
    offset += count;
  } while (offset < bytes);
}

void SharedCommunicator::sum_parts(size_t offset, std::byte* to, size_t bytes,
                                   const CallSignature& call) const {
  std::vector<const std::byte*> parts;
  for (size_t member = 0; member < members_.size(); ++member) parts.push_back(part(member) + offset);
  const auto dtype = static_cast<DType>(call.dtype);
  sum_of_ranks(parts, to, static_cast<int64_t>(bytes) / size_of(dtype), dtype,
               static_cast<CollectiveSum>(call.sum));
}

/// Each rank sums its share of the chunk, and all copy the whole result.
void SharedCommunicator::sum_chunk(std::span<std::byte> chunk, const CallSignature& call, bool is_first) {
  copy_bytes(part(rank_), chunk.data(), chunk.size());
  barrier(call, is_first);
  const size_t share = (chunk.size() / members_.size() + kShareAlignment) / kShareAlignment * kShareAlignment;
  const size_t begin = std::min(rank_ * share, chunk.size()), end = std::min(begin + share, chunk.size());
  std::byte* result = layout_.result(region_);
  sum_parts(begin, result + begin, end - begin, call);
  ++barriers_;
  barrier(call, false);
  copy_bytes(chunk.data(), result, chunk.size());
  ++barriers_;
}

void SharedCommunicator::all_reduce(std::span<std::byte> data, DType dtype, CollectiveSum sum) {
  check_elements(CollectiveKind::all_reduce, data.size(), dtype);
  const CallSignature call = signature(CollectiveKind::all_reduce, data.size(), dtype, sum);
  const size_t step = layout_.chunk_bytes();
  if (members_.size() == 1) return;
  if (data.size() <= std::min(kSmallSum, step)) {
    exchange(
        call, data.size(), step, [&](size_t, size_t count) { copy_bytes(part(rank_), data.data(), count); },
        [&](size_t, size_t count) { sum_parts(0, data.data(), count, call); });
    return;
  }
  const Inside inside(*this, call);
  for (size_t offset = 0; offset < data.size(); offset += step)
    sum_chunk(data.subspan(offset, std::min(step, data.size() - offset)), call, offset == 0);
}

void SharedCommunicator::reduce_scatter(std::span<const std::byte> from, std::span<std::byte> to, DType dtype,
                                        CollectiveSum sum) {
  check_parts(CollectiveKind::reduce_scatter, from.size(), to.size());
  check_elements(CollectiveKind::reduce_scatter, to.size(), dtype);
  const CallSignature call = signature(CollectiveKind::reduce_scatter, from.size(), dtype, sum);
  exchange(
      call, to.size(), share(),
      [&](size_t offset, size_t count) {
        for (size_t member = 0; member < members_.size(); ++member)
          copy_bytes(part(rank_) + member * share(), from.data() + member * to.size() + offset, count);
      },
      [&](size_t offset, size_t count) { sum_parts(rank_ * share(), to.data() + offset, count, call); });
}

void SharedCommunicator::all_gather(std::span<const std::byte> from, std::span<std::byte> to) {
  check_parts(CollectiveKind::all_gather, to.size(), from.size());
  exchange(
      signature(CollectiveKind::all_gather, to.size()), from.size(), layout_.chunk_bytes(),
      [&](size_t offset, size_t count) { copy_bytes(part(rank_), from.data() + offset, count); },
      [&](size_t offset, size_t count) {
        for (size_t member = 0; member < members_.size(); ++member)
          copy_bytes(to.data() + member * from.size() + offset, part(member), count);
      });
}

void SharedCommunicator::all_to_all(std::span<const std::byte> from, std::span<std::byte> to) {
  const size_t bytes = from.size() / members_.size();
  check_parts(CollectiveKind::all_to_all, from.size(), bytes);
  check_parts(CollectiveKind::all_to_all, to.size(), bytes);
  exchange(
      signature(CollectiveKind::all_to_all, from.size()), bytes, share(),
      [&](size_t offset, size_t count) {
        for (size_t member = 0; member < members_.size(); ++member)
          copy_bytes(part(rank_) + member * share(), from.data() + member * bytes + offset, count);
      },
      [&](size_t offset, size_t count) {
        for (size_t member = 0; member < members_.size(); ++member)
          copy_bytes(to.data() + member * bytes + offset, part(member) + rank_ * share(), count);
      });
}

}  // namespace smelt

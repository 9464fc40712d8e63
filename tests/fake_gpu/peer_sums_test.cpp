// Small sums between GPUs by writes into each other's memory: what they leave, step by step and in graphs,
// while ranks are late or ahead; which sums NCCL does; and when a rank fails. The kernel is played by its
// protocol in C++.
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/peer_sum_kernel.h"
#include "tests/fake_gpu/example.h"
#include "tests/support/sum_plans.h"
#include "tests/support/thread_ranks.h"

namespace smelt::fake {
namespace {

using cuda::PeerSumBlock;
using test::Summing;

constexpr CollectiveSum kMax = CollectiveSum::max;
const std::vector<Summing> kSums = {{DType::f32, 1},    {DType::bf16, 7},        {DType::f16, 4096},
                                    {DType::f32, 5001}, {DType::bf16, 31, kMax}, {DType::f32, 3, kMax}};

/// NCCL's are f32 alone here.
const std::vector<Summing> kSumsOfF32 = {{DType::f32, 5}, {DType::f32, 300, kMax}};

uint32_t word(std::byte* at) { return std::atomic_ref(*reinterpret_cast<uint32_t*>(at)).load(); }
void set_word(std::byte* at, uint32_t value) {
  std::atomic_ref(*reinterpret_cast<uint32_t*>(at)).store(value);
}

/// The arguments of a launch.
struct Sum {
  std::byte *from, *to, *block;
  int64_t elements, type, sum, rank, ranks;

  explicit Sum(const KernelCall& call)
      : from(call.argument<std::byte*>(0)),
        to(call.argument<std::byte*>(1)),
        block(call.argument<std::byte*>(2)),
        elements(call.argument<int64_t>(3)),
        type(call.argument<int64_t>(4)),
        sum(call.argument<int64_t>(5)),
        rank(call.argument<int64_t>(6)),
        ranks(call.argument<int64_t>(7)) {}

  DType dtype() const { return type == 0 ? DType::f32 : type == 1 ? DType::bf16 : DType::f16; }
  int64_t bytes() const { return elements * size_of(dtype()); }
  /// Where `sender` writes in a block.
  std::byte* slot(std::byte* of, int64_t sender, uint32_t number) const {
    return of + PeerSumBlock::kSlotsAt + ((number & 1) * ranks + sender) * PeerSumBlock::slot_bytes(ranks);
  }
};

void send(const Sum& s, std::byte* slot, uint32_t number) {
  for (int64_t at = 0; at < s.bytes(); at += 4) {
    uint32_t data = 0;
    std::memcpy(&data, s.from + at, static_cast<size_t>(std::min<int64_t>(4, s.bytes() - at)));
    set_word(slot + 2 * at, data);
    set_word(slot + 2 * at + 4, number);
  }
}

/// False: the wait was ended.
bool receive(const Sum& s, int64_t sender, uint32_t number, std::vector<std::byte>& data) {
  std::byte* slot = s.slot(s.block, sender, number);
  data.resize(static_cast<size_t>(s.bytes() + 3) / 4 * 4);
  for (int64_t at = 0; at < s.bytes(); at += 4) {
    while (word(slot + 2 * at + 4) != number) {
      if (word(s.block + PeerSumBlock::kStopAt) != 0) return false;
      std::this_thread::yield();
    }
    const uint32_t received = word(slot + 2 * at);
    std::memcpy(data.data() + at, &received, sizeof received);
  }
  return true;
}

void play(const KernelCall& call) {
  const Sum s(call);
  const uint32_t number = word(s.block) + 1;
  const auto* peers = reinterpret_cast<std::byte* const*>(s.block + PeerSumBlock::kPeersAt);
  for (int64_t rank = 0; rank < s.ranks; ++rank)
    if (rank != s.rank) send(s, s.slot(peers[rank], s.rank, number), number);
  std::vector<std::vector<std::byte>> terms(static_cast<size_t>(s.ranks));
  for (int64_t rank = 0; rank < s.ranks; ++rank)
    if (rank == s.rank)
      terms[static_cast<size_t>(rank)].assign(s.from, s.from + s.bytes());
    else if (!receive(s, rank, number, terms[static_cast<size_t>(rank)]))
      return;
  const auto size = static_cast<size_t>(size_of(s.dtype()));
  for (size_t at = 0; at < static_cast<size_t>(s.bytes()); at += size) {
    float total = test::widened(s.dtype(), terms[0].data() + at);
    for (size_t rank = 1; rank < terms.size(); ++rank) {
      const float term = test::widened(s.dtype(), terms[rank].data() + at);
      total = s.sum == 0 ? total + term : std::max(total, term);
    }
    test::put_narrowed(s.dtype(), total, s.to + at);
  }
  set_word(s.block, number);
}

class GpuPeerSums : public FakeGpu {
 protected:
  GpuPeerSums() {
    gpu(0).count = kMostGpus;
    for (int device = 0; device < kMostGpus; ++device)
      gpu(device).kernels["smelt_peer_sum"] = {.arguments = 8, .run = play, .waits_for_words = true};
  }
  ~GpuPeerSums() override { ::unsetenv("SMELT_GATHERS"); }
  void SetUp() override {
    FakeGpu::SetUp();
    if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  }

  static std::unique_ptr<Session> session_of(const std::vector<Summing>& all, RankGroups& ranks) {
    SessionOptions options;
    options.ranks = &ranks, options.device = static_cast<int>(ranks.rank());
    return std::make_unique<Session>(
        std::make_shared<const Plan>(test::sum_plan("sm_90", ranks.mesh().ranks(), all)), options);
  }
  static void run_ranks(int64_t ranks, const std::vector<Summing>& all, int64_t runs) {
    test::ThreadRanks(parse_mesh("data=" + std::to_string(ranks))).run([&](RankGroups& groups) {
      const auto session = session_of(all, groups);
      std::mt19937 random(static_cast<unsigned>(groups.rank()));
      for (int64_t run = 0; run < runs; ++run) {
        if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));
        test::expect_summed(*session, all, ranks, groups.rank(), run);
      }
    });
  }
  static size_t given_to_nccl() {
    size_t calls = 0;
    for (int device = 0; device < kMostGpus; ++device) calls += gpu(device).nccl_groups.size();
    return calls;
  }
};

TEST_F(GpuPeerSums, AreThoseOfTheRanksInOrder) {
  for (const int64_t ranks : {2, 3, 4}) run_ranks(ranks, kSums, 24);
  EXPECT_EQ(given_to_nccl(), 0u);
  EXPECT_GT(gpu(0).graph_launches, 20);
}

TEST_F(GpuPeerSums, AreLeftToNcclWhereTheyAreLong) {
  run_ranks(4, {{DType::f32, PeerSumBlock::most_bytes(4) / 4}}, 2);
  EXPECT_EQ(given_to_nccl(), 0u);
  run_ranks(4, {{DType::f32, PeerSumBlock::most_bytes(4) / 4 + 1}}, 2);
  EXPECT_GT(given_to_nccl(), 0u);
}

TEST_F(GpuPeerSums, AreLeftToNcclWhereTheUserSaysSo) {
  ::setenv("SMELT_GATHERS", "nccl", 1);
  run_ranks(2, kSumsOfF32, 2);
  EXPECT_GT(given_to_nccl(), 0u);
}

TEST_F(GpuPeerSums, AreLeftToNcclWhereMemoryIsOutOfReach) {
  gpu(0).has_peers = false;
  run_ranks(2, kSumsOfF32, 2);
  EXPECT_GT(given_to_nccl(), 0u);
}

/// A kernel that does nothing, as where writes do not arrive.
TEST_F(GpuPeerSums, AreLeftToNcclWhereATrialFails) {
  gpu(1).kernels.erase("smelt_peer_sum");
  run_ranks(2, kSumsOfF32, 2);
  EXPECT_GT(given_to_nccl(), 0u);
}

TEST_F(GpuPeerSums, EndWithTheRankThatFails) {
  test::expect_end_with_failing_rank([](RankGroups& ranks, const auto& may_fail) {
    const auto session = session_of(kSums, ranks);
    test::expect_summed(*session, kSums, 3, ranks.rank(), 0);
    may_fail();
    for (int run = 1; run < 4; ++run) test::expect_summed(*session, kSums, 3, ranks.rank(), run);
  });
}

}  // namespace
}  // namespace smelt::fake

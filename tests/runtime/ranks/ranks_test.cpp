// Ranks as a trainer uses them.
#include "runtime/ranks/ranks.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/ranks/mesh_ranks.h"
#include "tests/runtime/ranks/run_ranks.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

int64_t sum_over(Communicator& group, int64_t value) {
  group.all_reduce(std::as_writable_bytes(std::span(&value, 1)), DType::i64, CollectiveSum::add);
  return value;
}

TEST(Ranks, GroupsOfAMesh) {
  expect_all_good(run_rank_threads(6, [](const Launch& launch, Socket listener) {
    Ranks ranks(launch, {}, std::move(listener));
    ranks.run([&] {
      const int64_t rank = ranks.rank();  // of {2, 3}
      const std::vector<int64_t> row = {rank / 3 * 3, rank / 3 * 3 + 1, rank / 3 * 3 + 2};
      const std::vector<int64_t> column = {rank % 3, rank % 3 + 3};
      Communicator &of_row = ranks.group(row), &of_column = ranks.group(column);
      EXPECT_EQ(of_row.rank(), rank % 3);
      EXPECT_EQ(of_column.size(), 2);
      EXPECT_EQ(sum_over(of_row, rank), 3 * row[1]);
      EXPECT_EQ(sum_over(of_column, rank), 2 * (rank % 3) + 3);
      EXPECT_EQ(sum_over(ranks.all(), rank), 15);
      EXPECT_EQ(&ranks.group(row), &of_row) << "it is made once";
    });
  }));
}

TEST(Ranks, CountWithinAStep) {
  ProgressCounter often, once;
  uint64_t last = 0;
  for (const int64_t step : {0, 0, 1, 1, 1, 2, 5, 5}) {
    const uint64_t counter = often.next(step);
    EXPECT_TRUE(counter > last || (step == 0 && last == 0)) << step;
    last = counter;
  }
  once.next(0);
  EXPECT_GT(once.next(6), last);
  EXPECT_EQ(once.next(7), often.next(7)) << "whatever each did in the steps before";
}

TEST(Ranks, OneRankNeedsNobody) {
  Ranks ranks(Launch{});
  ranks.run([&] {
    EXPECT_EQ(sum_over(ranks.all(), 7), 7);
    ranks.link().barrier("alone");
    ranks.link().agree("alone", {{"seed", "1"}});
  });
  EXPECT_EQ(message_of([&] { ranks.run([] { fail("by itself"); }); }), "by itself");
}

TEST(Ranks, AFailureEndsAllWithOneMessage) {
  const auto ends = run_rank_processes(4, [](const Launch& launch, Socket listener) {
    Ranks ranks(launch, {}, std::move(listener));
    Communicator& all = ranks.all();
    ranks.run([&] {
      for (uint64_t step = 1;; ++step) {
        ranks.link().progress(fmt::format("step {}, all_reduce of gradients", step), step);
        if (step == 5 && ranks.rank() == 2) fail("memory does not suffice");
        sum_over(all, 1);
      }
    });
  });
  EXPECT_EQ(ends[2].text, "memory does not suffice");
  for (const int rank : {0, 1, 3}) {
    const RankEnd& end = ends[static_cast<size_t>(rank)];
    EXPECT_EQ(end.status, 1);
    EXPECT_HAS(end.text, "rank 2 (host ");
    EXPECT_HAS(end.text,
               "failed: memory does not suffice (it last reported step 5, all_reduce of gradients)");
    EXPECT_EQ(end.text, ends[0].text);
  }
}

}  // namespace
}  // namespace smelt

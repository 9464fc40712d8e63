// What the ranks of a group hear when one of them is lost, or does what the others do not.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <random>
#include <vector>

#include "runtime/ranks/shared_memory.h"
#include "tests/runtime/ranks/run_ranks.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

using Bytes = std::vector<std::byte>;
using Act = std::function<void(Communicator& group)>;

/// The Errors of all ranks, each of which does one thing.
std::vector<RankEnd> ends_of(int size, const Act& act) {
  return run_rank_threads(size, [&](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    std::vector<int64_t> members;
    for (int rank = 0; rank < size; ++rank) members.push_back(rank);
    const auto group = share_memory(link, members, {512});
    const std::string fault = message_of([&] { act(*group); });
    EXPECT_EQ(message_of([&] { act(*group); }), fault) << "the group has failed for good";
    link.leave();
    fail("{}", fault);
  });
}

void expect_same(const std::vector<RankEnd>& ends, const std::vector<std::string>& parts) {
  for (const RankEnd& end : ends) {
    EXPECT_EQ(end.text, ends[0].text);
    for (const std::string& part : parts) EXPECT_HAS(end.text, part);
  }
}

TEST(SharedMemoryFaults, CallsThatDiffer) {
  expect_same(ends_of(3,
                      [](Communicator& group) {
                        Bytes data(group.rank() == 1 ? 40 : 4000);
                        group.all_reduce(data, DType::f32, CollectiveSum::add);
                      }),
              {"rank 0 all_reduce of 4000 bytes (sum of f32), rank 1 all_reduce of 40 bytes"});
  expect_same(ends_of(2,
                      [](Communicator& group) {
                        Bytes data(64);
                        group.all_reduce(data, group.rank() == 1 ? DType::i32 : DType::f32,
                                         CollectiveSum::max);
                      }),
              {"(maximum of f32)", "(maximum of i32)"});
  expect_same(ends_of(3,
                      [](Communicator& group) {
                        Bytes data(30), whole(90);
                        if (group.rank() == 2)
                          group.all_to_all(whole, whole);
                        else
                          group.all_gather(data, whole);
                      }),
              {"rank 0 all_gather of 90 bytes, rank 2 all_to_all of 90 bytes"});
}

TEST(SharedMemoryFaults, SizesThatDoNotFit) {
  expect_same(ends_of(2,
                      [](Communicator& group) {
                        Bytes from(8), to(group.rank() == 0 ? 16 : 15);
                        group.all_gather(from, to);
                      }),
              {"all_gather of rank 1: 15 bytes for 2 ranks, and 8 bytes for one of them"});
  expect_same(ends_of(2,
                      [](Communicator& group) {
                        Bytes data(6);
                        group.all_reduce(data, DType::f32, CollectiveSum::add);
                      }),
              {"6 bytes are no whole number of elements of f32"});
  expect_same(ends_of(2,
                      [](Communicator& group) {
                        Bytes data(6);
                        group.all_reduce(data, DType::u16, CollectiveSum::add);
                      }),
              {"a sum over ranks of u16"});
}

TEST(SharedMemoryFaults, MessagesThatDoNotFit) {
  expect_same(ends_of(2,
                      [](Communicator& group) {
                        Bytes data(group.rank() == 0 ? 3000 : 30);
                        if (group.rank() == 0)
                          group.send(data, 1);
                        else
                          group.receive(data, 0);
                      }),
              {"rank 0 sent a message of 3000 bytes to rank 1, which expects 30"});
  expect_same(ends_of(1, [](Communicator& group) { group.send({}, 0); }), {"rank 0 sends to number 0"});
}

TEST(SharedMemoryFaults, AMessageThatNeverComes) {
  expect_same(ends_of(3,
                      [](Communicator& group) {
                        Bytes data(8);
                        if (group.rank() == 2)
                          group.receive(data, 0);
                        else
                          group.all_reduce(data, DType::f32, CollectiveSum::add);
                      }),
              {"rank 2 waits to receive from rank 0, which waits for it in a collective"});
}

TEST(SharedMemoryFaults, GroupsThatDoNotFit) {
  const auto ends_with = [](const std::vector<std::vector<int64_t>>& groups) {
    return run_rank_threads(static_cast<int>(groups.size()), [&](const Launch& launch, Socket listener) {
      RankLink link(launch, std::move(listener));
      const std::string fault =
          message_of([&] { share_memory(link, groups[static_cast<size_t>(launch.rank)]); });
      link.leave();
      fail("{}", fault);
    });
  };
  expect_same(ends_with({{0, 1}, {0, 1, 2}, {0, 1, 2}}),
              {"rank 0 is in a group with ranks [0, 1]", "[0, 1, 2]"});
  expect_same(ends_with({{0, 1}, {1, 0}}), {"the group of rank 1 is [1, 0]"});
  expect_same(ends_with({{0, 1}, {1}}), {"rank 1 with [1]"});
  expect_same(ends_with({{0}, {1, 2}}), {"the group of rank 1 is [1, 2]: expected numbers of 0 to 1"});
  expect_same(ends_with({{0}, {}}), {"the group of rank 1 is []"});
}

/// All have come equally far; one of them does not come to the collective that the others are in.
TEST(SharedMemoryFaults, AHungRankIsToldFromThoseThatWaitForIt) {
  constexpr int kHung = 2;
  const auto ends = run_rank_threads(3, [](Launch launch, Socket listener) {
    launch.progress_timeout = 2;
    RankLink link(launch, std::move(listener));
    const auto group = share_memory(link, std::vector<int64_t>{0, 1, 2});
    Bytes data(400);
    for (uint64_t step = 1;; ++step) {
      link.progress(fmt::format("step {}", step), step);
      while (launch.rank == kHung && step == 3) {
        link.failure().check();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      group->all_reduce(data, DType::f32, CollectiveSum::add);
    }
  });
  expect_same(ends, {"rank 2 (host ", "stands still", "it last reported step 3"});
}

/// Ranks that work without end; one of them dies.
void expect_death_is_told(int size, int victim, int milliseconds) {
  void* memory =
      ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* joined = static_cast<std::atomic<int>*>(memory);
  const auto work = [joined](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    ++*joined;
    std::vector<int64_t> members;
    for (int rank = 0; rank < launch.size; ++rank) members.push_back(rank);
    const auto group = share_memory(link, members, {4096});
    Bytes data(40000);
    for (uint64_t step = 1;; ++step) {
      link.progress(fmt::format("step {}", step), step);
      group->all_reduce(data, DType::f32, CollectiveSum::add);
      if (launch.rank > 0) group->send(data, 0);
      for (int64_t rank = 1; launch.rank == 0 && rank < launch.size; ++rank) group->receive(data, rank);
    }
  };
  const auto ends = run_rank_processes(size, work, [&](const std::vector<pid_t>& processes) {
    const auto end = Clock::now() + seconds(60);
    while (*joined < size && Clock::now() < end) std::this_thread::yield();
    EXPECT_EQ(*joined, size) << "not all have joined";
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    ::kill(processes[static_cast<size_t>(victim)], SIGKILL);
  });
  ::munmap(memory, sizeof(std::atomic<int>));
  for (int rank = 0; rank < size; ++rank) {
    const RankEnd& end = ends[static_cast<size_t>(rank)];
    EXPECT_EQ(end.status, rank == victim ? 128 + SIGKILL : 1);
    if (rank == victim) continue;
    EXPECT_HAS(end.text, fmt::format("rank {} (host ", victim));
    EXPECT_HAS(end.text, " is lost");
  }
}

TEST(SharedMemoryFaults, ADeadRankIsNamedByAllOthers) {
  std::mt19937 random(std::random_device{}());
  for (const int size : {2, 4, 8}) {
    const int victim = static_cast<int>(random() % static_cast<uint32_t>(size));
    SCOPED_TRACE(fmt::format("rank {} of {}", victim, size));
    expect_death_is_told(size, victim, static_cast<int>(random() % 150));
  }
  expect_death_is_told(3, 0, 100);
}

}  // namespace
}  // namespace smelt

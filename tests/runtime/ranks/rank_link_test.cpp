// What ranks do together through the hub.
#include "runtime/ranks/rank_link.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "tests/runtime/ranks/run_ranks.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

TEST(RankLink, RoundsOfAnyNumberOfRanks) {
  for (const int size : {1, 2, 3, 8}) {
    std::atomic<int> came = 0;
    expect_all_good(run_rank_threads(size, [&](const Launch& launch, Socket listener) {
      RankLink link(launch, std::move(listener));
      EXPECT_EQ(link.hosts().size(), static_cast<size_t>(size));
      for (int i = 0; i < 3; ++i) {
        link.agree("run", {{"seed", "7"}, {"plan", std::to_string(i)}});
        EXPECT_EQ(link.broadcast("choices", "of " + std::to_string(launch.rank)), "of 0");
        std::vector<std::string> expected;
        for (int rank = 0; rank < size; ++rank)
          expected.push_back(std::string(static_cast<size_t>(rank), 'x'));
        EXPECT_EQ(link.gather("names", expected[static_cast<size_t>(launch.rank)]), expected);
      }
      ++came;
      link.barrier("all came");
      EXPECT_EQ(came, size);
      link.leave();
    }));
  }
}

TEST(RankLink, LongMessages) {
  const std::string bytes(3 << 20, 'b');
  expect_all_good(run_rank_threads(3, [&](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    EXPECT_EQ(link.broadcast("weights", bytes), bytes);
    link.leave();
  }));
}

TEST(RankLink, WhatRanksDoNotAgreeOn) {
  const auto ends = run_rank_threads(4, [](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    const std::string seed = launch.rank == 2 ? "8" : "7";
    const std::string fault = message_of([&] { link.agree("options", {{"steps", "10"}, {"seed", seed}}); });
    link.barrier("the link still works");
    link.leave();
    fail("{}", fault);
  });
  for (const RankEnd& end : ends) {
    EXPECT_EQ(end.text, ends[0].text) << "one message at all ranks";
    for (const char* part : {"the same options", "seed: rank 0 (host ", "has '7', rank 2 (host ", "has '8'"})
      EXPECT_HAS(end.text, part);
    EXPECT_EQ(end.text.find("steps"), std::string::npos) << "of which all have the same";
  }
}

TEST(RankLink, RanksAtDifferentPlaces) {
  const auto ends = run_rank_threads(2, [](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    const std::string fault = message_of([&] {
      if (launch.rank == 0)
        link.barrier("checkpoint");
      else
        link.gather("sizes", "");
    });
    link.leave();
    fail("{}", fault);
  });
  for (const RankEnd& end : ends) {
    EXPECT_HAS(end.text, "is at barrier 'checkpoint', rank 1");
    EXPECT_HAS(end.text, "at gather 'sizes'");
  }
}

TEST(RankLink, AReportedFailureReachesAll) {
  const auto ends = run_rank_threads(3, [](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    link.barrier("start");
    if (launch.rank == 1) {
      link.progress("step 12, all_reduce of gradients", 40);
      link.report_failure("out of memory");
      EXPECT_TRUE(link.failure().is_raised()) << "it hears itself";
    }
    link.barrier("never");
  });
  for (const RankEnd& end : ends) {
    EXPECT_EQ(end.status, 1);
    EXPECT_HAS(end.text, "rank 1 (host ");
    EXPECT_HAS(end.text, "failed: out of memory (it last reported step 12, all_reduce of gradients)");
  }
}

TEST(RankLink, WhoLeavesEarlyIsNotWaitedFor) {
  const auto ends = run_rank_threads(3, [](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    if (launch.rank == 2) return link.leave();
    link.barrier("epoch");
  });
  for (const RankEnd& end : ends) {
    EXPECT_HAS(end.text, "rank 2 (host ");
    EXPECT_HAS(end.text, "has ended its run, while rank ");
    EXPECT_HAS(end.text, "waits for it in barrier 'epoch'");
  }
}

TEST(RankLink, WhoGoesWithoutAWordIsLost) {
  for (const int goer : {0, 1}) {
    const auto ends = run_rank_threads(3, [goer](const Launch& launch, Socket listener) {
      RankLink link(launch, std::move(listener));
      link.progress("step 3", 3);
      link.barrier("start");
      if (launch.rank != goer) link.barrier("epoch");
    });
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == goer) continue;
      const std::string& text = ends[static_cast<size_t>(rank)].text;
      EXPECT_HAS(text, "rank " + std::to_string(goer) + " (host ");
      EXPECT_HAS(text, "is lost: its connection ended");
      EXPECT_HAS(text, "it last reported step 3");
    }
  }
}

TEST(RankLink, ARankThatStandsStill) {
  const auto ends = run_rank_threads(3, [](Launch launch, Socket listener) {
    launch.progress_timeout = 2;
    RankLink link(launch, std::move(listener));
    std::atomic<bool> is_told = false;
    link.on_failure([&](const std::string&) { is_told = true; });
    for (uint64_t step = 1; !link.failure().is_raised(); ++step) {
      link.progress("step " + std::to_string(step), launch.rank == 1 ? 1 : step);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    while (!is_told) std::this_thread::yield();
    link.failure().check();
  });
  for (const RankEnd& end : ends) {
    EXPECT_HAS(end.text, "rank 1 (host ");
    EXPECT_HAS(end.text, "stands still: no progress for 2 s; it last reported step ");
  }
}

/// A stopped process keeps its connections, as one does whose host has died.
void expect_silence_is_noticed(size_t victim) {
  const auto ends = run_rank_processes(
      2,
      [victim](Launch launch, Socket listener) {
        launch.heartbeat_timeout = 2;
        RankLink link(launch, std::move(listener));
        link.barrier("start");
        if (launch.rank == static_cast<int>(victim)) ::raise(SIGSTOP);
        link.barrier("end");
        link.leave();
      },
      [victim](const std::vector<pid_t>& processes) {
        siginfo_t info;  // when the other has heard of it
        ::waitid(P_PID, static_cast<id_t>(processes[1 - victim]), &info, WEXITED | WNOWAIT);
        ::kill(processes[victim], SIGCONT);
      });
  EXPECT_HAS(ends[1 - victim].text, "rank " + std::to_string(victim) + " (host ");
  EXPECT_HAS(ends[1 - victim].text, "no sign of life for 2 s");
  EXPECT_EQ(ends[victim].status, 1) << "it hears when it goes on";
}
TEST(RankLink, ARankWithoutASignOfLife) { expect_silence_is_noticed(1); }
TEST(RankLink, AHubWithoutASignOfLife) { expect_silence_is_noticed(0); }

}  // namespace
}  // namespace smelt

#include "runtime/cpu/threads.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>

namespace smelt {
namespace {

constexpr int kMany = 64;

/// Leaves room for the stacks of a few threads.
void limit_address_space() {
  constexpr rlim_t kRoom = rlim_t{100} << 20, kPage = 4096;
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{pages * kPage + kRoom, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
}

int team_of(int threads) {
  int count = 0;
#pragma omp parallel num_threads(threads) reduction(+ : count)
  count += 1;
  return count;
}

TEST(TeamThreads, AreThoseThatAreWanted) {
  EXPECT_EQ(team_threads(1), 1);
  EXPECT_EQ(team_threads(3), 3);
  EXPECT_EQ(team_threads(), omp_get_max_threads());
}

TEST(TeamThreads, AreFewerWhereTheSystemRefusesThem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve address space of their own";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto limited = [] {
    limit_address_space();
    const int threads = team_threads(kMany);
    std::_Exit(threads < kMany && team_of(threads) == threads && team_threads(kMany) == threads ? 0 : 1);
  };
  EXPECT_EXIT(limited(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace smelt

#include "compiler/search/parallel_calls.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace smelt {
namespace {

constexpr unsigned kMostThreads = 8;

size_t threads_for(size_t count, int asked) {
  const unsigned here = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
  return std::min<size_t>(count, asked > 0 ? static_cast<unsigned>(asked) : here);
}

}  // namespace

void call_in_parallel(size_t count, int threads, llvm::function_ref<void(size_t)> work) {
  std::atomic<size_t> next = 0;
  std::vector<std::exception_ptr> problems(count);
  const auto run = [&] {
    for (size_t i; (i = next++) < count;) try {
        work(i);
      } catch (...) {
        problems[i] = std::current_exception();
      }
  };
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < threads_for(count, threads); ++i) others.emplace_back(run);
    run();
  }
  for (const std::exception_ptr& problem : problems)
    if (problem) std::rethrow_exception(problem);
}

}  // namespace smelt

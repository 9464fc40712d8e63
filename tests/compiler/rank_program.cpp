// A program whose processes are ranks, for the tests of `smelt launch`: they sum their numbers over and over.
//   rank_program STEPS [fail|die RANK STEP]
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "runtime/base/error.h"
#include "runtime/ranks/ranks.h"

namespace {

struct Fault {
  std::string kind;
  int64_t rank = -1, step = -1;
};

void come_to(const Fault& fault, int64_t rank, int64_t step) {
  if (fault.rank != rank || fault.step != step) return;
  if (fault.kind == "die") ::raise(SIGKILL);
  smelt::fail("it was asked to");
}

int64_t sum_steps(smelt::Ranks& ranks, int64_t steps, const Fault& fault) {
  smelt::Communicator& all = ranks.all();
  int64_t sum = 0;
  for (int64_t step = 0; step < steps; ++step) {
    ranks.link().progress(fmt::format("step {}", step), static_cast<uint64_t>(step));
    come_to(fault, ranks.rank(), step);
    sum = ranks.rank() + step;
    all.all_reduce(std::as_writable_bytes(std::span(&sum, 1)), smelt::DType::i64, smelt::CollectiveSum::add);
  }
  return sum;
}

}  // namespace

int main(int count, char** words) {
  try {
    const Fault fault = count > 4 ? Fault{words[2], std::stoll(words[3]), std::stoll(words[4])} : Fault{};
    smelt::Ranks ranks(smelt::read_launch(smelt::process_environment()));
    ranks.run([&] {
      const int64_t sum = sum_steps(ranks, std::stoll(words[1]), fault);
      fmt::print("rank {} of {} has {}\n", ranks.rank(), ranks.size(), sum);
    });
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}

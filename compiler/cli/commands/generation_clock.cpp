#include "compiler/cli/commands/generation_clock.h"

#include <fmt/format.h>

#include "compiler/cli/shared/text_table.h"
#include "runtime/session/executor.h"

namespace smelt::cli {
namespace {

int64_t cache_bytes(const Plan& plan) {
  int64_t bytes = 0;
  for (const State& state : plan.states)
    if (state.role == Role::cache) bytes += state_bytes(plan, state);
  return bytes;
}

std::string caches_text(int64_t bytes) { return bytes == 0 ? "no caches" : "caches " + bytes_text(bytes); }

}  // namespace

double GenerationClock::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void GenerationClock::token() {
  if (count_++ == 0) first_ = seconds();
}

std::string GenerationClock::text(const Plan& plan, const Plan* draft) const {
  const int64_t bytes = cache_bytes(plan) + (draft ? cache_bytes(*draft) : 0);
  const double whole = seconds();
  const std::string first = first_ ? ", the first after " + seconds_text(*first_) : "";
  const std::string drafts =
      drafts_ ? fmt::format(", {} of {} drafted tokens kept", drafts_->second, drafts_->first) : "";
  return fmt::format("{} new token{} in {}, {:.1f} tokens/s{}{}; {}", count_, count_ == 1 ? "" : "s",
                     seconds_text(whole), static_cast<double>(count_) / whole, first, drafts,
                     caches_text(bytes));
}

}  // namespace smelt::cli

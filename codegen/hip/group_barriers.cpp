#include "codegen/hip/group_barriers.h"

#include <fmt/format.h>

#include <bit>
#include <set>

#include "codegen/gpu/thread_ir/body_builder.h"
#include "codegen/gpu/thread_ir/visit_statements.h"

namespace smelt {
namespace {

constexpr int kLargestWave = 64;

/// Returns the sizes of the groups that have a barrier, in threads.
std::set<int> barrier_sizes(const gpu::Launch& launch) {
  std::set<int> sizes;
  gpu::visit_statements(launch, [&](const gpu::Statement& statement) {
    const auto* barrier = std::get_if<gpu::Barrier>(&statement.as);
    if (barrier != nullptr && barrier->of == gpu::Barrier::Of::group) sizes.insert(barrier->threads);
  });
  return sizes;
}

}  // namespace

std::string why_no_group_barriers(const gpu::Launch& launch) {
  for (const int threads : barrier_sizes(launch))
    if (threads < kLargestWave || !std::has_single_bit(static_cast<unsigned>(threads)))
      return fmt::format("a group of {} threads that has a barrier does not consist of whole waves", threads);
  return "";
}

gpu::Launch with_group_barriers(gpu::Launch launch) {
  if (barrier_sizes(launch).empty()) return launch;
  gpu::BodyBuilder start;
  start.call("sm_start_group_barriers", {});
  start.append_all(launch.code);
  launch.code = start.body();
  return launch;
}

}  // namespace smelt

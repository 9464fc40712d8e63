#include "codegen/cuda/row_text.h"

#include <fmt/format.h>

#include "codegen/cuda/template_arguments.h"

namespace smelt {
namespace {

constexpr std::string_view kOneBlockText =
    R"(constexpr int kBlocks = 1;
__device__ __forceinline__ int block_of_row() { return 0; }
__device__ __forceinline__ void row_sync() { __syncthreads(); }
template <typename T>
__device__ __forceinline__ T* in_block(T* mine, int) {
  return mine;
}
)";

constexpr std::string_view kClusterText =
    R"(__device__ __forceinline__ int block_of_row() { return (int)(blockIdx.x % kBlocks); }
__device__ __forceinline__ void row_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
template <typename T>
__device__ __forceinline__ T* in_block(T* mine, int block) {
  T* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(mine), "r"(block));
  return there;
}
)";

using Condition = TemplateLaunch::Condition;

std::vector<Condition> conditions_of(RowKind rows) {
  const Condition is_short{.value = field("count"), .below = kLongRow},
      is_long{.value = field("count") * -1, .below = 1 - kLongRow},
      are_few{.value = field("rows"), .below = kManyRows},
      are_many{.value = field("rows") * -1, .below = 1 - kManyRows};
  switch (rows) {
    case RowKind::any:
      return {};
    case RowKind::short_ones:
      return {is_short};
    case RowKind::long_ones:
      return {is_long};
    case RowKind::few_long_ones:
      return {is_long, are_few};
    case RowKind::many_long_ones:
      return {is_long, are_many};
  }
  return {};
}

}  // namespace

const std::string_view kEntryText =
    R"(typedef unsigned long long Entry;
// In the order of the floats: NaN above all, both zeros equal.
__device__ __forceinline__ unsigned key_of(float x) {
  const unsigned bits = __float_as_uint(x);
  const unsigned key = bits >> 31 ? ~bits : bits | 0x80000000u;
  return x != x ? 0xFFFFFFFFu : x == 0.0f ? 0x80000000u : key;
}
__device__ __forceinline__ Entry entry_of(unsigned key, int index) {
  return (Entry)key << 32 | (Entry)~(unsigned)index;
}
__device__ __forceinline__ int index_of(Entry entry) { return (int)~(unsigned)entry; }
)";

std::string row_blocks_text(int blocks) {
  if (blocks == 1) return std::string(kOneBlockText);
  return fmt::format("constexpr int kBlocks = {};\n{}", blocks, kClusterText);
}

KernelCode kernel_of_rows(std::string name, std::string_view step, const std::string& text, int threads,
                          int blocks, RowKind rows) {
  KernelCode kernel;
  kernel.name = std::move(name);
  kernel.range = 1;  // the step says how many
  kernel.threads = threads;
  const std::string cluster =
      blocks > 1 ? fmt::format("__attribute__((cluster_dims({}, 1, 1))) ", blocks) : "";
  const size_t parameters = text.find("KERNEL(");
  kernel.source =
      row_blocks_text(blocks) + text.substr(0, parameters) +
      fmt::format("extern \"C\" __global__ {}void __launch_bounds__({}) {}", cluster, threads, kernel.name) +
      text.substr(parameters + 6);
  kernel.launch = TemplateLaunch{.step = std::string(step), .blocks = field("rows") * blocks};
  kernel.launch->conditions = conditions_of(rows);
  return kernel;
}

}  // namespace smelt

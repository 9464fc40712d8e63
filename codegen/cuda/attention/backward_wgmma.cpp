#include <fmt/format.h>

#include <cmath>

#include "codegen/cuda/attention/attention_wgmma.h"
#include "codegen/cuda/attention/wgmma_body.h"
#include "codegen/cuda/device_text.h"

namespace smelt {
namespace {

constexpr int kBackwardBarriers = 128;  // bytes: barriers, and what is told beside them

constexpr std::string_view kBackwardSizes = R"(
constexpr int kHead = {head}, kColumns = {columns}, kChunks = {chunks};
constexpr int kQueries = {queries}, kKeys = {keys}, kStages = {stages}, kConsumers = {consumers};
constexpr int kThreads = 128 * (kConsumers + 1), kBlocks = 1;
constexpr int kQueryBytes = kQueries * 128 * kChunks, kKeyBytes = kKeys * 128 * kChunks;
constexpr int kProducerRegisters = {producer_registers}, kConsumerRegisters = {consumer_registers};
// A consumer multiplies dQ's own 64 rows, or where there are 64 in all its own columns.
constexpr bool kByColumns = kQueries == 64;
// Weights come with the factor of those that are kept, and delta over it.
constexpr float kFactor = kHasFactor ? kKeptFactor : 1.0f, kFactorLog2 = {factor_log2:a}f;
constexpr bool kEarlyProducts = {early_products};
constexpr int kSumColumns = {sum_columns}, kSumBytes = 128 * kConsumers * kSumColumns * 2;
)";

/// Registers per thread: the share of a multiprocessor's 64 K that is left for two consumers. Kernels of
/// narrow heads need fewer; the others go to the warps that look for tiles.
struct BackwardRegisters {
  int producer, consumer;
};
constexpr BackwardRegisters kNarrow = {56, 224}, kWide = {40, 232};

struct BackwardSizes {
  int columns, chunks, sum_columns;
};
BackwardSizes backward_sizes(const WgmmaAttention& attention) {
  const int columns = (attention.head_size + 15) / 16 * 16, chunks = (attention.head_size + 63) / 64;
  return {columns, chunks, attention.tiles.queries == 64 ? 32 * chunks : columns};
}

std::string backward_prelude(const WgmmaAttention& attention) {
  const auto [columns, chunks, sum_columns] = backward_sizes(attention);
  const WgmmaTiles& tiles = attention.tiles;
  const BackwardRegisters registers = attention.head_size <= 64 ? kNarrow : kWide;
  const float factor = attention.hooks.kept ? static_cast<float>(attention.hooks.kept->factor) : 1.0f;
  return wgmma_prelude(
      attention,
      fmt::format(kBackwardSizes, fmt::arg("head", attention.head_size), fmt::arg("columns", columns),
                  fmt::arg("chunks", chunks), fmt::arg("queries", tiles.queries),
                  fmt::arg("keys", tiles.keys), fmt::arg("stages", tiles.stages),
                  fmt::arg("consumers", tiles.consumers), fmt::arg("producer_registers", registers.producer),
                  fmt::arg("consumer_registers", registers.consumer), fmt::arg("sum_columns", sum_columns),
                  fmt::arg("early_products", tiles.early_products),
                  fmt::arg("factor_log2", std::log2(factor))));
}

}  // namespace

std::optional<WgmmaTiles> backward_wgmma_tiles(int head_size, const AttentionHooks& hooks) {
  if (!wgmma_takes(head_size, hooks) || head_size > 128) return std::nullopt;
  return WgmmaTiles{.queries = head_size <= 64 ? 128 : 64,
                    .keys = 128,
                    .early_products = hooks.plain_when_unmasked || head_size <= 64};
}

std::optional<WgmmaTiles> lighter_backward_wgmma_tiles(WgmmaTiles tiles) {
  if (!tiles.early_products) return std::nullopt;
  tiles.early_products = false;
  return tiles;
}

WgmmaKernelText attention_backward_wgmma(const WgmmaAttention& attention) {
  const auto [columns, chunks, sum_columns] = backward_sizes(attention);
  const WgmmaTiles& tiles = attention.tiles;
  WgmmaKernelText kernel;
  kernel.threads = 128 * (tiles.consumers + 1);
  kernel.sum_floats = 128 * tiles.consumers * sum_columns / 2;
  kernel.shared_bytes = kAlignmentBytes + 2 * tiles.keys * 128 * chunks +
                        2 * tiles.stages * tiles.queries * 128 * chunks + 2 * tiles.keys * tiles.queries * 2 +
                        2 * 128 * tiles.consumers * sum_columns * 2 + tiles.stages * tiles.queries * 8 +
                        kBackwardBarriers;
  kernel.text = backward_prelude(attention);
  for (const WgmmaShape& shape :
       {WgmmaShape{.name = "scores", .columns = 64},
        WgmmaShape{.name = "values", .columns = columns, .a_in_registers = true, .b_transposed = true},
        WgmmaShape{.name = "keys", .columns = columns, .b_transposed = true},
        WgmmaShape{.name = "sums", .columns = sum_columns, .a_transposed = true, .b_transposed = true}})
    kernel.text += wgmma_functions(shape, attention.dtype);
  kernel.text.append(device::kAttentionWgmmaBackwardTiles)
      .append(device::kAttentionWgmmaGradients)
      .append(device::kAttentionWgmmaOrder)
      .append(device::kAttentionWgmmaBackward);
  return kernel;
}

WgmmaKernelText attention_query_gradient_wgmma(const WgmmaAttention& attention) {
  return {backward_prelude(attention).append(device::kAttentionWgmmaQueryGradient),
          128 * attention.tiles.consumers, 0};
}

}  // namespace smelt

#include <fmt/format.h>

#include "codegen/cuda/attention/attention_wgmma.h"
#include "codegen/cuda/attention/wgmma_body.h"
#include "codegen/cuda/device_text.h"

namespace smelt {
namespace {

constexpr int kForwardBarriers = 256;  // bytes: barriers, and what is told beside them

constexpr std::string_view kForwardSizes = R"(
constexpr int kHead = {head}, kColumns = {columns}, kChunks = {chunks};
constexpr int kQueries = {queries}, kKeys = {keys}, kStages = {stages}, kConsumers = {consumers};
constexpr int kQueryStages = {query_stages}, kThreads = 128 * (kConsumers + 1), kBlocks = {blocks};
constexpr bool kTakesTurns = {takes_turns}, kHasRest = {has_rest};
constexpr int kQueryBytes = kQueries * 128 * kChunks, kKeyBytes = kKeys * 128 * kChunks;
constexpr int kProducerRegisters = {producer_registers}, kConsumerRegisters = {consumer_registers};
)";

struct WgmmaRegisters {
  int producer, consumer;
};
/// Registers per thread, by the number of consumers: shares of a multiprocessor's 64 K.
constexpr WgmmaRegisters kForwardRegisters[] = {{}, {56, 240}, {40, 232}, {32, 160}};

}  // namespace

std::optional<WgmmaTiles> forward_wgmma_tiles(int head_size, const AttentionHooks& hooks) {
  const bool draws = hooks.draws > 0;
  if (!wgmma_takes(head_size, hooks)) return std::nullopt;
  if (head_size <= 64)
    return WgmmaTiles{.queries = 128, .keys = 128, .stages = 3, .query_stages = 2, .takes_turns = draws};
  if (head_size <= 128) return WgmmaTiles{.queries = 128, .keys = 128, .query_stages = draws ? 1 : 2};
  return WgmmaTiles{.queries = 128, .keys = head_size <= 192 ? 96 : 80};
}

WgmmaKernelText attention_forward_wgmma(const WgmmaAttention& attention) {
  const WgmmaTiles& tiles = attention.tiles;
  const int columns = (attention.head_size + 15) / 16 * 16, chunks = (attention.head_size + 63) / 64;
  const int blocks = tiles.consumers > 1 ? 1 : 2;
  const WgmmaRegisters registers = kForwardRegisters[tiles.consumers];
  const std::string sizes = fmt::format(
      kForwardSizes, fmt::arg("head", attention.head_size), fmt::arg("columns", columns),
      fmt::arg("chunks", chunks), fmt::arg("queries", tiles.queries), fmt::arg("keys", tiles.keys),
      fmt::arg("stages", tiles.stages), fmt::arg("consumers", tiles.consumers),
      fmt::arg("query_stages", tiles.query_stages),
      fmt::arg("takes_turns", tiles.takes_turns && tiles.consumers > 1), fmt::arg("blocks", blocks),
      fmt::arg("has_rest", attention.has_rest), fmt::arg("producer_registers", registers.producer),
      fmt::arg("consumer_registers", registers.consumer));
  WgmmaKernelText kernel;
  kernel.threads = 128 * (tiles.consumers + 1);
  kernel.blocks_each = blocks;
  kernel.shared_bytes = kAlignmentBytes +
                        (tiles.query_stages * tiles.queries + 2 * tiles.stages * tiles.keys) * 128 * chunks +
                        kForwardBarriers;
  kernel.text =
      wgmma_prelude(attention, sizes) +
      wgmma_functions({.name = "scores", .columns = tiles.keys}, attention.dtype) +
      wgmma_functions({.name = "outputs", .columns = columns, .a_in_registers = true, .b_transposed = true},
                      attention.dtype);
  kernel.text.append(device::kAttentionWgmmaWeights)
      .append(device::kAttentionWgmmaForwardTiles)
      .append(device::kAttentionWgmmaForward);
  return kernel;
}

}  // namespace smelt

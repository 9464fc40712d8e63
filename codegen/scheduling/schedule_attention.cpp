// Templates, tiles, widths of accesses and shared memory of the kernels of attention.
#include <algorithm>
#include <map>
#include <set>

#include "codegen/cuda/attention/attention_mma.h"
#include "codegen/cuda/attention/decode_parts.h"
#include "codegen/cuda/attention/emit_attention.h"
#include "codegen/cuda/attention/wgmma_kernel.h"
#include "codegen/kernel_passes/kernel_indices.h"
#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/scheduling/schedule_kernels.h"

namespace smelt {
namespace {

void set_threads(Kernel& kernel, int threads) {
  Schedule schedule;
  schedule.vector_width = schedule.team = 1;
  schedule.threads = threads, schedule.index32 = kernel.schedule.index32;
  kernel.schedule = schedule;
}

void take_mma(Kernel& kernel) {
  AttentionKernel& attention = *kernel.attention;
  const auto& tiles = std::get<AttentionTiles>(attention.tiles);
  attention.shared_bytes =
      attention_mma_shared_bytes(attention.part, attention.width, tiles, attention.part_keys);
  attention.most_blocks = 0;
  set_threads(kernel, 32 * tiles.warps);
}

void take_wgmma(Kernel& kernel) {
  AttentionKernel& attention = *kernel.attention;
  const WgmmaKernelText text = wgmma_text(kernel, hook_facts(kernel, HookUse::wgmma));
  attention.shared_bytes = text.shared_bytes;
  const bool has_items = attention.part != AttentionPart::query_gradients;
  attention.most_blocks = has_items ? attention.multiprocessors * text.blocks_each : 0;
  set_threads(kernel, text.threads);
}

void take_few(Kernel& kernel) {
  AttentionKernel& attention = *kernel.attention;
  attention.shared_bytes = attention.part_keys > 0 ? few_part_shared_bytes(attention, *attention.few()) : 0;
  attention.most_blocks = 0;
  set_threads(kernel, 32 * kFewWarps);
}

/// Adds tiles for wgmma. Both kernels of gradients keep the same sizes, whichever gets lighter tiles.
void add_wgmma_tiles(Kernel& kernel) {
  AttentionKernel& attention = *kernel.attention;
  const std::optional<WgmmaTiles> tiles = wgmma_tiles(kernel);
  if (!tiles) return;
  attention.lighter.emplace_back(*tiles);
  if (attention.part != AttentionPart::key_gradients) return;
  if (const auto lighter = lighter_backward_wgmma_tiles(*tiles)) attention.lighter.emplace_back(*lighter);
}

/// Tiles of the templates that lowering allows.
void add_tiles(Kernel& kernel, const Symbols& symbols, const Target& target) {
  AttentionKernel& attention = *kernel.attention;
  if (const FewTiles* few = attention.few()) {
    for (const FewTiles& tiles : lighter_few_tiles(*few, kernel)) attention.lighter.emplace_back(tiles);
    return;
  }
  const Dim& rows = attention.part == AttentionPart::key_gradients ? attention.keys : attention.queries;
  if (attention.has_wgmma) add_wgmma_tiles(kernel);
  for (const AttentionTiles& tiles : mma_tiles(attention.part, attention.width, target.compute_capability,
                                               symbols.upper(rows), attention.part_keys))
    if (tiles.rows() >= attention.least_rows && tiles.rows() <= attention.most_rows)
      attention.lighter.emplace_back(tiles);
}

}  // namespace

void schedule_attention(Kernel& kernel, const Symbols& symbols, const Target& target) {
  AttentionKernel& attention = *kernel.attention;
  attention.lighter.clear();
  attention.vector = static_cast<int>(attention_access_width(kernel));
  add_tiles(kernel, symbols, target);
  attention.multiprocessors = target.device.multiprocessors;
  kernel.schedule.index32 = has_32_bit_accesses(kernel, symbols);
  take_lighter_tiles(kernel);
  order_comparisons(kernel);
  choose_fast_forms(kernel);
}

bool take_lighter_tiles(Kernel& kernel) {
  AttentionKernel& attention = *kernel.attention;
  if (attention.lighter.empty()) return false;
  attention.tiles = attention.lighter.front();
  attention.lighter.erase(attention.lighter.begin());
  attention.wgmma() ? take_wgmma(kernel) : attention.few() ? take_few(kernel) : take_mma(kernel);
  return true;
}

std::vector<size_t> leave_shared_templates(Program& program) {
  std::set<size_t> changed;
  for (bool again = true; again;) {
    again = false;
    std::map<int, std::set<size_t>> sharing;  // kernels by the buffer that they share
    for (const PlanEntry& entry : program.entries)
      for (const Step& step : entry.steps) {
        const auto* launch = std::get_if<KernelStep>(&step.what);
        if (!launch) continue;
        const auto number = static_cast<size_t>(launch->kernel);
        const auto& attention = program.kernels[number].attention;
        if (attention && attention->counters >= 0)
          sharing[launch->arguments[static_cast<size_t>(attention->counters)].buffer].insert(number);
      }
    for (const auto& [buffer, kernels] : sharing) {
      const auto has_left = [&](size_t i) { return !program.kernels[i].attention->wgmma(); };
      if (std::ranges::none_of(kernels, has_left)) continue;
      for (const size_t i : kernels)
        if (!has_left(i)) again |= take_lighter_tiles(program.kernels[i]), changed.insert(i);
    }
  }
  return {changed.begin(), changed.end()};
}

}  // namespace smelt

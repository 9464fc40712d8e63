// Alternatives of attention's kernels: tiles of several sizes, and templates for sm_90a.
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/cuda/attention/wgmma_kernel.h"
#include "codegen/lowering/template_lowering.h"
#include "llvm/ADT/SmallVector.h"

namespace smelt {
namespace {

/// The first kernel also adds up dq, which the second only rounds.
void share_sums(ProgramBuilder& builder, const Node& node, TemplateLowering& keys,
                TemplateLowering& queries) {
  const WgmmaShared shared = wgmma_shared(keys.form());
  const int sums = builder.add_buffer(node.source + " (dq)", Role::workspace, DType::f32, shared.query_sums);
  const int counters =
      builder.add_buffer(node.source + " (order)", Role::workspace, DType::i32, shared.counters);
  builder.fill(counters, 0, shared.counters, 0);
  keys.allow_wgmma(sums, counters), queries.allow_wgmma(sums, counters);
}

/// Kernels that do one piece of work together, all there but for what decides on their templates.
using Kernels = llvm::MutableArrayRef<TemplateLowering>;

void finish_all(Kernels kernels) {
  for (TemplateLowering& kernel : kernels) kernel.finish();
}

/// The kernels for sm_90a, of which gradients share sums.
void allow_wgmma(ProgramBuilder& builder, const Node& node, Kernels kernels) {
  kernels.size() == 2 ? share_sums(builder, node, kernels[0], kernels[1]) : kernels[0].allow_wgmma();
}

/// "mma of 64 and 128 rows"
std::string name_of(llvm::ArrayRef<AttentionTileRows> rows) {
  std::vector<int> most;
  for (const AttentionTileRows& each : rows) most.push_back(each.most);
  return fmt::format("mma of {} rows", fmt::join(most, " and "));
}

/// An alternative for each size of tiles; of a kernel that has fewer sizes the last one stands for the rest.
void add_tile_rows(ProgramBuilder& builder, Kernels kernels) {
  size_t sizes = 0;
  for (const TemplateLowering& kernel : kernels) sizes = std::max(sizes, kernel.tile_rows().size());
  for (size_t i = 0; i < sizes; ++i) {
    llvm::SmallVector<TemplateLowering, 2> ways(kernels.begin(), kernels.end());
    llvm::SmallVector<AttentionTileRows, 2> rows;
    for (TemplateLowering& way : ways) {
      const std::vector<AttentionTileRows> own = way.tile_rows();
      rows.push_back(own[std::min(i, own.size() - 1)]);
      way.take_rows(rows.back());
    }
    builder.begin_alternative(name_of(rows));
    finish_all(ways);
  }
}

}  // namespace

void finish_attention(ProgramBuilder& builder, const Node& node, Kernels kernels) {
  const bool takes_wgmma =
      llvm::all_of(kernels, [](TemplateLowering& kernel) { return kernel.takes_wgmma(); });
  if (builder.target().attention != AttentionTemplates::measured) {
    for (TemplateLowering& kernel : kernels) kernel.take_rows({0, kernel.tile_rows().front().most});
    if (takes_wgmma) allow_wgmma(builder, node, kernels);
    return finish_all(kernels);
  }
  builder.begin_choice();
  add_tile_rows(builder, kernels);
  if (takes_wgmma) {
    builder.begin_alternative("wgmma");
    for (TemplateLowering& kernel : kernels) kernel.take_rows({0, 0});
    allow_wgmma(builder, node, kernels);
    finish_all(kernels);
  }
  builder.end_choice();
}

}  // namespace smelt

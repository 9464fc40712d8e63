// Alternatives of attention's kernels: tiles of several sizes, and templates for sm_90a.
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/cuda/attention/wgmma_kernel.h"
#include "codegen/lowering/template_lowering.h"
#include "ir/analysis/attention_form.h"
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

/// Adds a variant for each size of tiles; a kernel with fewer sizes uses its last one for the others.
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

bool all_take_wgmma(Kernels kernels) {
  return llvm::all_of(kernels, [](TemplateLowering& kernel) { return kernel.takes_wgmma(); });
}

void add_wgmma(ProgramBuilder& builder, const Node& node, Kernels kernels) {
  if (!all_take_wgmma(kernels)) return;
  llvm::SmallVector<TemplateLowering, 2> ways(kernels.begin(), kernels.end());
  builder.begin_alternative("wgmma");
  for (TemplateLowering& way : ways) way.take_rows({0, 0});
  allow_wgmma(builder, node, ways);
  finish_all(ways);
}

/// One block for all keys of some rows: what there is for many queries in f32.
void add_rows(ProgramBuilder& builder, TemplateLowering kernel) {
  builder.begin_alternative("rows");
  kernel.take_few(0, /*alone=*/true);
  kernel.finish();
}

/// Blocks that keep a GPU busy by themselves; fewer have others that share their keys.
constexpr int64_t kEnoughBlocks = 160;

/// Few queries in any case.
void finish_few(ProgramBuilder& builder, TemplateLowering& kernel, int64_t queries) {
  const Dim blocks = kernel.few_blocks();
  if (builder.symbols().upper(blocks) < kEnoughBlocks) {
    kernel.take_few(queries, /*alone=*/false);
    return kernel.finish();
  }
  builder.begin_choice();
  TemplateLowering alone = kernel;
  builder.begin_alternative("a block for a row's keys");
  alone.take_few(queries, /*alone=*/true);
  alone.finish();
  builder.begin_alternative("blocks share a row's keys");
  builder.take_last_where({blocks, kEnoughBlocks});
  kernel.take_few(queries, /*alone=*/false);
  kernel.finish();
  builder.end_choice();
}

/// Adds the variants of a kernel. If there may be many queries, the sizes at run time decide.
void finish_few(ProgramBuilder& builder, const Node& node, TemplateLowering& kernel) {
  const Value& q = *node.operand(0);
  const int64_t most = most_decode_queries(node), queries = builder.symbols().upper(q.shape()[1]);
  if (queries <= most) return finish_few(builder, kernel, queries);
  builder.begin_choice();
  if (q.dtype() == DType::f32) {
    add_rows(builder, kernel);
  } else {
    add_tile_rows(builder, kernel);
    add_wgmma(builder, node, kernel);
  }
  builder.begin_alternative("few queries");
  builder.take_last_where({q.shape()[1], most + 1});
  kernel.take_few(most, /*alone=*/false);
  kernel.finish();
  builder.end_choice();
}

}  // namespace

void finish_attention(ProgramBuilder& builder, const Node& node, Kernels kernels) {
  const bool measures = builder.target().attention == AttentionTemplates::measured;
  if (may_be_decode_attention(node) && (measures || node.operand(0)->dtype() == DType::f32) &&
      kernels[0].takes_few())
    return finish_few(builder, node, kernels[0]);
  if (!measures) {
    for (TemplateLowering& kernel : kernels) kernel.take_rows({0, kernel.tile_rows().front().most});
    if (all_take_wgmma(kernels)) allow_wgmma(builder, node, kernels);
    return finish_all(kernels);
  }
  builder.begin_choice();
  add_tile_rows(builder, kernels);
  add_wgmma(builder, node, kernels);
  builder.end_choice();
}

}  // namespace smelt

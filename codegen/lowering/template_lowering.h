// A kernel of an attention for a GPU, under construction, and what kernels of one piece of work become
// together.
#pragma once

#include <vector>

#include "codegen/cuda/attention/attention_mma.h"
#include "codegen/lowering/attention_lowering.h"
#include "codegen/lowering/fusion_kernel.h"

namespace smelt {

/// What the body is handed and what it returns are the template's.
class TemplateLowering : public AttentionLowering {
 public:
  using AttentionLowering::AttentionLowering;

  /// Lowers the body, of whose outputs `outputs` are wanted; `handed` says which of its values the template
  /// gives, by their slots.
  void add_body(llvm::ArrayRef<const Value*> outputs, llvm::ArrayRef<const Value*> handed);

  /// Whether templates for sm_90a take it; all but what gradients share is there.
  bool takes_wgmma();
  /// The template for few queries (few_queries.h) of up to so many, 0: of any number. `alone`: no blocks
  /// share a row's keys.
  void take_few(int64_t queries, bool alone);
  /// Blocks of the template for few queries, where none share a row's keys.
  Dim few_blocks() const;
  /// Sizes of the tiles that the templates for every architecture have for it.
  std::vector<AttentionTileRows> tile_rows() const;
  void take_rows(AttentionTileRows rows) { form_.least_rows = rows.least, form_.most_rows = rows.most; }
  void allow_wgmma() { form_.has_wgmma = true; }
  /// Of gradients, in buffers with these numbers.
  void allow_wgmma(int query_sums, int counters);

 private:
  void take_body(const FusionKernel& fusion, const RandomDraws& draws);
  void leave_scores();
  void place(llvm::ArrayRef<int> order);
  void take_params(const FusionKernel& fusion, std::vector<int>& numbers);
};

/// Appends the steps of kernels that do one piece of work together, all there but for what decides on their
/// templates. All that the target may have are alternatives; asked for one kind of template, the kernels have
/// that, or that of every architecture where it does not take them.
void finish_attention(ProgramBuilder& builder, const Node& node,
                      llvm::MutableArrayRef<TemplateLowering> kernels);

}  // namespace smelt

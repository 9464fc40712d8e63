// A kernel of an attention for a GPU, under construction, and what kernels of one piece of work become
// together.
#pragma once

#include <vector>

#include "codegen/cuda/attention/attention_mma.h"
#include "codegen/lowering/attention_lowering.h"
#include "codegen/lowering/fusion_kernel.h"

namespace smelt {

/// The lowering of an attention to a template. The template gives the block arguments of the body and takes
/// its results.
class TemplateLowering : public AttentionLowering {
 public:
  using AttentionLowering::AttentionLowering;

  /// Lowers the body for `outputs`; `handed` are the values that the template gives as block arguments, by
  /// slot.
  void add_body(llvm::ArrayRef<const Value*> outputs, llvm::ArrayRef<const Value*> handed);

  /// Returns whether templates for sm_90a take it. Requires: the lowering is complete except for the buffers
  /// that gradients share.
  bool takes_wgmma();
  /// Takes the decode-attention template (decode_attention.h) for at most `queries` queries, 0: for any
  /// number. `alone`: no blocks share a row's keys.
  void take_few(int64_t queries, bool alone);
  /// Blocks of the template for few queries, where none share a row's keys.
  Dim few_blocks() const;
  /// Sizes of the tiles that the templates for every architecture have for it.
  std::vector<AttentionTileRows> tile_rows() const;
  void take_rows(AttentionTileRows rows) { form_.least_rows = rows.least, form_.most_rows = rows.most; }
  void allow_wgmma() { form_.has_wgmma = true; }
  /// Allows wgmma for gradients, in buffers with these numbers.
  void allow_wgmma(int query_sums, int counters);

 private:
  void take_body(const FusionKernel& fusion, const RandomDraws& draws);
  void leave_scores();
  void place(llvm::ArrayRef<int> order);
  void take_params(const FusionKernel& fusion, std::vector<int>& numbers);
};

/// Appends the steps of kernels that together compute one node. Requires: the kernels are complete except for
/// the choice of templates. All templates that the target may have become variants. If the target asks for
/// one kind of template, the kernels use it, or the template of every architecture where it does not take
/// them.
void finish_attention(ProgramBuilder& builder, const Node& node,
                      llvm::MutableArrayRef<TemplateLowering> kernels);

}  // namespace smelt

// TemplateLowering: lowers a part of an attention node (forward, or a part of its gradient) to a GPU kernel
// that is written by hand, a template. The node's body is the function that the graph gives for each
// attention score (score_mod); a template calls the body's code.
#pragma once

#include <vector>

#include "codegen/cuda/attention/attention_mma.h"
#include "codegen/lowering/attention_lowering.h"
#include "codegen/lowering/fusion_kernel.h"

namespace smelt {

/// Attention kernel under construction. Its template computes the block arguments of the body (the score, for
/// example) and uses the values that the body returns.
class TemplateLowering : public AttentionLowering {
 public:
  using AttentionLowering::AttentionLowering;

  /// Lowers the nodes of the body that compute `outputs`. `handed`: the block arguments of the body, which
  /// the template computes, by slot.
  void add_body(llvm::ArrayRef<const Value*> outputs, llvm::ArrayRef<const Value*> handed);

  /// Returns whether the target may use the templates for sm_90a (wgmma), and the templates support the
  /// kernel. Requires: the lowering is complete except for the buffers that gradients share.
  bool takes_wgmma();
  /// Returns whether the decode-attention template supports the kernel.
  bool takes_few() const;
  /// Selects the decode-attention template (decode_attention.h) for at most `queries` queries, or for any
  /// number of queries if `queries` is 0. `alone`: each block reads all keys of its rows; else several blocks
  /// may share them.
  void take_few(int64_t queries, bool alone);
  /// Returns the number of thread blocks that the decode-attention template has if each block reads all keys
  /// of its rows.
  Dim few_blocks() const;
  /// Returns the ranges of rows per tile that this kernel can be restricted to if it uses the mma template,
  /// which is the template for all architectures (mma_tile_rows in attention_mma.h).
  std::vector<AttentionTileRows> tile_rows() const;
  /// Restricts the mma template to tiles whose number of rows is in the range `rows`.
  void take_rows(AttentionTileRows rows) { form_.least_rows = rows.least, form_.most_rows = rows.most; }
  /// Allows the wgmma template for a kernel of the forward pass.
  void allow_wgmma() { form_.has_wgmma = true; }
  /// Allows wgmma for a kernel of the gradient. The arguments are the numbers of the buffers that the kernels
  /// of the gradient share: f32 sums of dq, and i32 counters.
  void allow_wgmma(int query_sums, int counters);

 private:
  void take_body(const FusionKernel& fusion, const RandomDraws& draws);
  void leave_scores();
  void place(llvm::ArrayRef<int> order);
  void take_params(const FusionKernel& fusion, std::vector<int>& numbers);
};

/// Appends the steps of kernels that together compute one node. If Target::attention is `measured`, each
/// template that supports the kernels becomes a variant. Otherwise the kernels use wgmma if the target allows
/// it and all of them support it, else mma. In both cases, f32 nodes that may be decode attention
/// (ir/analysis/attention_form.h) use the decode-attention template. Requires: the kernels are complete
/// except for the choice of templates.
void finish_attention(ProgramBuilder& builder, const Node& node,
                      llvm::MutableArrayRef<TemplateLowering> kernels);

}  // namespace smelt

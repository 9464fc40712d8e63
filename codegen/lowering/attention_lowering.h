// A kernel of an attention node under construction, and what kernels of one piece of work become together.
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/attention/attention_mma.h"
#include "codegen/cuda/attention/wgmma_kernel.h"
#include "codegen/lowering/fusion_kernel.h"
#include "codegen/lowering/program_builder.h"
#include "ir/analysis/view.h"
#include "ir/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/error.h"

namespace smelt {

/// One kernel of an attention node under construction.
class AttentionLowering {
 public:
  AttentionLowering(ProgramBuilder& builder, const Node& node) : builder_(builder), node_(node) {
    const Shape &q = node.operand(0)->shape(), &k = node.operand(1)->shape();
    kernel_.name = "attention";
    form_.scale = node.float_attr("scale");
    form_.width = *q[3].constant();
    form_.batch = q[0], form_.heads = q[2], form_.key_heads = k[2];
    form_.queries = q[1], form_.keys = k[1];
  }

  AttentionKernel& form() { return form_; }

  // ---- parameters, in the order in which the template has them

  void add_heads(const Value& value, bool of_keys, bool written) {
    const auto& strides = value.layout->strides;
    form_.matrices.push_back({add(value, written), of_keys, strides[0], strides[1], strides[2]});
  }
  /// f32[batch, heads, queries], compact: what is not is copied.
  void add_rows(const Value& value, bool written) {
    const Layout dense{value.layout->buffer, value.layout->offset, dense_strides(value.shape())};
    if (*value.layout == dense) return form_.rows.push_back(add(value, written));
    if (written) fail_with(Status::internal, "{}: its rows are not compact", node_.describe());
    const int copy =
        builder_.add_buffer(node_.source, Role::temporary, value.dtype(), element_count(value.shape()));
    builder_.copy(*value.layout, {copy, 0, dense.strides}, value.shape(), value);
    form_.rows.push_back(add(value, {copy, 0}, written));
  }
  void add_sums(const Value& value) { form_.sums.push_back(add(value, true)); }

  /// Lowers the body, of whose outputs `outputs` are wanted; `handed` says which of its inputs the template
  /// gives, by their slots.
  void add_body(llvm::ArrayRef<const Value*> outputs, llvm::ArrayRef<const Value*> handed);

  /// Whether templates for sm_90a take it; all but what gradients share is there.
  bool takes_wgmma() {
    const Target& target = builder_.target();
    if (target.compute_capability != kWgmmaCapability || target.attention == AttentionTemplates::mma)
      return false;
    kernel_.attention = form_;
    return wgmma_tiles(kernel_).has_value();
  }
  /// Sizes of the tiles that the templates for every architecture have for it.
  std::vector<AttentionTileRows> tile_rows() const {
    const Dim& rows = form_.part == AttentionPart::key_gradients ? form_.keys : form_.queries;
    return mma_tile_rows(form_.part, form_.width, builder_.target().compute_capability,
                         builder_.symbols().upper(rows));
  }
  void take_rows(AttentionTileRows rows) { form_.least_rows = rows.least, form_.most_rows = rows.most; }
  void allow_wgmma() { form_.has_wgmma = true; }
  /// Of gradients, in buffers with these numbers.
  void allow_wgmma(int query_sums, int counters) {
    allow_wgmma();
    const bool makes = form_.part == AttentionPart::key_gradients;
    form_.query_sums = add(DType::f32, {query_sums, 0}, !makes, makes);
    form_.counters = add(DType::i32, {counters, 0}, true, true);
  }

  void finish() {
    std::vector<int> reads, writes;
    const auto note = [](std::vector<int>& list, int buffer) {
      if (!llvm::is_contained(list, buffer)) list.push_back(buffer);
    };
    for (auto [param, argument] : llvm::zip(kernel_.params, arguments_)) {
      if (param.input) note(reads, argument.buffer);
      if (param.output) note(writes, argument.buffer);
    }
    kernel_.attention = std::move(form_);
    KernelStep step{.kernel = builder_.add_kernel(std::move(kernel_), arguments_),
                    .arguments = arguments_,
                    .random_ids = random_ids_};
    builder_.add_step(std::move(step), std::move(reads), std::move(writes));
  }

 private:
  int add(const Value& value, bool written) {
    return add(value, {value.layout->buffer, value.layout->offset}, written);
  }
  int add(const Value& value, BufferRef place, bool written) {
    return add(value.dtype(), std::move(place), !written, written);
  }
  int add(DType dtype, BufferRef place, bool read, bool written) {
    const auto param = static_cast<int>(arguments_.size());
    kernel_.params.push_back({.name = fmt::format("{}{}", written ? 'y' : 'x', param),
                              .dtype = dtype,
                              .output = written,
                              .input = read,
                              .alignment = builder_.alignment(place)});
    arguments_.push_back(std::move(place));
    return param;
  }

  void take_body(const FusionKernel& fusion, std::vector<uint32_t> ids);
  void leave_scores();
  void place(llvm::ArrayRef<int> order);
  void take_params(const FusionKernel& fusion, std::vector<int>& numbers);

  ProgramBuilder& builder_;
  const Node& node_;
  AttentionKernel form_;
  Kernel kernel_;
  std::vector<BufferRef> arguments_;
  std::vector<uint32_t> random_ids_;
};

/// Appends the steps of kernels that do one piece of work together, all there but for what decides on their
/// templates. All that the target may have are alternatives; asked for one kind of template, the kernels have
/// that, or that of every architecture where it does not take them.
void finish_attention(ProgramBuilder& builder, const Node& node,
                      llvm::MutableArrayRef<AttentionLowering> kernels);

}  // namespace smelt

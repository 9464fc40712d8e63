#include "codegen/lowering/attention_lowering.h"

#include "ir/analysis/attention_form.h"
#include "ir/analysis/view.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {

AttentionLowering::AttentionLowering(ProgramBuilder& builder, const Node& node, AttentionPart part)
    : builder_(builder), node_(node) {
  const Shape &q = node.operand(0)->shape(), &k = node.operand(1)->shape();
  kernel_.name = "attention";
  form_.part = part;
  form_.scale = node.get(attr::scale);
  form_.width = *q[3].constant();
  form_.batch = q[0], form_.heads = q[2], form_.key_heads = k[2];
  form_.queries = q[1], form_.keys = k[1];
}

void AttentionLowering::add_heads(const Value& value, bool of_keys, bool written) {
  std::vector<Dim> strides = value.layout->strides;
  BufferRef place{value.layout->buffer, value.layout->offset};
  if (!strides[3].is_one() && form_.width > 1) {
    if (written) fail_with(Status::internal, "{}: its heads are not rows", node_.describe());
    place = {dense_copy(value), 0}, strides = dense_strides(value.shape());
  }
  form_.matrices.push_back(
      {add(value, std::move(place), written), of_keys, strides[0], strides[1], strides[2]});
}

void AttentionLowering::add_keys_and_values() {
  for (const unsigned i : {1, 2}) {
    const Node& made_by = *node_.operand(i)->node();
    if (!made_by.is(Op::gather)) {
      add_heads(*node_.operand(i), true, false);
      continue;
    }
    if (!made_by.operand(0)->layout->strides[2].is_one() && form_.width > 1)
      fail_with(Status::internal, "{}: the heads of its table are not rows", node_.describe());
    form_.matrices.push_back(rows_of_table(made_by));
  }
}

void AttentionLowering::add_scales() {
  if (!reads_codes(node_)) return;
  for (const unsigned i : {3, 4}) {
    const Value& scales = *node_.operand(i);
    const std::vector<Dim>& strides = scales.layout->strides;
    form_.scales.push_back(
        scales.node()->is(Op::gather)
            ? rows_of_table(*scales.node())
            : AttentionSpec::Matrix{add(scales, false), true, strides[0], strides[1], strides[2]});
  }
}

AttentionSpec::Matrix AttentionLowering::rows_of_table(const Node& gather) {
  const Value& table = *gather.operand(0);
  const std::vector<Dim>& strides = table.layout->strides;
  return {add(table, false), true, 0, strides[0], strides[1]};
}

void AttentionLowering::add_places() {
  const Node& gather = *node_.operand(1)->node();
  if (!gather.is(Op::gather)) return;
  const Value& places = *gather.operand(1);
  form_.places = add(places, false);
  kernel_.params.back().indices = builder_.indices(places);
  form_.places_batch_stride = places.layout->strides[0], form_.places_stride = places.layout->strides[1];
  form_.table_rows = gather.operand(0)->shape()[0];
}

void AttentionLowering::add_rows(const Value& value, bool written) {
  const Layout dense{value.layout->buffer, value.layout->offset, dense_strides(value.shape())};
  if (*value.layout == dense) return form_.rows.push_back(add(value, written));
  if (written) fail_with(Status::internal, "{}: its rows are not compact", node_.describe());
  form_.rows.push_back(add(value, {dense_copy(value), 0}, written));
}

int AttentionLowering::dense_copy(const Value& value) {
  const int copy =
      builder_.add_buffer(node_.source, Role::temporary, value.dtype(), element_count(value.shape()));
  builder_.copy(*value.layout, {copy, 0, dense_strides(value.shape())}, value.shape(), value);
  return copy;
}

int AttentionLowering::add(DType dtype, BufferRef place, bool read, bool written) {
  const auto param = static_cast<int>(arguments_.size());
  kernel_.params.push_back({.name = fmt::format("{}{}", written ? 'y' : 'x', param),
                            .dtype = dtype,
                            .output = written,
                            .input = read,
                            .alignment = builder_.alignment(place)});
  arguments_.push_back(std::move(place));
  return param;
}

int AttentionLowering::add_argument(KernelParam param, BufferRef place) {
  const auto number = static_cast<int>(arguments_.size());
  param.name = fmt::format("x{}", number);
  kernel_.params.push_back(std::move(param));
  arguments_.push_back(std::move(place));
  return number;
}

void AttentionLowering::finish() {
  std::vector<int> reads, writes;
  const auto note = [](std::vector<int>& list, int buffer) {
    if (!llvm::is_contained(list, buffer)) list.push_back(buffer);
  };
  for (const auto& [i, argument] : llvm::enumerate(arguments_)) {
    if (kernel_.params[i].input) note(reads, argument.buffer);
    if (kernel_.params[i].output) note(writes, argument.buffer);
  }
  kernel_.attention = std::move(form_);
  KernelStep step{.kernel = builder_.add_kernel(std::move(kernel_), arguments_),
                  .arguments = arguments_,
                  .random_ids = {}};
  draws_.give_to(step);
  builder_.add_step(std::move(step), std::move(reads), std::move(writes));
}

}  // namespace smelt

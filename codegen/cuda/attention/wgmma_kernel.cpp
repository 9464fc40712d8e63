#include "codegen/cuda/attention/wgmma_kernel.h"

#include <algorithm>
#include <numeric>

#include "codegen/cuda/attention/emit_attention.h"
#include "codegen/cuda/attention/wgmma_body.h"
#include "runtime/base/dtype.h"

namespace smelt {
namespace {

constexpr int64_t kWidestAccess = 8, kWidestCodes = 16;
constexpr int64_t kRowElements = 64, kRowBytes = 128;       // of a box
constexpr int64_t kFewestQueries = 64, kMostQueries = 128;  // of a tile of gradients
constexpr int64_t kTickets = 2;

/// The largest power of two up to 8 that divides every multiple of a size known at launch.
int64_t common_width(const Dim& stride, int64_t width) {
  for (const Dim::Term& term : stride.terms()) width = std::gcd(width, term.coefficient);
  return width;
}

const KernelParam& param_of(const Kernel& kernel, const AttentionKernel::Matrix& matrix) {
  return kernel.params[static_cast<size_t>(matrix.param)];
}

/// Returns whether a matrix moves; a broadcast one does not.
bool moves(const AttentionKernel::Matrix& matrix) {
  const auto is_zero = [](const Dim* stride) { return stride->is_zero(); };
  return std::ranges::none_of(std::vector{&matrix.batch_stride, &matrix.place_stride, &matrix.head_stride},
                              is_zero);
}

/// Returns the largest number of elements, a divisor of `width`, that accesses to the matrix may have.
int64_t access_width(const Kernel& kernel, const AttentionKernel::Matrix& matrix, int64_t width) {
  const KernelParam& param = param_of(kernel, matrix);
  width = std::gcd(width, std::max<int64_t>(1, param.alignment / size_of(param.dtype)));
  for (const Dim& stride : {matrix.batch_stride, matrix.place_stride, matrix.head_stride})
    width = common_width(stride, width);
  return width;
}

}  // namespace

int64_t attention_access_width(const Kernel& kernel) {
  const AttentionKernel& attention = *kernel.attention;
  int64_t width = std::gcd(attention.width, kWidestAccess);
  for (const AttentionKernel::Matrix& matrix : attention.matrices)
    width = access_width(kernel, matrix, width);
  return width;
}

int64_t codes_access_bytes(const Kernel& kernel) {
  const AttentionKernel& attention = *kernel.attention;
  int64_t width = std::gcd(attention.width, kWidestCodes);
  for (const AttentionKernel::Matrix& matrix : attention.matrices)
    if (matrix.of_keys) width = access_width(kernel, matrix, width);
  return width;
}

std::optional<WgmmaTiles> wgmma_tiles(const Kernel& kernel) {
  const AttentionKernel& attention = *kernel.attention;
  if (attention.part == AttentionPart::element_gradient || attention.scale <= 0 ||
      !attention.scales.empty() || attention_access_width(kernel) != kWidestAccess ||
      !std::ranges::all_of(attention.matrices, moves) || !wgmma_takes_body(kernel))
    return std::nullopt;
  const AttentionHooks hooks = hook_facts(kernel, HookUse::wgmma);
  const auto width = static_cast<int>(attention.width);
  return attention.part == AttentionPart::forward ? forward_wgmma_tiles(width, hooks)
                                                  : backward_wgmma_tiles(width, hooks);
}

WgmmaKernelText wgmma_text(const Kernel& kernel, AttentionHooks hooks) {
  const AttentionKernel& form = *kernel.attention;
  const WgmmaAttention attention{.dtype = param_of(kernel, form.matrices[0]).dtype,
                                 .head_size = static_cast<int>(form.width),
                                 .tiles = *form.wgmma(),
                                 .hooks = std::move(hooks),
                                 .has_rest = form.has_rest()};
  if (form.part == AttentionPart::forward) return attention_forward_wgmma(attention);
  return form.part == AttentionPart::key_gradients ? attention_backward_wgmma(attention)
                                                   : attention_query_gradient_wgmma(attention);
}

std::vector<TensorMap> attention_maps(const Kernel& kernel) {
  const AttentionKernel& form = *kernel.attention;
  std::vector<TensorMap> maps;
  if (form.part == AttentionPart::query_gradients) return maps;
  for (const AttentionKernel::Matrix& matrix : form.matrices) {
    if (param_of(kernel, matrix).output) continue;
    const int64_t rows = matrix.of_keys ? form.wgmma()->keys : form.wgmma()->queries;
    maps.push_back({.parameter = matrix.param,
                    .extents = {form.width, matrix.of_keys ? form.keys : form.queries,
                                matrix.of_keys ? form.key_heads : form.heads, form.batch},
                    .strides = {matrix.place_stride, matrix.head_stride, matrix.batch_stride},
                    .box = {kRowElements, rows, 1, 1},
                    .swizzle_bytes = kRowBytes});
  }
  return maps;
}

WgmmaShared wgmma_shared(const AttentionKernel& attention) {
  const Dim heads = attention.batch * attention.heads;
  const int64_t columns = (attention.width + kRowElements - 1) / kRowElements * kRowElements;
  return {heads * round_up(attention.queries, kMostQueries) * columns,
          heads * ceil_div(attention.queries, kFewestQueries) + kTickets};
}

}  // namespace smelt

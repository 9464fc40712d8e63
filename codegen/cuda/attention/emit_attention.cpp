#include "codegen/cuda/attention/emit_attention.h"

#include <fmt/ranges.h>

#include "codegen/cuda/attention/attention_mma.h"
#include "codegen/cuda/attention/decode_attention.h"
#include "codegen/cuda/attention/wgmma_kernel.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/print_expression.h"
#include "codegen/gpu/lower/kernel_names.h"

namespace smelt {
namespace {

/// Arguments in the position of a result that a kernel does not have.
constexpr const char *kNoMatrix = "(Half*)nullptr", *kNoStrides = "0, 0, 0";

class AttentionText {
 public:
  explicit AttentionText(const Kernel& kernel)
      : kernel_(kernel),
        form_(*kernel.attention),
        names_(kernel),
        maps_(form_.wgmma() ? attention_maps(kernel).size() : 0) {}

  /// The kernel that the host launches.
  std::string kernel() const {
    std::string parameters;
    for (size_t i = 0; i < maps_; ++i)
      parameters += fmt::format("const __grid_constant__ TensorMap map{}, ", i);
    for (size_t i = 0; i < kernel_.params.size(); ++i)
      parameters += fmt::format("{}{}* {}, ", kernel_.params[i].output ? "" : "const ",
                                cuda_memory_type(kernel_.params[i].dtype), names_.params()[i]);
    parameters += "const unsigned* random";
    for (const std::string& dim : names_.dims()) parameters += fmt::format(", long long {}_", dim);
    for (int i = 0; i < kernel_.random_slots; ++i) parameters += fmt::format(", unsigned id{}", i);
    return fmt::format(
        "{}extern \"C\" __global__ {}void __launch_bounds__(kThreads, kBlocks) {}({}, long long range_) {{\n"
        "{}  const BodyArguments body = {{{}}};\n  attention({});\n}}\n",
        ticket_text(), cluster_text(), kernel_.name, parameters,
        kernel_.waits ? "  sm_allow_next_launch();\n  sm_wait_for_launches();\n" : "",
        body_arguments_text(kernel_), call_arguments());
  }

 private:
  std::string size(const Dim& dim) const { return print(names_.launched_dim(dim)); }
  std::string name_of(int param) const { return names_.params()[static_cast<size_t>(param)]; }

  /// Returns the pointer and the strides of `places`.
  std::string place_arguments() const {
    if (form_.places < 0) return "nullptr, 0, 0";
    return fmt::format("{}, {}, {}", name_of(form_.places), size(form_.places_batch_stride),
                       size(form_.places_stride));
  }

  /// Returns the scales of codes, each as an initializer of Scales.
  std::string scale_arguments() const {
    if (form_.scales.empty()) return "Scales{}, Scales{}";
    std::string text;
    for (const AttentionKernel::Matrix& scales : form_.scales)
      text += fmt::format("{}Scales{{{}, {}, {}, {}}}", text.empty() ? "" : ", ", name_of(scales.param),
                          size(scales.batch_stride), size(scales.place_stride), size(scales.head_stride));
    return text;
  }

  /// Returns the arguments in the order of attention_mma.h: input matrices, rows, output matrices, sizes,
  /// strides, the scale.
  std::string arguments() const {
    std::string text, written, strides;
    const auto append = [](std::string& list, const std::string& item) {
      list += (list.empty() ? "" : ", ") + item;
    };
    for (const AttentionKernel::Matrix& matrix : form_.matrices) {
      const bool output = kernel_.params[static_cast<size_t>(matrix.param)].output;
      const bool is_stored = matrix.of_keys && form_.part == AttentionPart::forward;
      append(output ? written : text, fmt::format("({}{}*){}", output ? "" : "const ",
                                                  is_stored ? "Stored" : "Half", name_of(matrix.param)));
      for (const Dim& stride : {matrix.batch_stride, matrix.place_stride, matrix.head_stride})
        append(strides, size(stride));
    }
    const bool is_forward = form_.part == AttentionPart::forward;
    if (is_forward && !form_.has_rest()) append(written, kNoMatrix), append(strides, kNoStrides);
    if (is_forward) append(strides, place_arguments());
    for (const int row : form_.rows) append(is_forward ? written : text, name_of(row));
    for (const int sum : form_.sums) append(written, name_of(sum));
    const std::string heads = size(form_.heads);
    return fmt::format("{}, {}, {}, {}, {} / {}, {}, {}, {}, {:a}f, body{}", text, written, size(form_.batch),
                       heads, heads, size(form_.key_heads), size(form_.queries), size(form_.keys), strides,
                       form_.scale, form_.scales.empty() ? "" : ", " + scale_arguments());
  }

  std::string call_arguments() const {
    return form_.wgmma() ? own_arguments() : form_.few() ? few_arguments() : arguments();
  }

  std::string cluster_text() const {
    if (!form_.few() || form_.few()->cluster == 1) return "";
    return fmt::format("__attribute__((cluster_dims({}, 1, 1))) ", form_.few()->cluster);
  }

  std::string ticket_text() const {
    const int count = has_tickets() ? 2 : form_.few() ? form_.few()->tickets : 0;
    if (count == 0) return "";
    return fmt::format("static __device__ unsigned tickets[{}];  // zero again at each end\n", count);
  }

  /// Returns the arguments in the order of decode_attention.h.
  std::string few_arguments() const {
    std::string text, strides;
    for (const AttentionKernel::Matrix& matrix : form_.matrices) {
      const bool output = kernel_.params[static_cast<size_t>(matrix.param)].output;
      const bool is_stored = matrix.of_keys && form_.part_keys == 0;
      text += fmt::format("({}{}*){}, ", output ? "" : "const ", is_stored ? "Stored" : "Element",
                          name_of(matrix.param));
      for (const Dim& stride : {matrix.batch_stride, matrix.place_stride, matrix.head_stride})
        strides += size(stride) + ", ";
    }
    const bool shares = form_.few()->tickets > 0;
    strides += place_arguments() + ", " + (form_.part_keys == 0 ? scale_arguments() + ", " : "");
    return fmt::format("{}{}, {}, {}, {}, {}{:a}f, body", text, name_of(static_cast<int>(form_.rows[0])),
                       shares ? name_of(form_.workspace) + ", tickets" : "nullptr, nullptr",
                       size(form_.queries), size(form_.keys), strides, form_.scale);
  }

  bool has_tickets() const { return form_.wgmma() && form_.part == AttentionPart::forward; }

  /// Returns the arguments in the order of attention_wgmma.h: maps, rows, outputs, buffers that gradients
  /// share, sizes, strides of the outputs, the scale.
  std::string own_arguments() const {
    std::vector<std::string> list, strides;
    for (size_t i = 0; i < maps_; ++i) list.push_back(fmt::format("map{}", i));
    const bool is_last = form_.part == AttentionPart::query_gradients;
    if (form_.part == AttentionPart::key_gradients)
      for (const int row : form_.rows) list.push_back(name_of(row));
    if (is_last) list.push_back(name_of(form_.query_sums));
    for (const AttentionKernel::Matrix& matrix : form_.matrices) {
      if (!kernel_.params[static_cast<size_t>(matrix.param)].output) continue;
      list.push_back("(Half*)" + name_of(matrix.param));
      for (const Dim& stride : {matrix.batch_stride, matrix.place_stride, matrix.head_stride})
        strides.push_back(size(stride));
    }
    if (has_tickets() && !form_.has_rest()) list.push_back(kNoMatrix), strides.push_back(kNoStrides);
    if (has_tickets()) list.push_back(name_of(form_.rows[0])), list.push_back("tickets");
    if (form_.part == AttentionPart::key_gradients) list.push_back(name_of(form_.query_sums));
    if (form_.counters >= 0) list.push_back("(unsigned*)" + name_of(form_.counters));
    const std::string heads = size(form_.heads);
    if (is_last)
      list.insert(list.end(), {heads, size(form_.queries)});
    else
      list.insert(list.end(), {size(form_.batch), heads, fmt::format("{} / {}", heads, size(form_.key_heads)),
                               size(form_.queries), size(form_.keys)});
    return fmt::format("{}, {}, {:a}f{}", fmt::join(list, ", "), fmt::join(strides, ", "), form_.scale,
                       is_last ? "" : ", body");
  }

  const Kernel& kernel_;
  const AttentionKernel& form_;
  const gpu::KernelNames names_;
  const size_t maps_;
};

std::optional<MmaAttention::Codes> codes_of(const Kernel& kernel) {
  const AttentionKernel& form = *kernel.attention;
  if (form.scales.empty()) return std::nullopt;
  const auto type = [&](const AttentionKernel::Matrix& matrix) {
    return kernel.params[static_cast<size_t>(matrix.param)].dtype;
  };
  return MmaAttention::Codes{type(form.matrices[1]), type(form.scales[0])};
}

std::string mma_text(const Kernel& kernel) {
  const AttentionKernel& form = *kernel.attention;
  return attention_mma_text({.part = form.part,
                             .dtype = kernel.params[static_cast<size_t>(form.matrices[0].param)].dtype,
                             .head_size = form.width,
                             .vector = form.vector,
                             .tiles = std::get<AttentionTiles>(form.tiles),
                             .hooks = print_hooks(kernel, HookUse::mma),
                             .has_rest = form.has_rest(),
                             .has_places = form.places >= 0,
                             .element = form.element,
                             .keeps_batch = form.keeps_batch,
                             .keeps_head = form.keeps_heads,
                             .part_keys = form.part_keys,
                             .codes = codes_of(kernel)});
}

}  // namespace

std::string emit_attention(const Kernel& kernel) {
  const AttentionKernel& form = *kernel.attention;
  const std::string own = form.wgmma() ? wgmma_text(kernel, print_hooks(kernel, HookUse::wgmma)).text
                          : form.few() ? decode_attention_text(kernel)
                                       : mma_text(kernel);
  const std::string text = own + AttentionText(kernel).kernel();
  PreludeNeeds needs;
  for (const KernelParam& param : kernel.params) need_element(needs, param.dtype);
  need_calls(needs, text);
  return fmt::format("#define SM static __device__ __forceinline__\ntypedef {} Index;\n\n{}\n{}",
                     kernel.schedule.index32 ? "int" : "long long", cuda_prelude(needs), text);
}

}  // namespace smelt

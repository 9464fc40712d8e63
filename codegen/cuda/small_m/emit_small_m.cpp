#include "codegen/cuda/small_m/emit_small_m.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/body_arguments.h"
#include "codegen/cuda/printers/print_function.h"
#include "codegen/cuda/small_m/small_m_text.h"
#include "codegen/gpu/lower/lower_function.h"
#include "codegen/kernel_passes/kernel_indices.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

/// Returns the prologue that all blocks but the first run: it stores only the staged result.
Kernel without_other_stores(Kernel kernel) {
  const int staged = static_cast<int>(kernel.params.size()) - 1;
  for (KernelBlock& block : kernel.blocks)
    std::erase_if(block.instructions, [&](int id) {
      const Instruction& x = kernel.instructions[static_cast<size_t>(id)];
      return x.kind == Kind::store && x.access.param != staged;
    });
  return kernel;
}

/// The kernel before, as the first block runs it and as the others do.
struct BeforeText {
  const Kernel &kernel, &rest;
  const gpu::LoweredBody first, others;

  BeforeText(const Kernel& kernel, const Kernel& rest)
      : kernel(kernel),
        rest(rest),
        first(gpu::lower_body(kernel, gpu::block_parameter())),
        others(gpu::lower_body(rest, gpu::block_parameter())) {}

  std::string functions() const {
    return print(gpu::function_of(kernel, "stage_first", first)) +
           print(gpu::function_of(rest, "stage", others));
  }

  /// All but the staged one's.
  std::vector<gpu::Parameter> parameters() const {
    std::vector<gpu::Parameter> all = gpu::pointer_parameters(kernel, first.names, "before_");
    all.pop_back();
    return all;
  }

  std::string call(const gpu::KernelNames& names) const {
    std::string pointers, numbers = "random";
    for (size_t i = 0; i + 1 < kernel.params.size(); ++i)
      pointers += fmt::format("before_{}, ", first.names.params()[i]);
    pointers += fmt::format("({}*)staged, ", cuda_memory_type(kernel.params.back().dtype));
    for (const Dim& dim : launch_dims(kernel)) numbers += ", " + number_of(names, dim);
    const std::string range = number_of(names, kernel.range());
    const std::string arguments =
        fmt::format("{}{}, {}, block, shared_floats, shared_ints", pointers, numbers, range);
    return fmt::format(
        "    const unsigned blocks = (unsigned)(({0} + {1}) / {2});\n"
        "    for (unsigned block = 0; block < blocks; ++block) {{\n"
        "      if (blockIdx.x == 0)\n        stage_first({3});\n      else\n        stage({3});\n"
        "      __syncthreads();\n    }}\n",
        range, kernel.schedule.grain - 1, kernel.schedule.grain, arguments);
  }

  std::string shared_arrays() const {
    return print_shared_arrays(std::max<int64_t>({1, first.shared_floats, others.shared_floats}),
                               std::max<int64_t>({1, first.shared_ints, others.shared_ints}));
  }
};

class SmallMPrinter {
 public:
  explicit SmallMPrinter(const Kernel& kernel) : kernel_(kernel), gemm_(*kernel.gemm), names_(kernel) {
    if (gemm_.is_staged()) {
      rest_ = without_other_stores(kernel.before.front());
      before_.emplace(kernel.before.front(), *rest_);
    }
  }

  std::string run() const {
    const std::string text = small_m_function(*gemm_.few, small_m_weights(kernel_)) +
                             (before_ ? before_->functions() : "") + print_element_body(kernel_) + entry();
    PreludeNeeds needs;
    for (const KernelParam& param : kernel_.params) need_element(needs, param.dtype);
    for (const Kernel& before : kernel_.before)
      for (const KernelParam& param : before.params) need_element(needs, param.dtype);
    need_element(needs, gemm_.few->result_dtype), need_calls(needs, text);
    return fmt::format(
        "{}typedef {} Index;\n\n{}\n{}",
        small_m_macros(small_m_dtype(kernel_), *gemm_.few, gemm_.is_staged(), small_m_weights(kernel_)),
        kernel_.schedule.index32 ? "int" : "long long", cuda_prelude(needs), text);
  }

 private:
  const std::string& name_of(int param) const { return names_.params()[static_cast<size_t>(param)]; }

  std::string entry() const {
    return fmt::format(
        "extern \"C\" __global__ void __launch_bounds__({}, {}) {}({}) {{\n"
        "  extern __shared__ __align__(16) uint4 ring[];\n{}"
        "  const BodyArguments body = {{{}}};\n  BodyLoads loads[ITEMS];\n"
        "  const int m = (int){}, n = {}, k = {};\n"
        "{}{}{}{}  small_m(ring, {}, (const Weight*){}, m, n, k, {}, {}before, begin, put);\n}}\n",
        kSmallMThreads, std::max(kSmallMResident, small_m_resident(*gemm_.few, small_m_weights(kernel_))),
        kernel_.name, print(parameters()), shared(), body_argument_list(kernel_, names_),
        number_of(names_, gemm_.m), columns(), number_of(names_, gemm_.k), groups(), before(), begin(), put(),
        rows(), name_of(gemm_.b.param), number_of(names_, gemm_.b.pitch), gemm_.packed ? "groups, " : "");
  }

  std::vector<gpu::Parameter> parameters() const {
    std::vector<gpu::Parameter> all = gpu::pointer_parameters(kernel_, names_, "");
    const auto add = [&](const std::vector<gpu::Parameter>& more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    if (before_) add(before_->parameters());
    add(gpu::number_parameters(kernel_, names_));
    return all;
  }

  int64_t columns() const { return gemm_.n.constant().value() / gemm_.few->parts; }

  std::string shared() const {
    if (!before_) return "";
    return before_->shared_arrays() + fmt::format("  Half* const staged = (Half*)((char*)ring + {});\n",
                                                  small_m_bytes(*gemm_.few, true, small_m_weights(kernel_)));
  }

  std::string groups() const {
    if (!gemm_.packed) return "";
    const PackedOperand& packed = *gemm_.packed;
    return fmt::format("  const Groups groups = {{(const Half*){}, {}, {}, {}}};\n", name_of(packed.scales),
                       packed.zeros < 0 ? "nullptr" : "(const signed char*)" + name_of(packed.zeros),
                       number_of(names_, packed.scales_pitch), number_of(names_, packed.zeros_pitch));
  }

  std::string before() const {
    return "  const auto before = [&] {\n" + (before_ ? before_->call(names_) : "") + "  };\n";
  }

  /// Returns the arguments that say where A is: its address and its pitch.
  std::string rows() const {
    if (gemm_.is_staged()) return fmt::format("staged, {}", staged_pitch(gemm_.k.constant().value()));
    return fmt::format("(const Half*){}, (int){}", name_of(gemm_.a.param), number_of(names_, gemm_.a.pitch));
  }

  static std::string begin() {
    return "  const auto begin = [&](int first) {\n#pragma unroll\n"
           "    for (int item = 0; item < ITEMS; ++item) {\n"
           "      const int i = own_item(item), row = i / COLUMNS, column = first + i % COLUMNS;\n"
           "      if (i < COLUMNS * ROWS && row < m && column < n) body_load(body, row, column, "
           "loads[item]);\n"
           "    }\n  };\n";
  }

  std::string put() const {
    return "  const auto put = [&](int row, int column, const float (&sums)[PARTS], int item) {\n" +
           handed_sums(kernel_, names_) + "    body_run(body, row, column, loads[item], handed);\n  };\n";
  }

  const Kernel& kernel_;
  const GemmKernel& gemm_;
  const gpu::KernelNames names_;
  std::optional<Kernel> rest_;
  std::optional<BeforeText> before_;
};

}  // namespace

std::string handed_sums(const Kernel& kernel, const gpu::KernelNames& names) {
  const SmallMTiles& few = *kernel.gemm->few;
  const std::string bias = few.bias < 0 ? ""
                                        : fmt::format(" + sm_get({}[column + part * n])",
                                                      names.params()[static_cast<size_t>(few.bias)]);
  const bool rounds = few.result_dtype != DType::f32;
  const std::string type = std::string(cuda_memory_type(few.result_dtype));
  return fmt::format(
      "    float handed[PARTS];\n#pragma unroll\n"
      "    for (int part = 0; part < PARTS; ++part) handed[part] = {}sums[part]{}{};\n",
      rounds ? "sm_round<" + type + ">(" : "", bias, rounds ? ")" : "");
}

std::string emit_small_m(const Kernel& kernel) { return SmallMPrinter(kernel).run(); }

DType small_m_dtype(const Kernel& kernel) {
  return kernel.gemm->is_staged() ? kernel.before.front().params.back().dtype
                                  : kernel.params[static_cast<size_t>(kernel.gemm->a.param)].dtype;
}

SmallMWeights small_m_weights(const Kernel& kernel) {
  const GemmKernel& gemm = *kernel.gemm;
  return {.bytes = kernel.params[static_cast<size_t>(gemm.b.param)].dtype == DType::i8,
          .packed = gemm.packed ? &*gemm.packed : nullptr};
}

int64_t small_m_kernel_bytes(const Kernel& kernel, int64_t most_rows) {
  const GemmKernel& gemm = *kernel.gemm;
  const int64_t staged =
      gemm.is_staged() ? most_rows * staged_pitch(gemm.k.constant().value()) * int64_t{sizeof(uint16_t)} : 0;
  return small_m_bytes(*gemm.few, gemm.is_staged(), small_m_weights(kernel)) + staged;
}

}  // namespace smelt

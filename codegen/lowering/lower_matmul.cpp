// A matmul by letters as a gemm step: letters of one kind that lie evenly in memory collapse into one dim;
// what is left over is repeated over.
#include <optional>

#include "codegen/lowering/program_builder.h"
#include "ir/analysis/epilogue.h"
#include "ir/analysis/view.h"
#include "ir/matmul_spec.h"
#include "runtime/error.h"

namespace smelt {
namespace {

/// Some letters walked together: the extent of their product and the innermost stride in each matrix.
struct Run {
  Dim extent;
  Dim a, b, c;
};

class MatmulLowering {
 public:
  MatmulLowering(ProgramBuilder& builder, const Node& matmul)
      : builder_(builder),
        node_(matmul),
        spec_(parse_matmul_spec(matmul.string_attr("spec"))),
        epilogue_(epilogue(matmul)) {
    if (matmul.body && !epilogue_)
      fail_with(Status::internal, "{}: no step does what its body does; split_bodies comes first",
                matmul.describe());
    a_ = *matmul.operand(0)->layout, b_ = *matmul.operand(1)->layout, c_ = *matmul.result()->layout;
  }

  void run() {
    const Layout result = c_;
    gather_sums(a_, spec_.a, *node_.operand(0));
    gather_sums(b_, spec_.b, *node_.operand(1));
    place_sums();
    // At most one copy each of a, b and c makes every matrix have a dim of stride 1.
    std::optional<GemmStep> step = try_step();
    for (int copies = 0; !step; ++copies) {
      if (copies == 3) fail_with(Status::internal, "{}: no layout for \"{}\"", node_.describe(), spec_.str());
      step = try_step();
    }
    std::vector<int> reads = {a_.buffer, b_.buffer};
    if (adds_matrix()) reads.push_back(c_.buffer);
    if (step->bias) reads.push_back(step->bias->buffer);
    builder_.add_step(std::move(*step), std::move(reads), {c_.buffer});
    if (c_ != result) builder_.copy(c_, result, node_.result()->shape(), *node_.result());
  }

 private:
  /// The step for the layouts at hand; nothing where a matrix has no dim of stride 1: then it got a new
  /// layout.
  std::optional<GemmStep> try_step() {
    std::vector<Run> m, n, k, batch;
    for (char letter : spec_.out) {
      const bool in_a = has(spec_.a, letter), in_b = has(spec_.b, letter);
      add(in_a && in_b ? batch : in_a ? m : n, letter);
    }
    for (char letter : spec_.a)
      if (!has(spec_.out, letter)) add(k, letter);
    GemmStep step{.a = {},
                  .b = {},
                  .c = {},
                  .m = 1,
                  .n = 1,
                  .k = 1,
                  .dtype = node_.operand(0)->dtype(),
                  .result_dtype = node_.result()->dtype()};
    step.tf32 = node_.bool_attr("tf32", false);
    for (const Run& run : batch) step.batch.push_back({run.extent, run.a, run.b, run.c});
    const Run rows = take(m, step), columns = take(n, step), sums = take(k, step, true);
    step.m = rows.extent, step.n = columns.extent, step.k = sums.extent;
    step.a = {{a_.buffer, a_.offset}, rows.a, sums.a};
    step.b = {{b_.buffer, b_.offset}, sums.b, columns.b};
    step.c = {{c_.buffer, c_.offset}, rows.c, columns.c};
    if (!walks(step.a)) return copy_operand(a_, spec_.a, *node_.operand(0)), std::nullopt;
    if (!walks(step.b)) return copy_operand(b_, spec_.b, *node_.operand(1)), std::nullopt;
    if (!walks(step.c) || (has_bias() && !step.c.column_stride.is_one())) return move_result(), std::nullopt;
    if (has_bias()) step.bias = bias(step);
    if (adds_matrix()) step.beta = 1;
    return step;
  }

  bool adds_matrix() const { return epilogue_ && epilogue_->kind == Epilogue::Kind::matrix; }
  bool has_bias() const { return epilogue_ && epilogue_->kind == Epilogue::Kind::row; }

  /// A step adds to what is where its result goes: the addend itself, where it lives there, or a copy.
  void place_sums() {
    if (adds_matrix() && *epilogue_->operand->layout != c_) copy_addend();
  }
  void copy_addend() {
    const Value& addend = *epilogue_->operand;
    builder_.copy(*addend.layout, c_, addend.shape(), addend);
  }

  void move_result() {
    c_ = fresh(spec_.out, *node_.result());
    if (adds_matrix()) copy_addend();
  }

  /// A step adds a bias along all of its columns, once; one with gaps is copied.
  BufferRef bias(const GemmStep& step) {
    const Value& bias = *epilogue_->operand;
    const bool sums =
        std::any_of(step.batch.begin(), step.batch.end(), [](const auto& batch) { return batch.reduced; });
    if (sums || step.n != bias.shape()[0])
      fail_with(Status::internal, "{}: a bias for a product that is no single one", node_.describe());
    Layout layout = *bias.layout;
    if (!is_dense(bias.shape(), layout.strides)) {
      const int dense = builder_.add_buffer(node_.source, Role::temporary, bias.dtype(), bias.shape()[0]);
      builder_.copy(layout, {dense, 0, {1}}, bias.shape(), bias);
      layout = {dense, 0, {1}};
    }
    return {layout.buffer, layout.offset};
  }

  std::string summed_letters() const {
    std::string letters;
    for (char letter : spec_.a)
      if (!has(spec_.out, letter) && !extent(letter).is_one()) letters += letter;
    return letters;
  }

  bool is_one_walk(const std::string& summed, const std::string& letters, const Layout& layout) const {
    for (size_t i = 0; i + 1 < summed.size(); ++i)
      if (stride(letters, layout, summed[i]) !=
          stride(letters, layout, summed[i + 1]) * extent(summed[i + 1]))
        return false;
    return true;
  }

  /// An operand with gaps between the parts that are summed over (a slice of every sequence, say) is copied
  /// where that makes one sum of many.
  void gather_sums(Layout& layout, const std::string& letters, const Value& value) {
    const std::string summed = summed_letters();
    if (is_one_walk(summed, letters, layout)) return;
    Layout dense{-1, 0, dense_strides(value.shape())};
    if (!is_one_walk(summed, letters, dense)) return;
    dense.buffer =
        builder_.add_buffer(node_.source, Role::temporary, value.dtype(), element_count(value.shape()));
    builder_.copy(layout, dense, value.shape(), value);
    layout = dense;
  }

  static bool walks(const GemmStep::Matrix& matrix) {
    if (matrix.row_stride.is_zero() || matrix.column_stride.is_zero()) return false;  // a broadcast
    return matrix.row_stride.is_one() || matrix.column_stride.is_one();
  }

  void copy_operand(Layout& layout, const std::string& letters, const Value& value) {
    const Layout copy = fresh(letters, value);
    builder_.copy(layout, copy, value.shape(), value);
    layout = copy;
  }

  /// Dense memory with the batch letters outermost and the innermost letter one that becomes a matrix dim:
  /// the last of the result's letters followed by the summed ones, which is what `take` takes.
  Layout fresh(const std::string& letters, const Value& value) {
    const int buffer =
        builder_.add_buffer(node_.source, Role::temporary, value.dtype(), element_count(value.shape()));
    Layout layout{buffer, 0, std::vector<Dim>(letters.size(), Dim(1))};
    std::string order = spec_.out;
    for (char letter : spec_.a)
      if (!has(order, letter)) order += letter;
    Dim stride = 1;
    for (bool batch : {false, true})
      for (size_t i = order.size(); i-- > 0;) {
        const size_t at = letters.find(order[i]);
        if (at == std::string::npos || is_batch(order[i]) != batch) continue;
        layout.strides[at] = stride;
        stride *= value.shape()[at];
      }
    return layout;
  }

  bool is_batch(char letter) const {
    return has(spec_.a, letter) && has(spec_.b, letter) && has(spec_.out, letter);
  }

  static bool has(const std::string& letters, char letter) {
    return letters.find(letter) != std::string::npos;
  }

  static Dim stride(const std::string& letters, const Layout& layout, char letter) {
    const size_t at = letters.find(letter);
    return at == std::string::npos ? Dim(0) : layout.strides[at];
  }

  Dim extent(char letter) const {
    const size_t in_a = spec_.a.find(letter);
    return in_a != std::string::npos ? node_.operand(0)->shape()[in_a]
                                     : node_.operand(1)->shape()[spec_.b.find(letter)];
  }

  /// Appends a letter, joining it with the run before where one stride steps through both.
  void add(std::vector<Run>& runs, char letter) {
    const Run run{extent(letter), stride(spec_.a, a_, letter), stride(spec_.b, b_, letter),
                  stride(spec_.out, c_, letter)};
    if (run.extent.is_one()) return;
    if (!runs.empty()) {
      Run& last = runs.back();
      if (last.a == run.a * run.extent && last.b == run.b * run.extent && last.c == run.c * run.extent) {
        last = {last.extent * run.extent, run.a, run.b, run.c};
        return;
      }
    }
    runs.push_back(run);
  }

  /// The run that becomes the matrix dim: the last (innermost); the others are repeated over.
  static Run take(std::vector<Run>& runs, GemmStep& step, bool reduced = false) {
    if (runs.empty()) return {1, 1, 1, 1};
    const Run taken = runs.back();
    runs.pop_back();
    for (const Run& run : runs) step.batch.push_back({run.extent, run.a, run.b, run.c, reduced});
    return taken;
  }

  ProgramBuilder& builder_;
  const Node& node_;
  MatmulSpec spec_;
  std::optional<Epilogue> epilogue_;
  Layout a_, b_, c_;
};

}  // namespace

void lower_matmul(ProgramBuilder& builder, const Node& matmul) { MatmulLowering(builder, matmul).run(); }

}  // namespace smelt

// A matmul by letters as a gemm step: letters of one kind that lie evenly in memory collapse into one dim;
// what is left over is repeated over.
#include <algorithm>

#include "codegen/program_builder.h"
#include "ir/builder.h"
#include "ir/view.h"
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
      : builder_(builder), node_(matmul), spec_(parse_matmul_spec(matmul.string_attr("spec"))) {
    a_ = *matmul.operand(0)->layout, b_ = *matmul.operand(1)->layout, c_ = *matmul.result()->layout;
  }

  void run() {
    std::vector<Run> m, n, k, batch;
    for (char letter : spec_.out) {
      const bool in_a = has(spec_.a, letter), in_b = has(spec_.b, letter);
      add(in_a && in_b ? batch : in_a ? m : n, letter);
    }
    for (char letter : spec_.a)
      if (!has(spec_.out, letter)) add(k, letter);
    GemmStep step{.a = {}, .b = {}, .c = {}, .m = 1, .n = 1, .k = 1, .dtype = node_.result()->dtype()};
    for (const Run& run : batch) step.batch.push_back({run.extent, run.a, run.b, run.c});
    const Run rows = take(m, step), columns = take(n, step), sums = take(k, step, true);
    step.m = rows.extent, step.n = columns.extent, step.k = sums.extent;
    step.a = matrix(a_, rows.a, sums.a, node_.operand(0));
    step.b = matrix(b_, sums.b, columns.b, node_.operand(1));
    step.c = matrix(c_, rows.c, columns.c, nullptr);
    std::vector<int> reads = {a_.buffer, b_.buffer};
    builder_.add_step(std::move(step), std::move(reads), {c_.buffer});
  }

 private:
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

  GemmStep::Matrix matrix(const Layout& layout, Dim row, Dim column, const Value* value) {
    if (!row.is_one() && !column.is_one())
      fail("{}: {} has no dim of stride 1 among those multiplied; reorder its dims before the matmul",
           node_.describe(), value ? str(value->type) : str(node_.result()->type));
    return {{layout.buffer, layout.offset}, std::move(row), std::move(column)};
  }

  ProgramBuilder& builder_;
  const Node& node_;
  MatmulSpec spec_;
  Layout a_, b_, c_;
};

}  // namespace

void lower_matmul(ProgramBuilder& builder, const Node& matmul) { MatmulLowering(builder, matmul).run(); }

}  // namespace smelt

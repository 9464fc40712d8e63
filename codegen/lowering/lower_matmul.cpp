// A matmul by letters as a gemm step: letters of one kind that lie evenly in memory collapse into one dim;
// what is left over is repeated over, with a stride of 0 for an operand without that letter.
#include <algorithm>
#include <optional>

#include "codegen/lowering/lower.h"
#include "codegen/lowering/matmul_runs.h"
#include "codegen/lowering/program_builder.h"
#include "ir/analysis/epilogue.h"
#include "ir/analysis/view.h"
#include "ir/ops/matmul_spec.h"
#include "ir/ops/windows.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

class MatmulLowering {
 public:
  MatmulLowering(ProgramBuilder& builder, const Node& matmul)
      : builder_(builder),
        node_(matmul),
        spec_(parse_matmul_spec(matmul.get(attr::spec))),
        epilogue_(epilogue(matmul)) {
    if (matmul.body && !epilogue_)
      fail_with(Status::internal, "{}: no step does what its body does; split_bodies comes first",
                matmul.describe());
    a_ = *matmul.operand(0)->layout, b_ = *matmul.operand(1)->layout, c_ = *matmul.result()->layout;
    for (char letter : spec_.a)
      if (!has(spec_.out, letter)) summed_ += letter;
  }

  void run() {
    if (is_done_without_products()) return;
    const Layout result = c_;
    refuse_ragged_batch();
    gather_sums();
    place_sums();
    // At most one copy each of a, b and c gives every matrix a dim of stride 1; c may be moved once more,
    // where operands are windows.
    std::optional<GemmStep> step = try_step();
    for (int copies = 0; !step; ++copies) {
      if (copies == 4) fail_with(Status::internal, "{}: no layout for \"{}\"", node_.describe(), spec_.str());
      step = try_step();
    }
    for (GemmStep& part : builder_.target().can.odd_matmuls ? std::vector{*step} : cut_gemm(*step))
      add(std::move(part));
    builder_.copy(c_, result, node_.result()->shape(), *node_.result());
  }

 private:
  void add(GemmStep step) {
    std::vector<int> reads = {a_.buffer, b_.buffer};
    if (step.beta != 0) reads.push_back(c_.buffer);
    for (const auto& ref : {step.bias, step.a_scale, step.b_scale})
      if (ref) reads.push_back(ref->buffer);
    builder_.add_step(std::move(step), std::move(reads), {c_.buffer});
  }

  /// The runs of the letters of each kind.
  struct Runs {
    std::vector<MatmulRun> m, n, k, batch;
  };

  Runs runs() const {
    Runs all;
    for (char letter : spec_.out) {
      const bool in_a = has(spec_.a, letter), in_b = has(spec_.b, letter);
      (in_a && in_b ? all.batch : in_a ? all.m : all.n).push_back(run(letter));
    }
    for (char letter : summed_) all.k.push_back(run(letter));
    return all;
  }

  /// Returns the step for the current layouts; nothing where a matrix has no dim of stride 1: the matrix then
  /// got a new layout.
  std::optional<GemmStep> try_step() {
    const Runs all = runs();
    for (const MatrixDims& dims : candidates(all)) {
      const GemmStep step = step_of(dims, joined(all.batch));
      if (walks_a(step) && walks_b(step) && takes(step)) return finished(step);
    }
    if (repeats()) {
      leave_windows(all);
      return {};
    }
    const MatrixDims last{last_of(all.m), last_of(all.n), last_of(all.k), {}, {}};
    const GemmStep step = step_of(last, {});
    if (!walks(step.a) || !has_lines_a(step))
      copy_operand(a_, spec_.a, *node_.operand(0));
    else if (!walks(step.b) || !has_lines_b(step))
      copy_operand(b_, spec_.b, *node_.operand(1));
    else
      move_result();
    return {};
  }

  // ---- windows that overlap

  /// They are no rows of a matrix together with what is inside of them, but they are for each place inside.
  std::vector<MatrixDims> candidates(const Runs& all) const {
    const Symbols& symbols = builder_.symbols();
    std::vector<MatrixDims> dims = matrix_dims(joined(all.m), joined(all.n), joined(all.k), symbols);
    if (!repeats()) return dims;
    for (MatrixDims& apart : matrix_dims(several(all.m), several(all.n), several(all.k), symbols))
      dims.push_back(std::move(apart));
    std::erase_if(dims, [&](const MatrixDims& each) { return !is_worth_calls(each); });
    return dims;
  }

  static std::vector<MatmulRun> several(std::vector<MatmulRun> runs) {
    std::erase_if(runs, [](const MatmulRun& run) { return run.extent.is_one(); });
    return runs;
  }

  /// Returns whether products are large enough for one call per product, whose results are added up in f32. A
  /// copy of windows has more elements than the memory that the windows show.
  bool is_worth_calls(const MatrixDims& dims) const {
    constexpr double kDeep = 32, kWork = kDeep * kDeep * kDeep;
    const auto most = [&](const MatmulRun& run) {
      return static_cast<double>(builder_.symbols().upper(run.extent));
    };
    const bool sums = dims.summed.empty() ||
                      (!in_order() && node_.result()->dtype() == DType::f32 && most(dims.k) >= kDeep);
    return sums && most(dims.m) * most(dims.n) * most(dims.k) >= kWork;
  }

  /// The first choice for which both operands lie as they have to.
  std::optional<MatrixDims> walking_dims(const Runs& all) const {
    for (MatrixDims& dims : candidates(all)) {
      const GemmStep step = step_of(dims, {});
      if (walks_a(step) && walks_b(step)) return std::move(dims);
    }
    return {};
  }

  bool repeats() const { return repeats_elements(0) || repeats_elements(1); }

  /// Returns whether the operand shows elements more than once and has not been copied yet.
  bool repeats_elements(unsigned operand) const {
    const Value* value = node_.operand(operand);
    const int buffer = (operand == 0 ? a_ : b_).buffer;
    while (info(value->node()->op()).has(Trait::view) && value->layout && value->layout->buffer == buffer) {
      if (value->node()->is(Op::windows) && overlap(windows_of(*value->node()))) return true;
      value = value->node()->operand(0);
    }
    return false;
  }

  /// Once the result is moved to where it is written column by column; else the windows are copied.
  void leave_windows(const Runs& all) {
    const auto dims = walking_dims(all);
    if (dims && inside_ == 0) {
      for (char letter : spec_.out)
        if (!has(spec_.a, letter) && stride(spec_.b, b_, letter) == dims->n.b) inside_ = letter;
      if (inside_ != 0) return move_result();
    }
    if (repeats_elements(0))
      copy_operand(a_, spec_.a, *node_.operand(0));
    else
      copy_operand(b_, spec_.b, *node_.operand(1));
  }

  /// Handles results without elements, and sums without terms, for any size: no matrix has a stride of 1
  /// then.
  bool is_done_without_products() {
    const Value& result = *node_.result();
    const Dim elements = element_count(result.shape());
    if (elements.is_zero()) return true;
    const bool sums = std::ranges::any_of(summed_, [&](char letter) { return extent(letter).is_zero(); });
    if (!sums || epilogue_ || !is_dense(result.shape(), c_.strides)) return false;
    builder_.fill(c_.buffer, c_.offset, elements, 0);
    return true;
  }

  // ---- letters and runs

  MatmulRun run(char letter) const {
    return {extent(letter), stride(spec_.a, a_, letter), stride(spec_.b, b_, letter),
            stride(spec_.out, c_, letter)};
  }

  /// Returns the run that is innermost in fresh memory.
  static MatmulRun last_of(std::vector<MatmulRun> runs) {
    std::erase_if(runs, [](const MatmulRun& run) { return run.extent.is_one(); });
    return runs.empty() ? MatmulRun{1, 1, 1, 1} : runs.back();
  }

  /// Returns the step. A matrix with one row or one column has the pitch of a dense matrix, although any
  /// pitch is right: some kernels require that pitches are multiples of a number of bytes.
  GemmStep step_of(const MatrixDims& dims, const std::vector<MatmulRun>& batch) const {
    GemmStep step{.a = {{a_.buffer, a_.offset}, dims.m.a, dims.k.a},
                  .b = {{b_.buffer, b_.offset}, dims.k.b, dims.n.b},
                  .c = {{c_.buffer, c_.offset}, dims.m.c, dims.n.c},
                  .m = dims.m.extent,
                  .n = dims.n.extent,
                  .k = dims.k.extent,
                  .dtype = node_.operand(is_i8(0) ? 1 : 0)->dtype(),
                  .result_dtype = node_.result()->dtype()};
    if (step.m.is_one() && step.a.column_stride.is_one()) step.a.row_stride = step.k;
    if (step.n.is_one() && step.b.row_stride.is_one()) step.b.column_stride = step.k;
    if (step.m.is_one() && step.c.column_stride.is_one()) step.c.row_stride = step.n;
    step.tf32 = node_.get(attr::tf32);
    step.in_order = in_order();
    if (is_i8(0) != is_i8(1)) step.a_i8 = is_i8(0), step.b_i8 = is_i8(1);
    for (const auto* runs : {&batch, &dims.repeated, &dims.summed})
      for (const MatmulRun& run : *runs)
        step.batch.push_back({run.extent, run.a, run.b, run.c, runs == &dims.summed});
    return step;
  }

  /// Returns whether each element of the result is a chain (GemmStep::in_order).
  bool in_order() const {
    const DType dtype = node_.operand(is_i8(0) ? 1 : 0)->dtype();
    const bool half = dtype == DType::bf16 || dtype == DType::f16;
    return half && builder_.target().adds_in_order(node_);
  }

  bool is_i8(unsigned operand) const { return node_.operand(operand)->dtype() == DType::i8; }

  GemmStep finished(GemmStep step) {
    if (has_bias()) step.bias = bias();
    if (adds_matrix()) step.beta = 1;
    if (epilogue_ && !epilogue_->scales.empty()) step.a_scale = scale(0);
    if (epilogue_ && epilogue_->scales.size() > 1) step.b_scale = scale(1);
    step.padded = reads_lines() && !is_whole_lines(step.k);
    if (step.in_order && (step.bias || step.beta != 0))
      fail_with(Status::internal, "{}: a matmul in order has an epilogue: expected a node of its own for it",
                node_.describe());
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

  /// A result that the library writes: a step adds a bias along all of its columns, once.
  bool takes(const GemmStep& step) const {
    if (!walks(step.c) || (reads_lines() && !is_whole_lines(step.k) && !step.batch.empty())) return false;
    if (!has_bias()) return true;
    const bool sums = std::ranges::any_of(step.batch, &GemmStep::Batch::reduced);
    return step.c.column_stride.is_one() && !sums && step.n == epilogue_->operand->shape()[0];
  }

  /// One with gaps is copied.
  BufferRef bias() {
    const Value& bias = *epilogue_->operand;
    Layout layout = *bias.layout;
    if (!is_dense(bias.shape(), layout.strides)) {
      const int dense = builder_.add_buffer(node_.source, Role::temporary, bias.dtype(), bias.shape()[0]);
      builder_.copy(layout, {dense, 0, {1}}, bias.shape(), bias);
      layout = {dense, 0, {1}};
    }
    return {layout.buffer, layout.offset};
  }

  BufferRef scale(size_t index) const {
    const Layout& layout = *epilogue_->scales[index]->layout;
    return {layout.buffer, layout.offset};
  }

  bool is_one_walk(const std::string& summed, const std::string& letters, const Layout& layout) const {
    for (size_t i = 0; i + 1 < summed.size(); ++i)
      if (stride(letters, layout, summed[i]) !=
          stride(letters, layout, summed[i + 1]) * extent(summed[i + 1]))
        return false;
    return true;
  }

  /// The summed letters from the longest stride to the shortest.
  std::string order_in(const std::string& letters, const Layout& layout) const {
    std::string order = summed_;
    std::ranges::stable_sort(order, std::greater(), [&](char letter) {
      return builder_.symbols().upper(stride(letters, layout, letter));
    });
    return order;
  }

  /// Copies operands with gaps between the parts that are summed over (a slice of every sequence, for
  /// instance), or with these parts in another order, where a copy makes one sum of many. Copies only the
  /// smaller operand if that is enough.
  void gather_sums() {
    std::erase_if(summed_, [&](char letter) { return extent(letter).is_one(); });
    if (summed_.size() < 2) return;
    if (repeats() && walking_dims(runs())) return;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const std::string& order : {summed_, order_in(spec_.a, a_), order_in(spec_.b, b_)}) {
      const int64_t elements = gaps(order, spec_.a, a_, 0) + gaps(order, spec_.b, b_, 1);
      if (elements < least) least = elements, summed_ = order;
    }
    gather(a_, spec_.a, *node_.operand(0));
    gather(b_, spec_.b, *node_.operand(1));
  }

  /// Returns the elements that have to be copied for the sums to be one run.
  int64_t gaps(const std::string& order, const std::string& letters, const Layout& layout,
               int operand) const {
    if (is_one_walk(order, letters, layout)) return 0;
    return builder_.symbols().upper(element_count(node_.operand(operand)->shape()));
  }

  void gather(Layout& layout, const std::string& letters, const Value& value) {
    if (is_one_walk(summed_, letters, layout)) return;
    const bool sums_inside = is_unit(letters, layout, summed_);
    const Layout copy = fresh(letters, value, sums_inside);
    builder_.copy(layout, copy, value.shape(), value);
    layout = copy;
  }

  /// Returns whether a layout is contiguous along one of the letters.
  static bool is_unit(const std::string& letters, const Layout& layout, const std::string& among) {
    return std::ranges::any_of(among, [&](char x) { return stride(letters, layout, x).is_one(); });
  }

  static bool walks(const GemmStep::Matrix& matrix) {
    if (matrix.row_stride.is_zero() || matrix.column_stride.is_zero()) return false;  // a broadcast
    return matrix.row_stride.is_one() || matrix.column_stride.is_one();
  }

  bool walks_a(const GemmStep& step) const {
    return walks(step.a) && is_apart(step.a, step.m, step.k) && has_lines_a(step);
  }
  bool walks_b(const GemmStep& step) const {
    return walks(step.b) && is_apart(step.b, step.k, step.n) && has_lines_b(step);
  }

  // ---- operands of f8e4m3 and i8, which a GPU's library reads in lines along k (GemmStep::padded)

  bool reads_lines() const {
    const bool scales = node_.operand(0)->dtype() == DType::f8e4m3 && builder_.target().can.scaled_f8;
    return scales || (is_i8(0) && is_i8(1) && builder_.target().can.launches);
  }

  static bool is_whole_lines(const Dim& elements) {
    return elements.divide(GemmStep::kLineElements).has_value();
  }

  bool has_lines_a(const GemmStep& step) const {
    return has_lines(0, step.a, step.a.column_stride, step.a.row_stride, step.k);
  }
  bool has_lines_b(const GemmStep& step) const {
    return has_lines(1, step.b, step.b.row_stride, step.b.column_stride, step.k);
  }

  /// Ends of lines are cleared in one matrix only (GemmStep::padded).
  void refuse_ragged_batch() const {
    Dim terms = 1;
    for (const char letter : summed_) terms *= extent(letter);
    if (reads_lines() && !is_whole_lines(terms) &&
        std::ranges::any_of(spec_.out, [&](char x) { return is_batch(x); }))
      fail(
          "{}: a batch of matmuls of {} sums {} products, which {} does not divide: convert operands to "
          "bf16",
          node_.describe(), name(node_.operand(0)->dtype()), terms.str(), GemmStep::kLineElements);
  }

  /// Only copies have room after lines of any length.
  bool has_lines(unsigned operand, const GemmStep::Matrix& matrix, const Dim& k_stride, const Dim& pitch,
                 const Dim& k) const {
    if (!reads_lines()) return true;
    const bool is_copy = (operand == 0 ? a_ : b_).buffer != node_.operand(operand)->layout->buffer;
    return k_stride.is_one() && is_whole_lines(pitch) && is_whole_lines(matrix.base.offset) &&
           (is_copy || is_whole_lines(k));
  }

  /// Returns the distance of lines of this many elements in fresh memory.
  Dim line(const Dim& elements) const {
    const bool fits = !reads_lines() || is_whole_lines(elements);
    return fits ? elements : round_up(elements, GemmStep::kLineElements);
  }

  /// Returns whether no line of the matrix begins inside of the previous one, in either direction.
  bool is_apart(const GemmStep::Matrix& matrix, const Dim& rows, const Dim& columns) const {
    const auto apart = [&](const Dim& unit, const Dim& length, const Dim& pitch, const Dim& lines) {
      return unit.is_one() && (lines.is_one() || builder_.symbols().upper(pitch - length) >= 0);
    };
    return apart(matrix.column_stride, columns, matrix.row_stride, rows) ||
           apart(matrix.row_stride, rows, matrix.column_stride, columns);
  }

  void copy_operand(Layout& layout, const std::string& letters, const Value& value) {
    const Layout copy = fresh(letters, value);
    builder_.copy(layout, copy, value.shape(), value);
    layout = copy;
  }

  /// Dense memory with the batch letters outermost and then, of those that become the matrix's dims, the
  /// result's and the summed ones, or these first.
  Layout fresh(const std::string& letters, const Value& value, bool sums_inside = true) {
    Layout layout{-1, 0, std::vector<Dim>(letters.size(), Dim(1))};
    std::string batch, others;
    for (char letter : spec_.out)
      if (letter != inside_) (is_batch(letter) ? batch : others) += letter;
    if (inside_ != 0) others += inside_;
    const std::string order = batch + (sums_inside ? others + summed_ : summed_ + others);
    Dim stride = 1;
    bool in_line = sums_inside && !summed_.empty();  // along k, which is innermost
    for (size_t i = order.size(); i-- > 0;) {
      const size_t at = letters.find(order[i]);
      if (at == std::string::npos) continue;
      if (in_line && summed_.find(order[i]) == std::string::npos) stride = line(stride), in_line = false;
      layout.strides[at] = stride;
      stride *= value.shape()[at];
    }
    layout.buffer =
        builder_.add_buffer(node_.source, Role::temporary, value.dtype(), in_line ? line(stride) : stride);
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

  ProgramBuilder& builder_;
  const Node& node_;
  MatmulSpec spec_;
  std::optional<Epilogue> epilogue_;
  Layout a_, b_, c_;
  std::string summed_;  // the letters that are summed over, from outer to inner ones
  char inside_ = 0;     // the letter of the result that is innermost in fresh memory; 0: its last one
};

}  // namespace

void lower_matmul(ProgramBuilder& builder, const Node& matmul) { MatmulLowering(builder, matmul).run(); }

}  // namespace smelt

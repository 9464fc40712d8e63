// Collectives as steps: dense parts, one per rank, in order. If the dim that is split or concatenated is not
// the outermost, a part is not contiguous: it is a set of rows. A few rows, if their number is known, are a
// step each, so that each may begin when its own row is there. A few long rows of a symbolic number are one
// step. In all other cases parts are copied.
#include "codegen/lowering/program_builder.h"
#include "ir/analysis/view.h"

namespace smelt {
namespace {

/// A layout, with the shape of its elements.
struct Box {
  Layout layout;
  Shape shape;
};

Box whole(const Value& value) { return {*value.layout, value.shape()}; }

/// Returns a dim split into parts, one per rank, as the first dim.
Box parts_first(const Value& value, int64_t dim, int64_t ranks, const Dim& part) {
  Box box = whole(value);
  const auto axis = static_cast<size_t>(dim);
  box.shape[axis] = part;
  box.shape.insert(box.shape.begin(), Dim(ranks));
  box.layout.strides.insert(box.layout.strides.begin(), part * value.layout->strides[axis]);
  return box;
}

Box dense_temporary(ProgramBuilder& builder, const Value& value, const Shape& shape) {
  const int buffer =
      builder.add_buffer(value.node()->source, Role::temporary, value.dtype(), element_count(shape));
  return {{buffer, 0, dense_strides(shape)}, shape};
}

/// Returns the distance between rows, in elements, if the dims before `dim` index evenly spaced rows of dense
/// memory.
std::optional<Dim> row_stride(const Value& value, int64_t dim) {
  const std::vector<Dim>& strides = value.layout->strides;
  const Shape row(value.shape().begin() + dim, value.shape().end());
  const bool dense = dim > 0 && is_dense(row, {strides.begin() + dim, strides.end()});
  if (!dense || !lies_evenly(value.shape(), strides, 0, dim)) return std::nullopt;
  return strides[static_cast<size_t>(dim) - 1];
}

bool is_dense(const Box& box) { return is_dense(box.shape, box.layout.strides); }
BufferRef begin_of(const Box& box) { return {box.layout.buffer, box.layout.offset}; }

class CollectiveLowering {
 public:
  CollectiveLowering(ProgramBuilder& builder, const Node& node)
      : builder_(builder), node_(node), from_(*node.operand(0)), to_(*node.result()) {
    step_.kind = *parse_collective_kind(node.get(attr::kind));
    step_.axis = node.get(attr::mesh_axis);
    ranks_ = mesh_axis(node).size;
    step_.ranks = ranks_;
    step_.dtype = from_.dtype();
    if (node.has(attr::sum)) step_.sum = *parse_collective_sum(node.get(attr::sum));
  }

  void run() {
    const Box given = source(), made = target();
    if (has_rows(given, made)) {
      if (const int64_t rows = dense_rows(); rows > 1) return add_rows(rows);
      if (takes_rows_as_one()) return add_rows_as_one();
    }
    const Box sent = is_dense(given) ? given : dense_temporary(builder_, from_, given.shape);
    const Box received = is_dense(made) ? made : dense_temporary(builder_, to_, made.shape);
    if (!is_dense(given)) builder_.copy(given.layout, sent.layout, given.shape, from_);
    add_step(sent, received);
    if (!is_dense(made)) builder_.copy(received.layout, made.layout, made.shape, to_);
  }

 private:
  static constexpr int64_t kSmallM = 64, kMostRows = 4096;
  /// Elements of a rank's part of a row from which on a step of its own costs little.
  static constexpr int64_t kLongPart = 1 << 16;
  /// Bytes of a rank's part of one of several rows from which on their being apart costs less than a copy.
  static constexpr int64_t kLongRow = 1 << 16;

  /// Returns whether the collective moves parts along a dim that is not the outermost, so that a part is a
  /// set of rows.
  bool has_rows(const Box& given, const Box& made) const {
    const bool moves = step_.kind != CollectiveKind::all_reduce &&
                       (step_.kind != CollectiveKind::all_to_all || exchanges_within_rows());
    return moves && !(is_dense(given) && is_dense(made));
  }

  /// Returns whether nothing is left of the dim that is split, and the next dim is concatenated: then
  /// elements keep their positions within rows.
  bool exchanges_within_rows() const {
    return cut_dim() + 1 == node_.get(attr::dim) && to_.shape()[static_cast<size_t>(cut_dim())].is_one();
  }
  /// Returns the product of the dims before the moved one.
  Dim rows() const { return element_count(Shape(from_.shape().begin(), from_.shape().begin() + cut_dim())); }

  /// The rows whose parts are rows of dense memory on both sides; 1: it is not so.
  int64_t dense_rows() const {
    if (!is_dense(whole(from_)) || !is_dense(whole(to_))) return 1;
    const auto count = rows().constant();
    if (!count || *count == 0 || *count > kMostRows) return 1;
    const bool is_long = symbols().upper(part()) >= kLongPart * *count;
    return *count <= kSmallM || is_long ? *count : 1;
  }

  /// Returns whether rows are evenly spaced, and few and long at the bounds. NCCL takes another row at little
  /// cost, but a copy would read and write all rows.
  bool takes_rows_as_one() const {
    const int64_t dim = cut_dim();
    if (!row_stride(from_, dim) || !row_stride(to_, dim)) return false;
    const int64_t bytes = symbols().upper(part_of_row()) * size_of(from_.dtype());
    return symbols().upper(rows()) <= kSmallM && bytes >= kLongRow;
  }

  void add_rows_as_one() {
    const int64_t dim = cut_dim();
    const Box from = whole(from_), to = whole(to_);
    step_.from = begin_of(from), step_.to = begin_of(to);
    step_.from_stride = *row_stride(from_, dim), step_.to_stride = *row_stride(to_, dim);
    step_.rows = rows(), step_.elements = part_of_row();
    builder_.add_step(step_);
  }

  const Symbols& symbols() const { return builder_.symbols(); }

  void add_rows(int64_t rows) {
    const Box from = whole(from_), to = whole(to_);
    const Dim given = *element_count(from.shape).divide(rows), made = *element_count(to.shape).divide(rows);
    step_.elements = part_of_row();
    for (int64_t row = 0; row < rows; ++row) {
      step_.from = {from.layout.buffer, from.layout.offset + given * row};
      step_.to = {to.layout.buffer, to.layout.offset + made * row};
      builder_.add_step(step_);
    }
  }

  /// Returns the dim of the operand that is split into parts. all_to_all concatenates them along `dim`.
  int64_t cut_dim() const {
    return node_.get(step_.kind == CollectiveKind::all_to_all ? attr::to : attr::dim);
  }

  Box source() const {
    if (!step_.reads_parts()) return whole(from_);
    return parts_first(from_, cut_dim(), ranks_, to_.shape()[static_cast<size_t>(cut_dim())]);
  }

  Box target() const {
    if (!step_.writes_parts()) return whole(to_);
    const int64_t dim = node_.get(attr::dim);
    return parts_first(to_, dim, ranks_, from_.shape()[static_cast<size_t>(dim)]);
  }

  /// Elements that one rank has for another.
  Dim part() const { return element_count(part_shape()); }
  Dim part_of_row() const {
    const Shape part = part_shape();
    return element_count(Shape(part.begin() + cut_dim(), part.end()));
  }
  Shape part_shape() const {
    Shape part = from_.shape();
    if (step_.reads_parts())
      part[static_cast<size_t>(cut_dim())] = to_.shape()[static_cast<size_t>(cut_dim())];
    return part;
  }

  void add_step(const Box& from, const Box& to) {
    step_.from = begin_of(from), step_.to = begin_of(to);
    step_.elements = part();
    const bool in_place = step_.kind == CollectiveKind::all_reduce && step_.from.offset == step_.to.offset;
    Step& step = builder_.add_step(step_);
    if (in_place) step.may_alias = {{step_.to.buffer, step_.from.buffer}};
  }

  ProgramBuilder& builder_;
  const Node& node_;
  const Value &from_, &to_;
  CollectiveStep step_;
  int64_t ranks_ = 1;
};

}  // namespace

void lower_collective(ProgramBuilder& builder, const Node& collective) {
  CollectiveLowering(builder, collective).run();
}

}  // namespace smelt

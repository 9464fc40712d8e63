#include "runtime/plan/row_parts.h"

#include <algorithm>

namespace smelt {
namespace {

/// Operations per second of a multiprocessor of Hopper, and bytes per second over a link to another GPU
/// (NVLink 4).
constexpr double kNarrowFlops = 4.5e12, kTf32Flops = 2.2e12, kWideFlops = 0.4e12, kLinkBytes = 3e11;
/// Cost of a launch that waits for an event of another stream.
constexpr double kLaunchSeconds = 3e-6;
/// Sides of a tile of a product, one for each multiprocessor at a time.
constexpr int64_t kTile = 128;

/// Returns the rows of the matrix that one part has in each row of the collective; nothing if parts are not
/// whole rows, or the matrix has others.
std::optional<Dim> rows_of_part(const GemmStep::Matrix& matrix, const Dim& width, const GemmStep& product,
                                const CollectiveStep& collective, const BufferRef& parts, const Dim& stride) {
  const bool dense = collective.rows.is_one() || stride == collective.elements * collective.ranks;
  if (!(matrix.base == parts) || !matrix.column_stride.is_one() || !(matrix.row_stride == width) || !dense)
    return std::nullopt;
  std::optional<Dim> rows = collective.elements.divide(width);
  if (!rows || !(product.m == collective.rows * collective.ranks * *rows)) return std::nullopt;
  return rows;
}

const GemmStep* product(const Step& step) {
  const auto* gemm = std::get_if<GemmStep>(&step.what);
  const bool plain = gemm && step.choice < 0 && gemm->batch.empty() && !gemm->a_i8 && !gemm->b_i8;
  return plain ? gemm : nullptr;
}

const CollectiveStep* parts_of_ranks(const std::vector<Step>& steps, size_t index) {
  const auto* collective = std::get_if<CollectiveStep>(&steps[index].what);
  const bool taken = collective && steps[index].choice < 0 && collective->writes_parts() &&
                     collective->ranks.constant().value_or(1) > 1;
  return taken ? collective : nullptr;
}

bool uses(const BufferRef& ref, int buffer) { return ref.buffer == buffer; }

Dim rows_read(const GemmStep& product, const CollectiveStep& gather) {
  return *gather.elements.divide(product.k);
}
Dim rows_made(const GemmStep& product, const CollectiveStep& exchange) {
  return *exchange.elements.divide(product.n);
}

GemmStep part(const GemmStep& product, const CollectiveStep& collective, const Dim& rows, int64_t place) {
  GemmStep made = product;
  made.m = rows;
  made.a.base.offset += rows * place * product.a.row_stride;
  made.c.base.offset += rows * place * product.c.row_stride;
  const Dim apart = rows * collective.ranks;
  if (!collective.rows.is_one())
    made.batch = {{collective.rows, apart * product.a.row_stride, 0, apart * product.c.row_stride}};
  return made;
}

}  // namespace

std::optional<size_t> reader_in_parts(const std::vector<Step>& steps, size_t index) {
  const CollectiveStep* gather = parts_of_ranks(steps, index);
  const size_t next = gather && gather->waited_at >= 0 ? static_cast<size_t>(gather->waited_at) : index + 1;
  if (!gather || next >= steps.size()) return std::nullopt;
  const GemmStep* reader = product(steps[next]);
  if (!reader || !rows_of_part(reader->a, reader->k, *reader, *gather, gather->to, gather->to_stride))
    return std::nullopt;
  const bool once = !uses(reader->b.base, gather->to.buffer) && !uses(reader->c.base, gather->to.buffer) &&
                    !uses(reader->c.base, gather->from.buffer) &&
                    !(reader->bias && uses(*reader->bias, gather->to.buffer));
  return once ? std::optional(next) : std::nullopt;
}

std::optional<size_t> maker_in_parts(const std::vector<Step>& steps, size_t index) {
  const CollectiveStep* exchange = parts_of_ranks(steps, index);
  if (!exchange || exchange->kind != CollectiveKind::all_to_all || index == 0) return std::nullopt;
  const GemmStep* maker = product(steps[index - 1]);
  if (!maker || !rows_of_part(maker->c, maker->n, *maker, *exchange, exchange->from, exchange->from_stride))
    return std::nullopt;
  const int to = exchange->to.buffer;
  const bool apart = !uses(maker->a.base, to) && !uses(maker->b.base, to) && !uses(maker->c.base, to) &&
                     !(maker->bias && uses(*maker->bias, to));
  return apart ? std::optional(index - 1) : std::nullopt;
}

GemmStep part_read(const GemmStep& product, const CollectiveStep& gather, int64_t place) {
  return part(product, gather, rows_read(product, gather), place);
}

GemmStep part_made(const GemmStep& product, const CollectiveStep& exchange, int64_t place) {
  return part(product, exchange, rows_made(product, exchange), place);
}

GemmStep own_part_read(const GemmStep& product, const CollectiveStep& gather, int64_t place) {
  if (gather.kind != CollectiveKind::all_gather) return part_read(product, gather, place);
  GemmStep made = part_read(product, gather, place);
  made.a.base = gather.from;
  for (GemmStep::Batch& records : made.batch) records.a_stride = gather.from_stride;
  return made;
}

GemmStep own_part_made(const GemmStep& product, const CollectiveStep& exchange, int64_t place) {
  GemmStep made = part_made(product, exchange, place);
  made.c.base = {exchange.to.buffer, exchange.to.offset + exchange.elements * place};
  for (GemmStep::Batch& records : made.batch) records.c_stride = exchange.to_stride;
  return made;
}

PartedSizes parted_sizes(const GemmStep& part, const CollectiveStep& collective,
                         const std::function<int64_t(const Dim&)>& value) {
  return {.ranks = value(collective.ranks),
          .batch = value(collective.rows),
          .rows = value(part.m),
          .n = value(part.n),
          .k = value(part.k),
          .part_bytes = value(collective.rows * collective.elements) * size_of(collective.dtype),
          .dtype = part.dtype,
          .tf32 = part.tf32};
}

/// Both directions take the same time: parts that arrive while others are computed, or parts that leave.
PartedSeconds parted_seconds(const PartedSizes& s, int64_t multiprocessors) {
  const double flops = s.dtype != DType::f32 ? kNarrowFlops : s.tf32 ? kTf32Flops : kWideFlops;
  const double tile = 2.0 * kTile * kTile * static_cast<double>(s.k) / flops;
  const auto tiles = [](int64_t extent) { return (extent + kTile - 1) / kTile; };
  const auto product = [&](int64_t parts) {
    const int64_t all = parts * s.batch * tiles(s.rows) * tiles(s.n);
    const int64_t waves = (all + multiprocessors - 1) / multiprocessors;
    return tile * static_cast<double>(waves) + kLaunchSeconds;
  };
  const double copy = static_cast<double>(s.part_bytes) / kLinkBytes;
  PartedSeconds seconds{.whole = static_cast<double>(s.ranks - 1) * copy + product(s.ranks), .parts = 0};
  for (int64_t i = 0; i < s.ranks; ++i)
    seconds.parts = std::max(seconds.parts, static_cast<double>(i) * copy) + product(1);
  return seconds;
}

}  // namespace smelt

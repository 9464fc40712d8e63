#include "runtime/cpu/attention.h"

#include <omp.h>

#include <algorithm>
#include <numeric>

#include "runtime/base/convert.h"
#include "runtime/cpu/attention_lane.h"

namespace smelt {

PreparedAttention::PreparedAttention(const KernelCode& kernel, const SymbolValues& values)
    : attention(&*kernel.attention) {
  const AttentionSpec& spec = attention->spec;
  const auto value = [&](const Dim& dim) { return dim.evaluate(values); };
  batch = value(spec.batch), heads = value(spec.heads), key_heads = value(spec.key_heads);
  queries = value(spec.queries), keys = value(spec.keys);
  items = value(item_count(spec, attention->tiles));
  const auto prepared = [&](const AttentionSpec::Matrix& m) {
    return Matrix{m.param, kernel.parameters[static_cast<size_t>(m.param)].dtype, value(m.batch_stride),
                  value(m.place_stride), value(m.head_stride)};
  };
  for (const AttentionSpec::Matrix& m : spec.matrices) matrices.push_back(prepared(m));
  for (const AttentionSpec::Matrix& m : spec.scales) scales.push_back(prepared(m));
  if (!scales.empty()) {
    std::array<uint8_t, 256> codes = {};
    std::iota(codes.begin(), codes.end(), uint8_t{0});
    widen(codes.data(), matrices[1].dtype, numbers_of_codes.data(), std::ssize(codes));
  }
  places_batch = value(attention->places_batch_stride), places_stride = value(attention->places_stride);
  const LaneLayout layout = lane_layout(spec, attention->tiles);
  lane = {value(layout.tiles),      value(layout.rows),        value(layout.queries),
          value(layout.keys),       value(layout.values),      value(layout.others),
          value(layout.first_sums), value(layout.second_sums), value(layout.query_sums),
          value(layout.elements)};
}

void PreparedAttention::run(const KernelFunctions& functions, const std::vector<void*>& arguments,
                            const KernelArgs& args) const {
  auto* memory = static_cast<float*>(arguments[static_cast<size_t>(attention->workspace)]);
#pragma omp parallel num_threads(std::min(attention->tiles.lanes, omp_get_max_threads()))
  {
    AttentionLane work(*this, functions, arguments, args, memory + omp_get_thread_num() * lane.elements);
#pragma omp for schedule(dynamic, 1)
    for (int64_t item = 0; item < items; ++item) work.run(item);
  }
}

}  // namespace smelt

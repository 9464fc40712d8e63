// Low-rank adapters merged into the weights of a session.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/engine/weights/safetensors.h"
#include "runtime/plan/adapter_interface.h"
#include "runtime/session/session.h"
#include "runtime/session/session_weights.h"

namespace smelt::testing {

/// Adds B A to the weight of a file, [out,in], or [in,out] if it is transposed.
inline void merge_into(HostTensor& tensor, const AdapterMatrices& matrices, const AdaptedLinear& linear,
                       bool transposed) {
  auto* const values = reinterpret_cast<float*>(tensor.bytes.data());
  for (int64_t o = 0; o < linear.out; ++o)
    for (int64_t i = 0; i < linear.in; ++i) {
      double sum = 0;
      for (int64_t r = 0; r < matrices.rank; ++r)
        sum += static_cast<double>(matrices.b[static_cast<size_t>(o * matrices.rank + r)]) *
               matrices.a[static_cast<size_t>(r * linear.in + i)];
      float& value = values[transposed ? i * linear.out + o : o * linear.in + i];
      value = static_cast<float>(value + sum);
    }
}

/// Gives a session without slots the weights with the adapter.
inline void merge_adapter(Session& session, const AdapterInterface& interface,
                          const AdapterWeights& weights) {
  std::vector<HostTensor> tensors = weights_of(session);
  for (size_t i = 0; i < weights.linears.size(); ++i) {
    const AdaptedLinear& linear = interface.linears[i];
    for (const State& state : session.plan().states)
      for (const Segment& segment : state.segments)
        if (segment.name == linear.module + ".weight" && holds_weights(state)) {
          const auto found = std::ranges::find(tensors, segment.checkpoint_names[0], &HostTensor::name);
          ASSERT_NE(found, tensors.end());
          merge_into(*found, weights.linears[i], linear, segment.transposed);
        }
  }
  session.load_weights(Checkpoint::of(std::move(tensors), "merged"));
}

}  // namespace smelt::testing

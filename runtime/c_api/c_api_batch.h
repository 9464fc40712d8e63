// The handle of a continuous batch in the C interface, and conversions of its structs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/c_api/c_api_detail.h"
#include "runtime/c_api/structs.h"
#include "runtime/engine/serving/continuous_batch.h"

struct smelt_batch {
  smelt::ContinuousBatch batch;
  smelt::GenerationOptions defaults = {};  // of the plan's model
  std::map<smelt::ContinuousBatch::Id, bool> has_log_probabilities = {};
  /// Arrays of the most probable tokens that are reported with one token.
  struct Best {
    std::vector<int32_t> ids;
    std::vector<float> log_probabilities;
  };
  // The progress of the last poll.
  smelt::Progress told = {};
  bool told_log_probabilities = false;
  std::vector<int32_t> ids = {};
  std::vector<float> log_probabilities = {};
  std::vector<Best> best = {}, prompt_best = {};  // by token
  /// Arrays of a result of a beam search.
  struct Beam {
    std::vector<int32_t> ids;
    std::vector<uint64_t> weights_versions;
  };
  std::vector<Beam> beams = {};
  // The names of the last smelt_batch_list_adapters.
  std::vector<std::string> adapter_names = {};
  std::vector<const char*> adapter_name_pointers = {};
};

namespace smelt::c_api {

// Sizes of the first versions of these structs (structs.h).
template <>
inline constexpr size_t kFirstSize<smelt_batch_options> = offsetof(smelt_batch_options, draft);
template <>
inline constexpr size_t kFirstSize<smelt_request> = offsetof(smelt_request, index);
template <>
inline constexpr size_t kFirstSize<smelt_progress> = offsetof(smelt_progress, prompt_count);

/// Return what these structs specify. Throw Error naming the member that is wrong. `given` may be null for
/// options.
ContinuousBatchOptions batch_options(const smelt_batch_options* given);
Request batch_request(smelt_batch& batch, const smelt_request& given);
/// Returns the adapters of the batch. Throws Error if its plan has no slots for adapters.
AdapterStore& batch_adapters(smelt_batch& batch);
/// Returns the adapter of this name. Throws Error that names all adapters if there is none, and as
/// batch_adapters does.
std::shared_ptr<const ServedAdapter> find_batch_adapter(smelt_batch& batch, const char* name);

}  // namespace smelt::c_api

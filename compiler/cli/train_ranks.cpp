#include "compiler/cli/train_ranks.h"

#include "compiler/build_id.h"
#include "compiler/cli/command.h"
#include "runtime/error.h"
#include "runtime/plan/plan_file.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {
namespace {

std::string checksum_of(std::string_view bytes) {
  Checksum sum;
  sum.add(std::as_bytes(std::span(bytes)));
  return sum.hex();
}

std::string count_of(const DataPart& part) {
  return std::visit([](const auto& range) { return std::to_string(range.size()); }, part);
}

/// How much data there is, and what the first batch holds.
std::string describe_data(const DataSplit& data, const TrainerOptions& options) {
  Batch batch;
  BatchOptions first{.batch = 1, .length = options.length, .seed = static_cast<uint32_t>(options.seed)};
  make_stream(data.train, first)->fill(0, 0, batch);
  Checksum sum;
  for (const InputTensor& input : batch.inputs())
    sum.add({static_cast<const std::byte*>(input.data),
             static_cast<size_t>(count_elements(input.shape) * size_of(input.dtype))});
  return fmt::format("{} to train on, {} held back, {}", count_of(data.train), count_of(data.held_back),
                     sum.hex());
}

/// Rank 0 says what ends the run; where it is lost itself, rank 1 does.
bool says_failure(int64_t rank, std::string_view failure) {
  const bool of_first = failure.starts_with("rank 0 (") && failure.find(") failed: ") == failure.npos;
  return rank == 0 || (rank == 1 && of_first);
}

}  // namespace

bool TrainRanks::samples() const {
  const auto data = mesh().find("data");
  return !data || mesh().coordinates(groups_.rank())[*data] == 0;
}

void TrainRanks::agree(const Plan& plan, const DataSplit& data, const TrainerOptions& options) {
  RankLink::Values values = {{"code", compiler_build_id()},
                             {"plan", checksum_of(serialize_plan(plan))},
                             {"data", describe_data(data, options)}};
  const Json all = parse_json(to_json(options), "options");
  for (const auto& [name, value] : all.items()) values.emplace_back(name, value.dump());
  ranks_.link().agree("the run to train", values);
}

Mesh mesh_of_ranks(const std::string& option, int64_t count) {
  Mesh mesh = option.empty() ? Mesh{{{"data", count}}} : parse_mesh(option);
  if (mesh.ranks() == count) return mesh;
  fail("--mesh {} is of {} ranks, and {}: start as many with `smelt launch -n {} -- smelt train ...`", option,
       mesh.ranks(), count == 1 ? "this process was started alone" : fmt::format("{} were started", count),
       mesh.ranks());
}

void train_over_ranks(const std::string& option, const std::function<void(TrainRanks*)>& train) {
  const Launch launch = read_launch(process_environment());
  const Mesh mesh = mesh_of_ranks(option, launch.size);
  if (launch.size == 1) return train(nullptr);
  Ranks ranks(launch);
  try {
    ranks.run([&] {
      TrainRanks joined(ranks, mesh);
      train(&joined);
    });
  } catch (const std::exception& error) {
    if (says_failure(ranks.rank(), error.what())) throw;
    exit_with(1);
  }
}

}  // namespace smelt::cli

#include "compiler/cli/commands/serve_replicas.h"

#include <fmt/format.h>

#include <future>
#include <string>
#include <utility>

#include "compiler/server/batch_thread.h"
#include "compiler/server/replicas.h"
#include "runtime/base/error.h"
#include "runtime/plan/device_kind.h"
#include "runtime/system/environment.h"

namespace smelt::cli {
namespace {

using server::BatchThread;

struct Replica {
  std::unique_ptr<Session> session;
  std::unique_ptr<BatchThread> batch;
};

/// Options of the session of replica `number`.
SessionOptions options_of(const Model& model, const WeightFlags& flags, size_t number) {
  SessionOptions options = flags.session_options();
  if (device_kind(model.plan->target).own_memory)
    options.device = static_cast<int>(read_whole(EnvironmentVariable::SMELT_DEVICE).value_or(0)) +
                     static_cast<int>(number);
  return options;
}

/// GPUs of another kind have variants of their own; then answers can depend on the replica.
void take_choices(Session& session, const std::string& choices, size_t number) {
  const std::string problem = session.executor().restore_choices(choices);
  if (!problem.empty())
    fmt::print(stderr, "note: replica {} measures its own kernel variants: {}\n", number, problem);
}

}  // namespace

ServedBatches::ServedBatches(const Model& model, const WeightFlags& flags, Session& first, size_t replicas,
                             const MakeBatch& make) {
  auto first_batch = std::make_unique<BatchThread>(make(first), first);
  if (replicas == 1) {
    service_ = std::move(first_batch);
    return;
  }
  if (first_batch->adapters())
    fail("--replicas {}: the plan has slots for adapters, which one replica takes; expected no --replicas",
         replicas);
  const std::string choices = first.executor().choices();
  std::vector<std::future<Replica>> opening;
  for (size_t i = 1; i < replicas; ++i)
    opening.push_back(std::async(std::launch::async, [&, i] {
      Replica replica{open_session(model, flags, options_of(model, flags, i)), nullptr};
      take_choices(*replica.session, choices, i);
      replica.batch = std::make_unique<BatchThread>(make(*replica.session), *replica.session);
      return replica;
    }));
  std::vector<std::unique_ptr<BatchThread>> batches;
  batches.push_back(std::move(first_batch));
  for (std::future<Replica>& each : opening) {
    Replica replica = each.get();
    sessions_.push_back(std::move(replica.session));
    batches.push_back(std::move(replica.batch));
  }
  service_ = std::make_unique<server::Replicas>(std::move(batches));
}

}  // namespace smelt::cli

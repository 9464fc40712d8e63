// Memory that a pipeline stage retains between its runs, in the memory of its executor (the host or a GPU).
// It consists of blocks of fixed size, called places, that hold inputs, outputs, and messages to and from
// other stages. On GPUs no data pass through the host.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/philox.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Messages and sums between pipeline stages. A stage is specified by its coordinate along the mesh axis of
/// the stages. Each stage has its own StageExchange. Both stages of a link have equal lists of sizes for it.
struct StageExchange {
  size_t axis = 0;  // mesh axis of the stages
  /// The key is (sending stage, receiving stage). The value has one list per kind of message between the two
  /// stages: the sizes of the message's parts, in bytes at the symbols' upper bounds. The value is empty if
  /// this stage is neither of the two.
  std::map<std::pair<int64_t, int64_t>, std::vector<std::vector<int64_t>>> links;
  std::vector<std::vector<int64_t>> holders;  // groups of stages for add_up; this stage is in each of them
};

/// The memory of one stage, and the operations of the stage that use it.
class StageMemory {
 public:
  static constexpr int kHost = -1;  // instead of a place: the port uses the caller's host memory

  /// Memory of the entry's ports (its inputs and outputs). Each list has one element per port, in the order
  /// of the entry. A pointer is used only if the place of the port is kHost. It is null if an optional input
  /// is not given, or if an output is not requested.
  struct Ports {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    std::vector<int> input_places, output_places;
  };
  /// The first `bytes` bytes of a place.
  struct Part {
    int place = 0;
    int64_t bytes = 0;
  };

  virtual ~StageMemory() = default;

  /// Allocates a place, and returns its number. Places are numbered from 0, and live as long as this object.
  /// Throws Error (out_of_memory).
  virtual int add_place(int64_t bytes) = 0;
  /// Runs an entry. On a GPU, the call waits for the run to end only if an output uses the caller's memory.
  virtual void run(const PlanEntry& entry, const SymbolValues& symbols, const Ports& ports,
                   const Philox& random) = 0;
  /// Send a message to stage `to`, and receive one from stage `from`. Messages between two stages arrive in
  /// the order in which they were sent; the receiver gives parts of the same sizes as the sender. On a GPU
  /// neither call waits for the other stage: later runs that use the places of the message wait.
  virtual void send(std::span<const Part> parts, int64_t to) = 0;
  virtual void receive(std::span<const Part> parts, int64_t from) = 0;
  /// Replaces the `count` elements from `first` on of the f32 state with index `state` by their sums over the
  /// stages `holders`, which all get the same bits. `holders` is an element of StageExchange::holders, and
  /// all of these stages make their calls in the same order.
  virtual void add_up(int state, int64_t first, int64_t count, const std::vector<int64_t>& holders) = 0;
};

}  // namespace smelt

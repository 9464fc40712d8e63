// Memory that a pipeline stage retains between its runs, in the memory of its executor: slots of a fixed size
// ("places") that hold outputs, inputs and messages to and from other stages. With a GPU executor no data
// pass through the host.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/philox.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Exchanges along the axis of stages; a list is the same at all ranks that it names.
struct StageExchange {
  size_t axis = 0;  // of the mesh
  /// By (from, to), for pairs that include this stage: for each kind of message the bytes of its parts at the
  /// symbols' bounds.
  std::map<std::pair<int64_t, int64_t>, std::vector<std::vector<int64_t>>> links;
  std::vector<std::vector<int64_t>> holders;  // of add_up: groups of this stage, in its order
};

class StageMemory {
 public:
  static constexpr int kHost = -1;  // in place of a place: the caller's memory

  /// By port of the entry, in order. Memory of the caller may be null: an optional input that is not given,
  /// or an output that is not requested.
  struct Ports {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    std::vector<int> input_places, output_places;
  };
  struct Part {
    int place = 0;
    int64_t bytes = 0;  // from the place's begin
  };

  virtual ~StageMemory() = default;

  /// Allocates a place, which lives as long as this object; places are numbered from 0. Throws Error
  /// (out_of_memory).
  virtual int add_place(int64_t bytes) = 0;
  /// Runs an entry. Returns while the executor still works if no output is the caller's.
  virtual void run(const PlanEntry& entry, const SymbolValues& symbols, const Ports& ports,
                   const Philox& random) = 0;
  /// Send and receive a message. Messages of one link arrive in the order in which they were sent, with parts
  /// of the same sizes. Neither call waits for the other stage; the runs that use the places of the message
  /// do.
  virtual void send(std::span<const Part> parts, int64_t to) = 0;
  virtual void receive(std::span<const Part> parts, int64_t from) = 0;
  /// Replaces `count` elements of an f32 state by their sum over all holders, with the same bits at each.
  /// `holders` is one of StageExchange::holders; all of them call it in one order.
  virtual void add_up(int state, int64_t first, int64_t count, const std::vector<int64_t>& holders) = 0;
};

}  // namespace smelt

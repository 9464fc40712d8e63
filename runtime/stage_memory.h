// What a stage of a pipeline keeps between its runs, in the memory that its executor works in: places of a
// fixed size that outputs are written to, inputs are read from, and messages to other stages take and bring.
// Nothing of it passes through the host where the executor is a GPU's.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "runtime/philox.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Who exchanges what along the axis of stages; the same lists at all ranks that a list names.
struct StageExchange {
  size_t axis = 0;  // of the mesh
  /// By (from, to): of each kind of message the bytes of its parts at the symbols' bounds, where this stage
  /// is one of the two.
  std::map<std::pair<int64_t, int64_t>, std::vector<std::vector<int64_t>>> links;
  std::vector<std::vector<int64_t>> holders;  // of add_up: groups that this stage is in, in such an order
};

class StageMemory {
 public:
  static constexpr int kHost = -1;  // in place of a place: the caller's memory

  /// By port of the entry, in order. Memory of the caller may be null: an optional input that is not given,
  /// an output that nobody wants.
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

  /// Takes memory, which stays as long as this object; places are numbered from 0. Throws Error
  /// (out_of_memory).
  virtual int add_place(int64_t bytes) = 0;
  /// May return while the executor still works, where no output is the caller's.
  virtual void run(const PlanEntry& entry, const SymbolValues& symbols, const Ports& ports,
                   const Philox& random) = 0;
  /// Messages of one link arrive in the order in which they were sent, with parts of the same sizes. Neither
  /// waits for the other stage: runs that need what a message takes or brings do.
  virtual void send(std::span<const Part> parts, int64_t to) = 0;
  virtual void receive(std::span<const Part> parts, int64_t from) = 0;
  /// Elements of an f32 state become the sum of what all holders have there, the same bits at each. `holders`
  /// is one of StageExchange::holders; all of them call it in one order.
  virtual void add_up(int state, int64_t first, int64_t count, const std::vector<int64_t>& holders) = 0;
};

}  // namespace smelt

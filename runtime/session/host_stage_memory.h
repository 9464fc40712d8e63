// Implementation of StageMemory (stage_memory.h), the memory that a pipeline stage retains between its runs,
// in host memory. Messages to other stages go through a communicator.
#pragma once

#include "runtime/cpu/memory.h"
#include "runtime/session/executor.h"
#include "runtime/session/stage_memory.h"

namespace smelt {

class HostStageMemory : public StageMemory {
 public:
  /// `group`: the ranks along the mesh axis of pipeline stages. Requires: both arguments outlive this object.
  HostStageMemory(Executor& executor, Communicator& group) : executor_(executor), group_(group) {}

  int add_place(int64_t bytes) override;
  void run(const PlanEntry& entry, const SymbolValues& symbols, const Ports& ports,
           const Philox& random) override;
  void send(std::span<const Part> parts, int64_t to) override;
  void receive(std::span<const Part> parts, int64_t from) override;
  /// `holders` are the numbers of the stages that hold the same elements. The first of these stages adds up
  /// the elements in the order of `holders`, and sends the sums to the others.
  void add_up(int state, int64_t first, int64_t count, const std::vector<int64_t>& holders) override;

 private:
  std::span<std::byte> bytes_of(const Part& part);

  Executor& executor_;
  Communicator& group_;
  std::vector<Block> places_;
};

}  // namespace smelt

#include "codegen/cuda/printers/prefetch_printer.h"

#include "codegen/cuda/prelude.h"
#include "codegen/kernel_passes/kernel_passes.h"

namespace smelt {

PrefetchPrinter::PrefetchPrinter(CudaContext& context, const AddressPrinter& addresses)
    : c_(context), addresses_(addresses) {
  for (const KernelBlock& block : c_.kernel.blocks)
    for (int id : block.instructions)
      if (c_.instruction(id).form == Form::prefetched && offsets_.try_emplace(id, stage_bytes_).second)
        stage_bytes_ += vector_bytes(c_.kernel, id) * c_.vectors * c_.schedule.threads;
}

// ---- the rows of a grid-stride loop

void PrefetchPrinter::print_first_rows(const std::string& first, int64_t step) {
  if (offsets_.empty()) return;
  const int distance = c_.schedule.prefetch_distance;
  c_.shared.prefetched = stage_bytes_ * (distance + 1) / 4;
  c_.shared.need_floats(c_.shared.prefetched);
  c_.out.line("unsigned char* const prefetched = (unsigned char*)shared_floats;");
  for (int row = 0; row < distance; ++row)
    print_row(row == 0 ? first : fmt::format("{} + {}", first, row * step), std::to_string(row));
  c_.out.line("int stage = {};", distance);
}

void PrefetchPrinter::print_next_row(int64_t step) {
  if (offsets_.empty()) return;
  const int distance = c_.schedule.prefetch_distance;
  c_.out.line("const int next_stage = stage;");
  c_.out.line("stage = stage == {} ? 0 : stage + 1;", distance);
  print_row(fmt::format("row + {}", distance * step), "next_stage");
  c_.out.line("sm_await_prefetches<{}>();", distance);
}

void PrefetchPrinter::print_row(const std::string& row, const std::string& stage) {
  c_.out.open("");
  c_.out.line("const Index next_row = {};", row);
  c_.out.open("if (next_row < end)");
  c_.declare_indices("next_row", c_.shape.parallel);
  c_.out.open_unrolled("k", c_.vectors);
  c_.out.line("const Index c = {};", c_.column_of_vector());
  c_.open_existing_columns();
  for (const auto& [id, offset] : offsets_)
    c_.out.line("sm_prefetch<{}>({}, {});", vector_bytes(c_.kernel, id), place(id, stage),
                addresses_.vector_without_start(id));
  c_.close_existing_columns();
  c_.out.close();
  c_.out.close();
  c_.out.line("sm_commit_prefetches();");
  c_.out.close();
}

/// Vectors of neighbouring threads lie side by side.
std::string PrefetchPrinter::place(int id, const std::string& stage) const {
  return fmt::format("prefetched + ({} * {} + {} + (k * {} + (int)threadIdx.x) * {})", stage, stage_bytes_,
                     offsets_.at(id), c_.schedule.threads, vector_bytes(c_.kernel, id));
}

std::string PrefetchPrinter::prefetched_vector(int id) const {
  return fmt::format("(const {}*)({})", cuda_memory_type(c_.param(id).dtype), place(id, "stage"));
}

// ---- the current row

void PrefetchPrinter::print_early_loads() {
  std::vector<int> early;
  for (int id : c_.shape.all_of(Instruction::Kind::load))
    if (c_.instruction(id).form == Form::early) early.push_back(id);
  if (early.empty()) return;
  for (int id : early)
    c_.out.line("alignas(16) {} early{}[{}][{}];", cuda_memory_type(c_.param(id).dtype), id, c_.vectors,
                c_.width);
  c_.out.open_unrolled("k", c_.vectors);
  c_.out.line("const Index c = {};", c_.column_of_vector());
  c_.open_existing_columns();
  for (int id : early)
    c_.out.line("sm_load_early({}, {});", early_vector(id), addresses_.vector_without_start(id));
  c_.close_existing_columns();
  c_.out.close();
}

std::string PrefetchPrinter::early_vector(int id) const { return fmt::format("early{}[k]", id); }

}  // namespace smelt

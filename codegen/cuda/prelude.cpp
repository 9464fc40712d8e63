#include "codegen/cuda/prelude.h"

#include "codegen/cuda/device_text.h"
#include "codegen/printers/print_expression.h"

namespace smelt {

const Prelude& all_cuda_pieces() {
  static const Prelude pieces{device::kPreludeMemory, device::kPreludeFunctions, device::kPreludeThreads};
  return pieces;
}

std::string cuda_prelude(const PreludeNeeds& needs) { return all_cuda_pieces().text(needs); }

std::string_view cuda_memory_type(DType type) { return memory_type(type); }

void need_element(PreludeNeeds& needs, DType type) { needs.insert(std::string(memory_type(type))); }

void need_calls(PreludeNeeds& needs, std::string_view text) { all_cuda_pieces().need_calls(needs, text); }

}  // namespace smelt

// Device functions that code calls and that a language does not have.
#pragma once

#include <string>

#include "codegen/gpu/thread_ir/function.h"
#include "codegen/printers/prelude.h"

namespace smelt {

/// Returns a device function that the launch calls and that neither the launch nor the prelude defines. "" if
/// there is none. The instructions of one maker's GPUs are such functions.
std::string missing_function(const gpu::Launch& launch, const Prelude& prelude);

}  // namespace smelt

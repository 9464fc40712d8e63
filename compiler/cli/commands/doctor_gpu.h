// The report of `smelt doctor` on GPUs and the libraries for them.
#pragma once

#include "compiler/cli/shared/text_table.h"

namespace smelt::cli {

void add_gpu_rows(TextTable& table);

}  // namespace smelt::cli

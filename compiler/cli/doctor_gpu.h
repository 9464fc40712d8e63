// What `smelt doctor` says of GPUs and of the libraries for them.
#pragma once

#include "compiler/cli/text_table.h"

namespace smelt::cli {

void add_gpu_rows(TextTable& table);

}  // namespace smelt::cli

// What this machine offers and what Smelt found on it.
#pragma once

#include "compiler/cli/text_table.h"

namespace smelt::cli {

/// Two columns, what and found. `measure`: the bandwidth of a copy, too, which takes a moment.
TextTable doctor_table(bool measure);

}  // namespace smelt::cli

// The option --lora, the configuration of adapters that are trained.
#pragma once

#include <string_view>

#include "runtime/engine/adapters/lora_config.h"

namespace smelt {

/// Parses the value of the option --lora: "r=16,alpha=32,targets=q_proj+v_proj,dropout=0.05,rslora". Throws
/// Error that names the part that is invalid.
LoraConfig parse_lora(std::string_view text);

}  // namespace smelt

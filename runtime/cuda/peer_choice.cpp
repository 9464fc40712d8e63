#include "runtime/cuda/peer_choice.h"

#include <string>

#include "runtime/system/environment.h"

namespace smelt::cuda {

PeerChoice peer_choice() {
  const std::string value = read_text(EnvironmentVariable::SMELT_GATHERS).value_or("");
  if (value == "copies") return PeerChoice::copies;
  if (value == "whole") return PeerChoice::whole;
  return value == "nccl" ? PeerChoice::nccl : PeerChoice::usual;
}

}  // namespace smelt::cuda

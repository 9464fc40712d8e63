// Tensors from one rank to another. A message says what it holds, so that the receiver need not know shapes.
#pragma once

#include <vector>

#include "runtime/ranks/communicator.h"
#include "runtime/tensor.h"

namespace smelt {

void send_tensors(Communicator& group, int64_t to, const std::vector<const HostTensor*>& tensors);
/// Throws Error where what comes is no such message.
std::vector<HostTensor> receive_tensors(Communicator& group, int64_t from);

}  // namespace smelt

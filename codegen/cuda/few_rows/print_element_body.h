// The epilogue of a small-M GEMM as the types and functions that its text calls:
//
//   struct BodyArguments, BodyLoads
//   void body_load(const BodyArguments& body, Index row, Index c, BodyLoads& loads)
//   void body_run(const BodyArguments& body, Index row, Index c, const BodyLoads& loads,
//                 const float (&handed)[PARTS])
//
// for one element: loads that depend on no other value are issued before the matmul's.
#pragma once

#include <string>

#include "ir/kernel/kernel.h"

namespace smelt {

std::string print_element_body(const Kernel& kernel);

}  // namespace smelt

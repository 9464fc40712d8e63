// Fields of Schedule, and their keywords in the text form of the Kernel IR. The printer, the parser and the
// parser's messages use this one list.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Calls visit(keyword, pointer to member) for each field, in printed order.
template <typename Visit>
void visit_schedule_fields(const Visit& visit) {
  visit("flat", &Schedule::flat);
  visit("vector", &Schedule::vector_width);
  visit("tile", &Schedule::tile);
  visit("grain", &Schedule::grain);
  visit("splits", &Schedule::splits);
  visit("sum_rows", &Schedule::sum_rows);
  visit("cached", &Schedule::cached);
  visit("cached_elements", &Schedule::cached_elements);
  visit("threads", &Schedule::threads);
  visit("team", &Schedule::team);
  visit("vectors", &Schedule::vectors);
  visit("unroll", &Schedule::unroll);
  visit("prefetch_distance", &Schedule::prefetch_distance);
  visit("interleaved", &Schedule::interleaved);
  visit("index32", &Schedule::index32);
  visit("short_sum", &Schedule::short_sum);
  visit("shifted", &Schedule::shifted);
}

}  // namespace smelt

#include "tests/fuzz/rows_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return smelt::read_any_rows(data, size, smelt::RowFormat::arrow);
}
